package set

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// What one rank's Collect has freed another rank can use, all of it, round after round.
func TestFreedSlotsServeAllRanks(t *testing.T) {
	const elements, ranks = 1000, 3
	for e := range engines {
		t.Run(e.String(), func(t *testing.T) {
			jobs := ranksOf(t, e, ranks)
			sets, err := newElements(jobs, BytesConfig{Config: Config{Buckets: 4096},
				ElementBytes: 24, Capacity: elements})
			must(t, err)
			results, refs := make([]Result, elements), make([]Ref, elements)
			for round := range uint64(5) {
				batch := make([]byte, 24*elements)
				for i := range uint64(elements) {
					binary.LittleEndian.PutUint64(batch[24*i:], round*elements+i)
				}
				must(t, sets[round%ranks].FindOrPutPacked(batch, results, refs))
				seen := map[Ref]bool{}
				for i, r := range results {
					if r != Inserted || seen[refs[i]] {
						t.Fatalf("round %d: element %d is %v in slot %#x", round, i, r, refs[i])
					}
					seen[refs[i]] = true
				}
				must(t, checkRanks(jobs, checksOf(sets)))
				must(t, onAll(ranks, func(rank int) error {
					return sets[rank].Collect(t.Context(), func([]byte) bool { return false })
				}))
			}
		})
	}
}

// freedSlotsAreTakenOnce: ranks that take freed slots at the same time get different ones, and
// all of them.
func freedSlotsAreTakenOnce(t *testing.T) {
	const slots, ranks = 600, 4
	jobs := ranksOf(t, engineHidden, ranks)
	arenasOf := make([]*arenas, ranks)
	must(t, onAll(ranks, func(rank int) (err error) {
		arenasOf[rank], err = newArenas(context.Background(), jobs[rank], room{slots: slots}, 1)
		return err
	}))
	var chain []Ref
	for slot := range Ref(slots / ranks) {
		chain = append(chain, slot<<2|1)
	}
	must(t, arenasOf[2].putFreed(t.Context(), chain[:len(chain)/2]),
		arenasOf[2].putFreed(t.Context(), chain[len(chain)/2:]))
	taken := make([][]Ref, ranks)
	must(t, onAll(ranks, func(rank int) error {
		for {
			ref, ok, err := arenasOf[rank].takeFreed(context.Background(), 2)
			if !ok || err != nil {
				return err
			}
			taken[rank] = append(taken[rank], ref)
			// A rank that reads the link of a slot that is taken reads this.
			if err := arenasOf[rank].link(context.Background(), ref, 12345); err != nil {
				return err
			}
		}
	}))
	seen := map[Ref]bool{}
	for _, refs := range taken {
		for _, ref := range refs {
			if seen[ref] {
				t.Fatalf("slot %#x was taken twice", ref)
			}
			seen[ref] = true
		}
	}
	if len(seen) != len(chain) {
		t.Errorf("%d of %d slots were taken", len(seen), len(chain))
	}
	must(t, onAll(ranks, func(rank int) error { return arenasOf[rank].close() }))
}

// freedSlotComesBack: a slot that was taken and has come back, while another rank was about to
// take it, is not at the head of the chain that this rank has read.
func freedSlotComesBack(t *testing.T) {
	mark.Need(t)
	job := ranksOf(t, engineDirect, 1)[0]
	a, err := newArenas(t.Context(), job, room{slots: 8}, 1)
	must(t, err, a.putFreed(t.Context(), []Ref{1, 2, 3}))
	take := func() Ref {
		ref, ok, err := a.takeFreed(t.Context(), 0)
		if must(t, err); !ok {
			return 0
		}
		return ref
	}
	comeBack := true
	freedIsRead.Claim(t)
	freedIsRead.Intercept(t, func() {
		if comeBack {
			comeBack = false
			if first, second := take(), take(); first != 1 || second != 2 {
				t.Errorf("slots %d and %d were taken, not 1 and 2", first, second)
			}
			must(t, a.putFreed(t.Context(), []Ref{1}))
		}
	})
	for _, want := range []Ref{1, 3, 0} { // 2 is gone
		if got := take(); got != want {
			t.Errorf("slot %d was taken, not %d", got, want)
		}
	}
	must(t, a.close())
}
