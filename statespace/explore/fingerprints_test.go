package explore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/statespace/explore"
)

// fingerprintSettings are ways to explore by fingerprints.
func fingerprintSettings(ranks ...int) []setting {
	all := slices.DeleteFunc(settings(ranks...), func(s setting) bool {
		return s.opts.Encoding != explore.EncodingTree
	})
	for i := range all {
		all[i].opts.Encoding, all[i].opts.Check = explore.EncodingFingerprint, true
	}
	return all
}

// However long the states are, as many are found as when they are stored whole.
func TestFingerprints(t *testing.T) {
	all := fingerprintSettings(1, 2, 4)
	for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
		all = append(all, setting{ranks: 4, hosts: 2, opts: explore.Options{Order: order,
			Encoding: explore.EncodingFingerprint}})
	}
	for _, s := range all {
		for _, words := range lengths(1, 2, 65, 512) {
			bits := 12
			if words == 512 || testing.Short() {
				bits = 8
			}
			r := mustCount(t, s, doubling(bits).long(words), wantDoubling(bits, s.opts.Order))
			if r.Encoding != explore.EncodingFingerprint || r.Missed <= 0 || r.Missed > 1e-9 {
				t.Errorf("%v, %d words: encoding %q, missed %g", s, words, r.Encoding, r.Missed)
			}
		}
		if r := mustCount(t, s, star(5000).long(3), wantStar(5000, s.opts.Order)); r.Missed == 0 {
			t.Errorf("%v: %+v", s, r)
		}
		// Short states are words, and none is missed.
		r := mustCount(t, s, doubling(8), wantDoubling(8, s.opts.Order))
		if r.Encoding != explore.EncodingWord || r.Missed != 0 {
			t.Errorf("%v: %+v", s, r)
		}
	}
}

