package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/farhash/farhash/internal/readsize"
)

// report is what model prints. The fields are named as in --json.
type report struct {
	Load      float64                 `json:"load"`
	SlotBytes int                     `json:"slotBytes"`
	Cap       int                     `json:"cap"`
	Uncapped  int                     `json:"uncapped"`
	Capped    int                     `json:"capped"`
	Adaptive  []int                   `json:"adaptive"`
	Expected  map[string]*expectation `json:"expected"`

	config  readsize.Config
	machine string // where its figures are from
	laws    *readsize.Laws
	rows    []*expectation // as printed
}

// expectation is what a lookup costs by one policy.
type expectation struct {
	readsize.Cost               // for a key that is there
	Absent        readsize.Cost `json:"absent"` // for one that is not
	Sizes         []int         `json:"sizes"`  // of the reads, in slots

	layout, policy string
}

// fixedBytes is the read size of LP's fixed policy (LP 5.1).
const fixedBytes = 256

// lpCuckoo is the cuckoo table of LP 5.2.
var lpCuckoo = readsize.Cuckoo{Ways: 3, Slots: 4}

func newReport(c readsize.Config, load float64, source string) (*report, error) {
	s, err := readsize.NewSizes(c, load)
	if err != nil {
		return nil, err
	}
	laws, err := readsize.NewLaws(load)
	if err != nil {
		return nil, err
	}
	r := &report{Load: load, SlotBytes: c.SlotBytes, Cap: s.Cap, Uncapped: s.Uncapped,
		Capped: s.Capped, Adaptive: s.Adaptive, Expected: map[string]*expectation{},
		config: c, machine: source, laws: laws}
	fixed := max(fixedBytes/c.SlotBytes, 1)
	if c.MaxSlots > 0 {
		fixed = min(fixed, c.MaxSlots)
	}
	for _, p := range []struct {
		key, policy string
		sizes       []int
		ordered     bool
	}{
		{"fixed", "fixed", []int{fixed}, false}, {"capped", "capped", []int{s.Capped}, false},
		{"uncapped", "uncapped", []int{s.Uncapped}, false},
		{"adaptive", "adaptive", s.Adaptive, false},
		{"orderedFixed", "fixed", []int{fixed}, true},
		{"orderedCapped", "capped", []int{s.OrderedCapped}, true},
		{"orderedUncapped", "uncapped", []int{s.OrderedUncapped}, true},
		{"orderedAdaptive", "adaptive", s.Ordered, true},
	} {
		layout, present, absent := "linear", laws.Present, laws.Absent
		if p.ordered {
			layout, present, absent = "ordered", laws.OrderedPresent, laws.OrderedAbsent
		}
		r.add(p.key, &expectation{layout: layout, policy: p.policy, Sizes: p.sizes,
			Cost: c.Cost(present, p.sizes...), Absent: c.Cost(absent, p.sizes...)})
	}
	places := []int{lpCuckoo.Slots}
	r.add("cuckooParallel", &expectation{layout: "cuckoo", policy: "parallel", Sizes: places,
		Cost: lpCuckoo.Parallel(c), Absent: lpCuckoo.Parallel(c)})
	r.add("cuckooSequential", &expectation{layout: "cuckoo", policy: "sequential", Sizes: places,
		Cost: lpCuckoo.Sequential(c, true), Absent: lpCuckoo.Sequential(c, false)})
	return r, nil
}

func (r *report) add(key string, e *expectation) {
	r.Expected[key] = e
	r.rows = append(r.rows, e)
}

// writeJSON writes one object.
func (r *report) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// writeText writes tables for people.
func (r *report) writeText(w io.Writer) error {
	var b bytes.Buffer
	c := r.config
	fmt.Fprintf(&b, "load %v, slots of %s%s\n", r.Load, english.Plural(c.SlotBytes, "byte", ""),
		maxSlots(c.MaxSlots))
	fmt.Fprintf(&b, "%s:\nlatency %.5g ns (c), %.4g ns per byte (alpha), %.4g M reads/s (rho0),\n"+
		"bandwidth %.4g GB/s (l), header %v bytes\n", r.machine, c.LatencyNs, c.ByteNs,
		c.MessagesPerSecond/1e6, c.LinkBytesPerSecond/1e9, c.HeaderBytes)
	fmt.Fprintf(&b, "the link has room for %s in a read\n\n", english.Plural(r.Cap, "slot", ""))

	widest := len("slots a read")
	for _, row := range r.rows {
		widest = max(widest, len(sizesText(row.Sizes)))
	}
	fmt.Fprintf(&b, "%*s%30s\n", 50+widest, "present key", "absent key")
	line := func(cells ...any) {
		fmt.Fprintf(&b, "%-9s%-12s", cells[:2]...)
		fmt.Fprintf(&b, "%-*s", widest, cells[2])
		fmt.Fprintf(&b, "%11s%9s%9s%12s%9s%9s\n", cells[3:]...)
	}
	line("layout", "policy", "slots a read", "requests", "bytes", "ns", "requests", "bytes", "ns")
	best := r.rows[0]
	for _, row := range r.rows {
		cells := []any{row.layout, row.policy, sizesText(row.Sizes)}
		for _, cost := range []readsize.Cost{row.Cost, row.Absent} {
			cells = append(cells, fmt.Sprintf("%.3f", cost.Requests),
				fmt.Sprintf("%.0f", cost.Bytes), fmt.Sprintf("%.0f", cost.Ns))
		}
		line(cells...)
		if row.Ns < best.Ns {
			best = row
		}
	}
	fmt.Fprintf(&b, "\nleast ns for present keys: %s, %s\n", best.layout, best.policy)
	fmt.Fprintln(&b, "sequential cuckoo as in LP: 2.0 requests; a table that fills the first")
	fmt.Fprintln(&b, "bucket of a key first needs 1.10 to 1.96, by load")
	_, err := w.Write(b.Bytes())
	return err
}

func maxSlots(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", at most %d of them in a read", n)
}

// sizesText prints a list of read sizes: "97 137 150 ...". The last that is printed in
// full is repeated.
func sizesText(sizes []int) string {
	const maxSizes = 4
	text := strings.Trim(fmt.Sprint(sizes[:min(len(sizes), maxSizes)]), "[]")
	if len(sizes) > maxSizes {
		text += " ..."
	}
	return text
}
