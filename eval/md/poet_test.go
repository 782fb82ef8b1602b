package md

import (
	"math"
	"reflect"
	"testing"

	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
)

// poetOf runs the experiment with flags.
func poetOf(t *testing.T, args ...string) []record.Record {
	t.Helper()
	return recordsOf(t, Poet(), args...)
}

// median is the median of a unit for a mode.
func median(t *testing.T, all []record.Record, mode, unit string) float64 {
	t.Helper()
	var is []float64
	for _, r := range all {
		for _, v := range r.Values {
			if r.Keys[0].Value == mode && v.Unit == unit {
				is = append(is, v.Value)
			}
		}
	}
	if len(is) == 0 {
		t.Fatalf("no %s of %s", unit, mode)
	}
	return record.Median(is)
}

// TestPoet: as many answers are there as said. A cell takes the time of its messages, and if the
// answer is not there that of the chemistry and of a write.
func TestPoet(t *testing.T) {
	args := []string{"--hosts", "1", "--procs", "3", "--buckets", "100003", "--cells", "3000",
		"--waiting-cells", "1000", "--send-ns", "30000", "--answer-ns", "40000", "--chemistry-us",
		"100", "--hits-%", "60", "--seeds", "2"}
	all := poetOf(t, args...)
	if again := poetOf(t, args...); !reflect.DeepEqual(all, again) {
		t.Errorf("the same flags give\n%v\n%v", all, again)
	}
	for mode, us := range map[string]float64{noTable: 100, "md-lock-free": 70 + .4*(100+100),
		"lock-free": 70 + .4*(100+100), "md-fine": 210 + .4*(100+240)} {
		if got := median(t, all, mode, "cell-us"); got < .96*us || got > 1.04*us {
			t.Errorf("%s: a cell takes %v us and not about %v", mode, got, us)
		}
	}
	for _, mode := range protocolNames {
		if hits := median(t, all, mode, "hits-%"); hits < 57 || hits > 63 {
			t.Errorf("%s: %v %% of the answers are there, and not about 60", mode, hits)
		}
	}
}

// TestPoetSame: cells with the most frequent key are as many as said.
func TestPoetSame(t *testing.T) {
	r := &poet{hitRate: 90, same: 50}
	r.keys = 1000
	checkDrawn(t, r, .5, .59)
	r.same = 90
	checkDrawn(t, r, .89, .91)
	r.hitRate, r.same = 100, 0
	checkDrawn(t, r, .1, .17)
}

// checkDrawn draws keys, of which the share of the most frequent one is known. All that are in the
// table are written by one worker each.
func checkDrawn(t *testing.T, r *poet, least, most float64) {
	t.Helper()
	r.draw = map[measure.LawName]*measure.Law{measure.Zipf: measure.NewLaw(measure.Zipf, 1000)}
	c := &poetCase{r: r, ranks: 5, cells: 5000}
	c.draw(1)
	written, first, fresh := map[uint64]bool{}, 0, map[uint64]bool{}
	for _, numbers := range c.there {
		for _, number := range numbers {
			if written[number] {
				t.Fatalf("key %d is written twice", number)
			}
			written[number] = true
		}
	}
	for _, numbers := range c.keys {
		for _, number := range numbers {
			switch {
			case number == 0:
				first++
			case number >= uint64(r.keys) && fresh[number]:
				t.Fatalf("key %d is not new", number)
			case number >= uint64(r.keys):
				fresh[number] = true
			case !written[number]:
				t.Fatalf("key %d is not in the table", number)
			}
		}
	}
	all := float64(4 * c.cells)
	if share := float64(first) / all; share < least || share > most {
		t.Errorf("%v of the cells have the most frequent key, not %v to %v", share, least, most)
	}
	if share := 1 - float64(len(fresh))/all; math.Abs(share-r.hitRate/100) > .01 {
		t.Errorf("%v of the keys are in the table, not %v", share, r.hitRate/100)
	}
}

// TestPoetSeconds: without a table the times are MD's. What a table saves is the workers' time.
func TestPoetSeconds(t *testing.T) {
	r := &poet{chemistryUs: 100}
	for ranks, want := range printedSeconds[noTable] {
		c := &poetCase{r: r, ranks: ranks}
		if got := c.seconds(100); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d ranks take %v s without a table, and %v in MD", ranks, got, want)
		}
		if saved, want := c.seconds(100)-c.seconds(60), 375e6*40e-6/float64(ranks-1); math.Abs(
			saved-want) > 1e-9 {
			t.Errorf("%d ranks save %v s, and not %v", ranks, saved, want)
		}
	}
	c := &poetCase{r: r, ranks: 384}
	if got, want := c.seconds(0), (603+491)/2.-375e6*100e-6/2*(1./127+1./639); math.Abs(
		got-want) > 1e-9 {
		t.Errorf("in the middle %v s are left, and not %v", got, want)
	}
}
