package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// NessieCosts are what a put of a new key costs in NE's table, by what its two slots hold.
type NessieCosts struct {
	Empty    float64 `json:"empty"`    // both are empty
	Half     float64 `json:"half"`     // sum of the two cases where one is empty
	Migrate  float64 `json:"migrate"`  // both full, and the first one's key can move
	Migrate2 float64 `json:"migrate2"` // both full, and only the second one's can
}

var (
	// NessieFitted meets the figures printed in NE Table 1 within 0.1. No whole numbers meet
	// all five exactly.
	NessieFitted = NessieCosts{2, 9, 9, 16}
	// NessieLiteral is what NE Algorithms 1 and 2 cost as they are written.
	NessieLiteral = NessieCosts{3, 9, 12, 16}
)

// At is the expected number of round trips at a load, if slots are full independently of each
// other (NE 4).
func (c NessieCosts) At(load float64) float64 {
	free := 1 - load
	return free*free*c.Empty + load*free*c.Half +
		load*load*(free*c.Migrate+load*c.Migrate2)
}

// nessieTable1 is NE Table 1 at KVLoads.
var nessieTable1 = []float64{2.5, 3.5, 5.8, 9.9, 13.3}

// nessieGet is a get in the primary slot (NE 1).
const nessieGet = 2

// What is aimed at, at kvTargetLoad.
const (
	kvTargetLoad  = .75
	kvTargetPut   = 3.0
	kvTargetFits  = 1.1 // a get of a pair that its slot has a copy of
	kvTargetLarge = 2.1 // a get of another
)

// targetGet is the most round trips that a get should have.
func (p KVPair) targetGet() float64 {
	if p.fits() {
		return kvTargetFits
	}
	return kvTargetLarge
}

// KVCount is what has been counted of pairs at a load, beside the paper's figures for it. The
// field names are those of the JSON output.
type KVCount struct {
	KVPair
	Load float64 `json:"load"`
	KVTrips
	Rounds       int     `json:"rounds"`
	PaperPutNew  float64 `json:"paperPutNew"`  // NE Table 1
	PaperLiteral float64 `json:"paperLiteral"` // NessieLiteral
	PaperGet     float64 `json:"paperGet"`     // the best case

	rounds []KVTrips
}

// KVCountSetting is what all counts have in common.
type KVCountSetting struct {
	Slots uint64 `json:"slots"`
}

// KVCountReport is what has been counted, by pairs and load.
type KVCountReport struct {
	Machine Machine        `json:"machine"`
	Setting KVCountSetting `json:"setting"`
	Counts  []KVCount      `json:"table1"`
	Paper   []KVPaper      `json:"paper"` // by load
	// Notes say which aims are met and which are not.
	Notes []string `json:"notes"`
}

// Report sums up the rounds so far. command is how they were asked for.
func (c *KVCounts) Report(command string) *KVCountReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &KVCountReport{Machine: thisMachine(command), Setting: KVCountSetting{c.cfg.Slots},
		Counts: []KVCount{}, Paper: []KVPaper{}, Notes: []string{}}
	for _, pair := range kvPairs {
		for i, load := range KVLoads() {
			rounds := slices.Clone(c.counts[kvCell{pair, load}])
			if len(rounds) == 0 {
				continue
			}
			r.Counts = append(r.Counts, KVCount{KVPair: pair, Load: load, Rounds: len(rounds),
				KVTrips: meanTrips(rounds), rounds: rounds, PaperPutNew: nessieTable1[i],
				PaperLiteral: NessieLiteral.At(load), PaperGet: nessieGet})
		}
	}
	for _, load := range KVLoads() {
		if rounds := c.paper[load]; len(rounds) > 0 {
			r.Paper = append(r.Paper, meanPaper(rounds))
		}
	}
	for i := range r.Counts {
		r.note(&r.Counts[i])
	}
	return r
}

func meanTrips(rounds []KVTrips) (mean KVTrips) {
	n := float64(len(rounds))
	for _, is := range rounds {
		mean.PutNew += is.PutNew / n
		mean.PutPresent += is.PutPresent / n
		mean.Get += is.Get / n
		mean.GetAbsent += is.GetAbsent / n
		mean.Delete += is.Delete / n
	}
	return mean
}

// note tells whether the counts at kvTargetLoad are what is aimed at.
func (r *KVCountReport) note(is *KVCount) {
	if !sameLoad(is.Load, kvTargetLoad) {
		return
	}
	for _, of := range []struct {
		what      string
		is, limit float64
	}{
		{"put of a new key", is.PutNew, kvTargetPut},
		{"put of a key that is there", is.PutPresent, kvTargetPut},
		{"get", is.Get, is.targetGet()},
	} {
		how := "within"
		if of.is > of.limit {
			how = "MORE THAN"
		}
		r.Notes = append(r.Notes, fmt.Sprintf("%v, load %s: %s %.4f, %s the aim of %.1f",
			is.KVPair, number(is.Load), of.what, of.is, how, of.limit))
	}
}

// WriteText writes tables for people.
func (r *KVCountReport) WriteText(w io.Writer) error {
	m := &r.Machine
	p := printer{w: w}
	p.printf("%s, %d cores, %s %s/%s\n%s\n", m.CPU, m.Cores, m.Go, m.OS, m.Arch, m.Command)
	p.printf("Round trips counted in maps of %s slots, one writer, one-sided path: means. \"NE\" "+
		"is Table 1 of the\npaper, which is expected, not counted, and leaves out its server; "+
		"\"literal\" is what its Algorithms 1\nand 2 cost as they are written. NE's get is the "+
		"best case, in the primary slot.\n", Count(r.Setting.Slots))
	for _, pair := range kvPairs {
		r.block(&p, pair)
	}
	r.writePaper(&p)
	p.printf("\n")
	for _, note := range r.Notes {
		p.printf("note: %s\n", note)
	}
	return p.err
}

// block writes the table of some pairs.
func (r *KVCountReport) block(to *printer, pair KVPair) {
	to.printf("\n%v\n", pair)
	t := tabwriter.NewWriter(to.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: to.err}
	p.printf("load\tput, new\tNE\tliteral\tput, there\tget\tNE\tget, absent\tdelete\t\n")
	for i := range r.Counts {
		is := &r.Counts[i]
		if is.KVPair == pair {
			p.printf("%s\t%.3f\t%.1f\t%.1f\t%.3f\t%.3f\t%.0f\t%.3f\t%.3f\t\n", number(is.Load),
				is.PutNew, is.PaperPutNew, is.PaperLiteral, is.PutPresent, is.Get, is.PaperGet,
				is.GetAbsent, is.Delete)
		}
	}
	if to.err = p.err; to.err == nil {
		to.err = t.Flush()
	}
}

// WriteJSON writes one object with the keys machine, setting, table1 and notes.
func (r *KVCountReport) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// WriteBenchfmt writes every round in the format of Go benchmarks.
func (r *KVCountReport) WriteBenchfmt(w io.Writer) error {
	p := printer{w: w}
	p.benchHead(&r.Machine)
	for i := range r.Counts {
		is := &r.Counts[i]
		for _, one := range is.rounds {
			p.printf("BenchmarkKVCount/key=%d/value=%d/copies=%t/load=%s-%d\t1\t%.5g put-new/op\t"+
				"%.5g put-present/op\t%.5g get/op\t%.5g get-absent/op\t%.5g delete/op\n",
				is.KeyBytes, is.ValueBytes, is.Copies, number(is.Load), runtime.GOMAXPROCS(0),
				one.PutNew, one.PutPresent, one.Get, one.GetAbsent, one.Delete)
		}
	}
	return p.err
}
