package set

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestLostSwaps has two goroutines insert the same few things at the same moment, over
// and over, so that compare-and-swaps are lost to an equal word: what neither rank
// of a larger test may happen to do.
func TestLostSwaps(t *testing.T) {
	rounds := 10000
	if slow {
		rounds = 1500
	}
	const each = 2
	cfg := Config{Buckets: uint64(rounds * each * 4), variant: wordHomes}
	jobs := ranksOf(t, engineDirect, 2)
	sets, err := newSets(jobs, cfg)
	must(t, err)
	elements, err := newElements(jobs, BytesConfig{Config: cfg, ElementBytes: 8})
	must(t, err)
	ways := map[string]insertFunc{
		"words": func(rank, _ int, ids []int, results []Result) (err error) {
			for i, id := range ids {
				if results[i], err = sets[rank].FindOrPut(uint64(id)); err != nil {
					return err
				}
			}
			return nil
		},
		"batches": func(rank, _ int, ids []int, results []Result) error {
			words := make([]uint64, len(ids))
			for i, id := range ids {
				words[i] = uint64(id) | 1<<62
			}
			return sets[rank].FindOrPutBatch(words, results)
		},
		"single elements": func(rank, _ int, ids []int, results []Result) (err error) {
			for i, id := range ids {
				element := make([]byte, 8)
				element[0] = 1
				elementOfID(element, id)
				if results[i], err = elements[rank].FindOrPut(element); err != nil {
					return err
				}
			}
			return nil
		},
		"elements": func(rank, _ int, ids []int, results []Result) error {
			buf := make([]byte, 8*len(ids))
			for i, id := range ids {
				elementOfID(buf[8*i:8*i+8], id)
			}
			return elements[rank].FindOrPutPacked(buf, results, nil)
		},
	}
	for name, insert := range ways {
		must(t, lockstep(rounds, each, insert))
		t.Logf("%s: so far %d swaps were lost, and %d of elements", name,
			sets[0].Stats().LostSwaps+sets[1].Stats().LostSwaps,
			elements[0].Stats().LostSwaps+elements[1].Stats().LostSwaps)
	}
	must(t, checkRanks(jobs, checksOf(sets)), checkRanks(jobs, checksOf(elements)))
	noSlotIsLost(t, elements)
}

// lockstep has two ranks insert the same batch in every round, both starting when
// both are there.
func lockstep(rounds, each int, insert insertFunc) error {
	answers := [2][]Result{make([]Result, rounds*each), make([]Result, rounds*each)}
	err := together(rounds, func(rank, round int) error {
		ids := make([]int, each)
		for i := range ids {
			ids[i] = round*each + i
		}
		return insert(rank, 0, ids, answers[rank][round*each:(round+1)*each])
	})
	for id := range answers[0] {
		a, b := answers[0][id], answers[1][id]
		if err == nil && (a != Inserted || b != Found) && (a != Found || b != Inserted) {
			err = fmt.Errorf("%d: one rank got the answer %v, the other %v", id, a, b)
		}
	}
	return err
}

// together calls fn on two goroutines for every round, when both are there.
func together(rounds int, fn func(rank, round int) error) error {
	var arrived atomic.Int64
	return onAll(2, func(rank int) error {
		for round := range rounds {
			arrived.Add(1)
			for spins := 1; arrived.Load() < int64(2*round+2); spins++ {
				if spins%200 == 0 {
					runtime.Gosched()
				}
				if spins%10000 == 0 { // the other may wait for the core of this one
					time.Sleep(time.Microsecond)
				}
			}
			if err := fn(rank, round); err != nil {
				arrived.Add(int64(2 * rounds)) // the other must not wait
				return err
			}
		}
		return nil
	})
}
