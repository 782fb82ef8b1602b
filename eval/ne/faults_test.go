package ne

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/ne/nessie"
)

// TestFaults: with clients that die, the paper's protocol loses writes unless their items are
// published, and to the letter reads miss keys; the map loses nothing.
func TestFaults(t *testing.T) {
	f := faults{impls: []impl{thePapers, literally, ours}, loads: []float64{.4},
		newPercents: []int{50}, killed: []int{0, 4}, hosts: 16, slots: experiment.Count(256),
		us: 5000, seeds: 20, valueBytes: 100}
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	at := map[string]map[string]float64{}
	err := local.Run(1, func(job rma.Job) error {
		return f.Round(context.Background(), job, 0, func(r record.Record) {
			of := map[string]float64{}
			for _, v := range r.Values {
				of[v.Unit] = v.Value
			}
			at[r.Keys[3].Value+" "+r.Keys[2].Value] = of
			if of["writes"] < 1000 || of["reads"] < 1000 || of["deletes"] < 1000 {
				t.Errorf("too little was simulated: %v", r)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range at {
		t.Log(name, of)
	}
	for _, of := range []string{"kv 0", "kv 4", "nessie 0"} {
		for _, unit := range []string{"kept", "removed", "published", "alone", "back-kept",
			"back-published", "missed", "old", "stuck"} {
			if n := at[of][unit]; n > 0 {
				t.Errorf("%s: %s is %v", of, unit, n)
			}
		}
	}
	dead := at["nessie 4"]
	if dead["kept"] == 0 || dead["kept"] != dead["dead"] || dead["published"] > 0 {
		t.Errorf("nessie, deaths: %v", dead)
	}
	if at["nessie-literal 0"]["missed"]+at["nessie-literal 4"]["missed"] == 0 {
		t.Error("to the letter no read has missed a key")
	}
}

// TestRemainingValue: each rule leaves the right value in the slots of a key.
func TestRemainingValue(t *testing.T) {
	const live, gone = 0, 1
	slot := func(value string, primary, valid bool, owner int) nessie.Entry {
		return nessie.Entry{Value: []byte(value), Primary: primary, Valid: valid, Owner: owner}
	}
	for _, of := range []struct {
		name  string
		slots []nessie.Entry
		want  [rules]string // by rule
	}{
		{"nothing", nil, [rules]string{}},
		{"valid", []nessie.Entry{slot("1", true, true, gone)}, [rules]string{"1", "1", "1", "1"}},
		{"a dead write", []nessie.Entry{slot("1", true, false, gone)},
			[rules]string{"", "", "1", "1"}},
		{"a live write", []nessie.Entry{slot("1", true, false, live)}, [rules]string{}},
		{"a dead migration", []nessie.Entry{slot("1", true, true, live),
			slot("2", false, false, gone)}, [rules]string{"1", "1", "1", "1"}},
		{"a dead migration to p", []nessie.Entry{slot("1", true, false, gone),
			slot("2", false, true, live)}, [rules]string{"", "2", "1", "2"}},
	} {
		for by := range rules {
			got := string(remainingValue(by, of.slots, []bool{false, true}))
			if got != of.want[by] {
				t.Errorf("%s, %v: %q remains, not %q", of.name, by, got, of.want[by])
			}
		}
	}
}

// TestFaultHistory: a value is wrong if its write was acknowledged before another began that was
// acknowledged too.
func TestFaultHistory(t *testing.T) {
	const key = 7
	for _, of := range []struct {
		name string
		// The first write is acknowledged, the second begins at secondNs.
		firstNs, secondNs int64
		acknowledged      bool
		old, lost         uint64
	}{
		{"after it", 20, 30, true, 1, 1},
		{"at the same time", 20, 15, true, 0, 0},
		{"open", 20, 30, false, 0, 0},
	} {
		h := newFaultHistory(&faultCounts{})
		first := h.calls(key, 10)
		second := uint64(0)
		if of.secondNs < of.firstNs {
			second = h.calls(key, of.secondNs)
		}
		h.acknowledge(first, of.firstNs)
		if of.secondNs > of.firstNs {
			second = h.calls(key, of.secondNs)
		}
		if of.acknowledged {
			h.acknowledge(second, 40)
		}
		h.readsValue(first, h.newest(key))
		name := make([]byte, 8)
		measure.FillKey(name, key)
		h.audit(kept, []nessie.Entry{{Key: name, Primary: true, Valid: true,
			Value: binary.LittleEndian.AppendUint64(nil, first)}}, []bool{false})
		if h.old != of.old || h.lost[kept] != of.lost {
			t.Errorf("%s: old %d, lost %d; not %d, %d", of.name, h.old, h.lost[kept], of.old,
				of.lost)
		}
		h.deleted(key)
		h.audit(removed, []nessie.Entry{{Key: name, Primary: true, Valid: true,
			Value: binary.LittleEndian.AppendUint64(nil, first)}}, []bool{false})
		if h.back[removed] != 1 || h.lost[removed] != 0 {
			t.Errorf("%s: a deleted key is back %d times", of.name, h.back[removed])
		}
	}
}