// On torn memory and with late messages fingerprints and tasks of several words come whole.
func TestFingerprintsSimulated(t *testing.T) {
	orders := []explore.Order{explore.BreadthFirst, explore.AnyOrder}
	seeds.Seeds(t, 8, func(t *testing.T, seed uint64) {
		opts := explore.Options{Order: orders[seed%2], Encoding: explore.EncodingFingerprint,
			Check: true}
		want := wantDoubling(8, opts.Order)
		_, err := sim.Run(sim.Random(1+int(seed%4), seed), func(job rma.Job) error {
			r, err := explore.Run(context.Background(), job, doubling(8).long(3), opts)
			if err == nil && (!r.Complete || countsOf(r) != want) {
				t.Errorf("rank %d: %+v, want %+v", job.Rank(), countsOf(r), want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// tangle leads each of n numbers to three others, some of which have no successors.
func tangle(n uint64) *graph {
	return &graph{bits: 40, words: 1,
		next: func(s uint64, out []uint64) []uint64 {
			for i := range uint64(3) {
				if to := (s*2654435761 + i*40503 + s>>7) % n; s%501 != 500 {
					out = append(out, to)
				}
			}
			return out
		}}
}

// A trace by fingerprints is a way of the model, and as short as with trees.
func TestFingerprintTrace(t *testing.T) {
	n := uint64(3000)
	if testing.Short() {
		n = 500
	}
	for _, m := range []*graph{tangle(5000).long(2), chain(n).long(3), chain(1).long(2)} {
		opts := explore.Options{Trace: []int{explore.Deadlock}, Encoding: explore.EncodingTree}
		want := mustSearchModel(t, setting{ranks: 1, opts: opts}, m)
		opts.Encoding = explore.EncodingFingerprint
		for _, s := range []setting{{ranks: 1}, {ranks: 2}, {ranks: 4, hidden: true},
			{ranks: 4, hosts: 2}} {
			s.opts = opts
			out, err := searchModel(s, func(int) explore.Model { return m })
			if err != nil {
				t.Fatal(err)
			}
			for rank, o := range out {
				if len(o.res.Trace) != len(want.Trace) || o.res.Traced != explore.Deadlock ||
					fmt.Sprint(o.res.Trace) != fmt.Sprint(out[0].res.Trace) {
					t.Fatalf("%v: rank %d: %d states, want %d", s, rank, len(o.res.Trace),
						len(want.Trace))
				}
			}
			mustLead(t, m, out[0].res.Trace)
		}
	}
}

// mustLead checks that a graph can go a way, to a state without successors.
func mustLead(t *testing.T, m *graph, way []explore.Step) {
	t.Helper()
	next := m.Initial(nil)
	for i, step := range way {
		at := max(step.Action, 0) * m.words
		if (step.Action < 0) != (i == 0) || at >= len(next) ||
			!slices.Equal(next[at:at+m.words], step.State) {
			t.Fatalf("step %d of %d: action %d does not lead to %x", i, len(way), step.Action,
				step.State)
		}
		var err error
		if next, err = m.NewExpander().Expand(step.State, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(next) > 0 {
		t.Errorf("the way ends in a state with %d words of successors", len(next))
	}
}

func TestFingerprintResume(t *testing.T) {
	for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
		for _, ranks := range [][2]int{{1, 3}, {3, 1}, {2, 2}} {
			resumeOnce(t, doubling(13).long(3), ranks, explore.Options{Order: order,
				Encoding: explore.EncodingFingerprint})
		}
	}
}

// Fingerprints are not resumed as states, nor states as fingerprints.
func TestFingerprintResumeRefused(t *testing.T) {
	m := doubling(10).long(2)
	for saved, other := range map[explore.Encoding]explore.Encoding{
		explore.EncodingFingerprint: explore.EncodingTree,
		explore.EncodingTree:        explore.EncodingFingerprint} {
		path := filepath.Join(t.TempDir(), "checkpoint")
		_, err := searchWith(context.Background(), 2, m, explore.Options{Encoding: saved,
			Checkpoint: path, CheckpointEvery: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = searchWith(context.Background(), 2, m, explore.Options{Encoding: other,
			Resume: path})
		if err == nil || !strings.Contains(err.Error(), `encoding "fingerprint"`) {
			t.Errorf("saved as %q, resumed as %q: %v", saved, other, err)
		}
		r, err := searchWith(context.Background(), 2, m, explore.Options{Encoding: saved,
			Resume: path})
		if err != nil || !r.Complete || r.States != 1<<10 {
			t.Errorf("%q: %+v, %v", saved, r, err)
		}
	}
}

// Waiting states count as memory: all states of a star wait at once.
func TestFingerprintMemory(t *testing.T) {
	for _, ranks := range []int{3, 1} {
		if ranks == 1 && testing.Short() {
			break
		}
		s := setting{ranks: ranks, opts: explore.Options{Encoding: explore.EncodingFingerprint,
			Mem: 32 << 20}}
		r := mustSearchModel(t, s, doubling(30).long(40))
		// 24 MiB for states, of 320 bytes while they wait.
		if r.Reason != explore.MemoryFull || r.States > 24<<20/150 || r.States < 24<<20/700 ||
			r.NeedMem <= 32<<20 {
			t.Errorf("%d ranks: %+v", ranks, r)
		}
	}
}

// A search by fingerprints misses no state here, on any engine: the hashes are always the same.
func TestFingerprintsOfManyStates(t *testing.T) {
	opts := explore.Options{Encoding: explore.EncodingFingerprint}
	for _, e := range lab.Engines() {
		found := uint64(0)
		err := e.Run(3, func(job rma.Job) error {
			r, err := explore.Run(t.Context(), job, doubling(10).long(2), opts)
			if err == nil && job.Rank() == 0 {
				found = r.States
			}
			return err
		})
		if err != nil || found != 1<<10 {
			t.Errorf("%s: %d states, %v", e.Name, found, err)
		}
	}
}
