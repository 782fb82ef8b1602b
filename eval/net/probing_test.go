package net

import (
	"context"
	"testing"
	"time"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
)

// TestProbing: every probe finds the keys of the other hosts, here in memory that is addressable.
func TestProbing(t *testing.T) {
	p := &probing{hosts: runner{perHost: 1}, records: 3000, batch: 50, depth: 8,
		piece: time.Millisecond}
	var all []record.Record
	if err := local.Run(3, func(job rma.Job) error {
		return p.load(context.Background(), job, 0.95, func(r record.Record) {
			if job.Rank() == 0 {
				all = append(all, r)
			}
		})
	}); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(probes()) {
		t.Fatalf("%d records", len(all))
	}
	for i, r := range all {
		if !(r.Values[0].Value > 0) || r.N < p.batch {
			t.Errorf("%v: %+v", probes()[i], r)
		}
	}
	if three := all[1].Values[1].Value; three != 3 {
		t.Errorf("cuckoo hashing takes %v messages", three)
	}
}

// TestProbedKeys: keys are of other hosts, and a wrong value is an error.
func TestProbedKeys(t *testing.T) {
	p := &probing{hosts: runner{perHost: 2}, records: 2000, batch: 30}
	if err := local.Run(5, func(job rma.Job) error {
		batches := p.sample(job)
		if (batches == nil) != (job.Rank() >= 2) {
			t.Errorf("rank %d has %d batches", job.Rank(), len(batches))
		}
		for _, keys := range batches {
			for ; len(keys) > 0; keys = keys[4:] {
				if ownerOfKey(keys[:4], 5) < 2 {
					t.Errorf("key %x is of the host of the clients", keys[:4])
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	by := prober{lookUp: func(keys []byte, found func(int, index.Value)) error {
		found(0, keys[:4])
		return nil
	}}
	if p.lookUp(&by, probeKey(7)) == nil {
		t.Error("a wrong value is taken")
	}
}
