package kv

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farhash/farhash/rma/local"
)

// Every call is made once, those that share a part of their hash one after the other, in the
// order in which they came, and nobody has a turn in the end.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(1, 5).Draw(t, "machines")
		turns := newTurns(machines)
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			hashes := rapid.SliceOfN(rapid.Uint64Range(0, 6), 0, 40).Draw(t, "hashes")
			turns.begin(len(hashes))
			running, done, issued := make([]int, machines), []int{}, 0
			for i := range running {
				running[i] = -1
			}
			for len(done) < len(hashes) {
				m := rapid.IntRange(0, machines-1).Draw(t, "machine")
				call := -1
				if running[m] >= 0 {
					done = append(done, running[m])
					call = turns.next(m)
				}
				for call < 0 && issued < len(hashes) {
					if issued++; turns.take(m, issued-1, hashes[issued-1]) {
						call = issued - 1
					}
				}
				running[m] = call
				for other, c := range running {
					if other != m && c >= 0 && call >= 0 && hashes[c] == hashes[call] {
						t.Fatalf("calls %d and %d are made at once", c, call)
					}
				}
			}
			for i, call := range done {
				for _, later := range done[i+1:] {
					if hashes[later] == hashes[call] && later < call {
						t.Fatalf("call %d is made before call %d", call, later)
					}
				}
			}
			if slices.Sort(done); len(slices.Compact(done)) != len(hashes) {
				t.Fatalf("%d calls are made of %d", len(done), len(hashes))
			}
		}
		if slices.Max(turns.holders) != 0 || slices.Max(turns.held) >= 0 {
			t.Fatal("a machine still has its turn")
		}
	})
}

// Writes of one batch to one key do not get in each other's way.
func TestBatchOfOneKey(t *testing.T) {
	job := local.SingleWith(local.Options{Hidden: true})
	defer job.Close()
	m, err := New(t.Context(), job, Config{SlotsPerRank: 64, BytesPerRank: 1 << 16, MaxKey: 8,
		MaxValue: 8})
	if err != nil {
		t.Fatal(err)
	}
	calls := make([]Call, 300)
	for i := range calls {
		calls[i] = Call{Kind: Put, Key: []byte("key"), Value: fmt.Append(nil, i)}
		if i%10 == 9 {
			calls[i].Kind = Get
			calls[i].Value = nil
		}
	}
	if err := m.Batch(calls); err != nil {
		t.Fatal(err)
	}
	versions := map[Version]bool{}
	for i := range calls {
		if calls[i].Kind == Put {
			versions[calls[i].Version] = calls[i].Done
		}
	}
	puts := m.Stats().Kinds[Put]
	if len(versions) != 270 || puts.Lost > 0 || puts.RoundTrips > 3*270 {
		t.Errorf("%d versions, %d compare-and-swaps lost, %d round trips", len(versions),
			puts.Lost, puts.RoundTrips)
	}
	value, version, found, err := m.Get([]byte("key"), nil)
	if err != nil || !found || !versions[version] {
		t.Errorf("%q, %v, %v, %v", value, version, found, err)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
