package set

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// newPairs makes a set of pairs on the only rank of a job.
func newPairs(t testing.TB, cfg BytesConfig) (*Bytes, *Pairs) {
	t.Helper()
	job := local.Single()
	cfg.ElementBytes = 16
	e, err := NewBytes(context.Background(), job, cfg)
	must(t, err)
	p, err := NewPairs(e)
	must(t, err)
	t.Cleanup(func() {
		p.Close()
		must(t, e.Close(), job.Close())
	})
	return e, p
}

// bytesOf is a pair as an element.
func bytesOf(a, b uint64) []byte { return core.BytesOf([]uint64{a, b}) }

// TestPairs inserts pairs, each several times, into sets that grow and sets that do not. Answers
// and references agree with a map, and with what batches say of the same elements.
func TestPairs(t *testing.T) {
	for name, cfg := range map[string]BytesConfig{
		"fixed":   {Config: Config{Buckets: 1 << 12}, Capacity: 3000},
		"grows":   {Config: Config{Buckets: 8, MaxBytes: 1 << 20}},
		"no size": {},
	} {
		t.Run(name, func(t *testing.T) {
			e, p := newPairs(t, cfg)
			refs := map[[2]uint64]Ref{}
			rng := rand.New(rand.NewPCG(1, 2))
			for range 10_000 {
				k := [2]uint64{rng.Uint64N(50), rng.Uint64N(50) << 40}
				before, known := refs[k]
				ref, r, err := p.FindOrPut(k[0], k[1])
				must(t, err)
				if want := map[bool]Result{true: Found, false: Inserted}[known]; r != want ||
					known && ref != before {
					t.Fatalf("pair %v: %v with reference %d, not %v with %d", k, r, ref, want,
						before)
				}
				refs[k] = ref
			}
			checkPairs(t, e, p, refs)
		})
	}
}

// checkPairs compares a set with the pairs that it should have.
func checkPairs(t *testing.T, e *Bytes, p *Pairs, refs map[[2]uint64]Ref) {
	t.Helper()
	n, err := e.Len(t.Context())
	must(t, err, e.Check(t.Context()))
	if n != uint64(len(refs)) {
		t.Fatalf("Len is %d, not %d", n, len(refs))
	}
	for k, ref := range refs {
		if a, b := p.At(ref); a != k[0] || b != k[1] {
			t.Fatalf("At(%d) is %d, %d, not %v", ref, a, b, k)
		}
		var r [1]Result
		var other [1]Ref
		must(t, e.FindOrPutPacked(bytesOf(k[0], k[1]), r[:], other[:]))
		if r[0] != Found || other[0] != ref {
			t.Fatalf("a batch says %v of pair %v, with reference %d, not %d", r[0], k, other[0],
				ref)
		}
	}
}

// TestPairsTogether inserts the same pairs from several goroutines, of which one uses batches: each
// pair is inserted once, and all have the same reference.
func TestPairsTogether(t *testing.T) {
	const n, goroutines = 4000, 4
	jobs := ranksOf(t, engineDirect, 2)
	sets, err := newElements(jobs, BytesConfig{Config: Config{Buckets: 64, MaxBytes: 1 << 20},
		ElementBytes: 16})
	must(t, err)
	var refs [goroutines][n]Ref
	var inserted [goroutines]int
	var wg sync.WaitGroup
	for g := range goroutines {
		e := sets[g%2]
		insert := insertBatch(e)
		if g > 0 {
			p, err := NewPairs(e)
			must(t, err)
			defer p.Close()
			insert = p.FindOrPut
		}
		wg.Go(func() {
			for i := range uint64(n) {
				ref, r, err := insert(i*i, i)
				must(t, err)
				refs[g][i] = ref
				if r == Inserted {
					inserted[g]++
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for g := range goroutines {
		sum += inserted[g]
		if refs[g] != refs[0] {
			t.Errorf("goroutine %d got other references", g)
		}
	}
	if sum != n {
		t.Errorf("%d insertions of %d pairs", sum, n)
	}
	must(t, checkRanks(jobs, checksOf(sets)), sets[0].Close(), sets[1].Close())
}

// TestPairsRace has a pair inserted just before it is inserted, into the bucket that was about to
// be claimed. Both have the same reference, and the slot of the loser is free again.
func TestPairsRace(t *testing.T) {
	mark.Need(t)
	pairLoses.Claim(t)
	claimsPair.Claim(t)
	e, p := newPairs(t, BytesConfig{Config: Config{Buckets: 64}, Capacity: 48})
	var before Ref
	claimsPair.Intercept(t, func() {
		if before == 0 {
			ref, _, err := insertBatch(e)(1, 2)
			must(t, err)
			before = ref + 1
		}
	})
	ref, r, err := p.FindOrPut(1, 2)
	must(t, err)
	if r != Found || ref+1 != before {
		t.Errorf("a pair that is there is %v with reference %d, not %d", r, ref, before-1)
	}
	refs := map[[2]uint64]Ref{{1, 2}: ref}
	for i := range uint64(10) {
		ref, _, err := p.FindOrPut(i, 7)
		must(t, err)
		refs[[2]uint64{i, 7}] = ref
	}
	checkPairs(t, e, p, refs)
}

func insertBatch(e *Bytes) func(a, b uint64) (Ref, Result, error) {
	return func(a, b uint64) (Ref, Result, error) {
		var r [1]Result
		var ref [1]Ref
		err := e.FindOrPutPacked(bytesOf(a, b), r[:], ref[:])
		return ref[0], r[0], err
	}
}

// TestPairsCollect removes pairs by reference. The others keep theirs, and the slots of what was
// removed are used before others, in ascending order.
func TestPairsCollect(t *testing.T) {
	const n = 1000
	e, p := newPairs(t, BytesConfig{Config: Config{Buckets: 1 << 11}, Capacity: n})
	refs := map[[2]uint64]Ref{}
	for i := range uint64(n) {
		ref, _, err := p.FindOrPut(i, ^i)
		must(t, err)
		refs[[2]uint64{i, ^i}] = ref
	}
	removed := 0
	must(t, p.Collect(t.Context(), func(ref Ref) bool { return ref%3 != 0 }))
	for k, ref := range refs {
		if ref%3 == 0 {
			delete(refs, k)
			removed++
		}
	}
	checkPairs(t, e, p, refs)
	last := Ref(0)
	for i := range uint64(removed) {
		ref, r, err := p.FindOrPut(i, 1<<50)
		must(t, err)
		if r != Inserted || ref%3 != 0 || i > 0 && ref <= last {
			t.Fatalf("insertion %d is %v with reference %d, after %d", i, r, ref, last)
		}
		last = ref
		refs[[2]uint64{i, 1 << 50}] = ref
	}
	checkPairs(t, e, p, refs)
	ended := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if err := p.Collect(ctx, func(Ref) bool { return false }); err == nil {
		t.Error("Collect succeeds although its context has ended")
	}
	checkPairs(t, e, p, refs)
}

// TestPairsFull fills a set. After Full, what Collect frees is enough for as many pairs again, and
// what Pairs hold is of use to others once they are closed.
func TestPairsFull(t *testing.T) {
	e, p := newPairs(t, BytesConfig{Config: Config{Buckets: 512}, Capacity: 64})
	fill := func() (n uint64) {
		for ; ; n++ {
			_, r, err := p.FindOrPut(n, n)
			if full := (*FullError)(nil); errors.As(err, &full) && r == Full && full.NoArena {
				return n
			}
			must(t, err)
		}
	}
	n := fill()
	must(t, e.Check(t.Context()), p.Collect(t.Context(), func(Ref) bool { return false }))
	if again := fill(); again != n || n < 64 {
		t.Fatalf("%d pairs fit at first, then %d", n, again)
	}
	must(t, p.Collect(t.Context(), func(Ref) bool { return false }))
	p.Close()
	for i := range n {
		_, _, err := insertBatch(e)(i, i)
		must(t, err)
	}
}

// TestPairsShareFreed: of several Pairs of a full set each takes slots that one of them has freed,
// and no slot is taken twice. What one leaves is there after the next Collect as well.
func TestPairsShareFreed(t *testing.T) {
	const n = 640
	e, p := newPairs(t, BytesConfig{Config: Config{Buckets: 2048}, Capacity: n})
	other, err := NewPairs(e)
	must(t, err)
	defer other.Close()
	refs := map[[2]uint64]Ref{}
	insert := func(by *Pairs, k [2]uint64) bool {
		ref, r, err := by.FindOrPut(k[0], k[1])
		if full := (*FullError)(nil); errors.As(err, &full) {
			return false
		}
		if must(t, err); r != Inserted {
			t.Fatalf("pair %v is %v", k, r)
		}
		refs[k] = ref
		return true
	}
	for i := uint64(0); insert(p, [2]uint64{i, 1}); i++ {
	}
	freed := 0
	for round := range uint64(3) {
		must(t, p.Collect(t.Context(), func(ref Ref) bool { return ref%4 != 0 }, other))
		for k, ref := range refs {
			if ref%4 == 0 {
				delete(refs, k)
				if round == 0 {
					freed++
				}
			}
		}
		n := freed
		if round == 0 {
			n = freed / 2 // the others are left to the next round
		}
		for i := range n {
			by := []*Pairs{p, other, p}[i%2:]
			k := [2]uint64{uint64(i), 2 + round}
			ok := insert(by[0], k)
			if !ok && i > 1 { // the last slots may be of one of them
				ok = insert(by[1], k)
			}
			if !ok {
				t.Fatalf("round %d: no slot for pair %d of %d", round, i, n)
			}
		}
		checkPairs(t, e, p, refs)
	}
	if freed < n/4 {
		t.Fatalf("%d slots are freed", freed)
	}
}

// TestPairsRefused: sets whose memory Pairs cannot use, and closed ones.
func TestPairsRefused(t *testing.T) {
	refuse := func(job rma.Job, bytes int, says string) {
		t.Helper()
		e, err := NewBytes(t.Context(), job, BytesConfig{Config: Config{Buckets: 64},
			ElementBytes: bytes})
		must(t, err)
		if _, err := NewPairs(e); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("NewPairs says %v, not %q", err, says)
		}
		must(t, e.Close())
	}
	refuse(local.Single(), 24, "a pair has 16 bytes, and an element 24")
	refuse(local.SingleWith(local.Options{Hidden: true}), 16, "directly addressable")
	e, p := newPairs(t, BytesConfig{Config: Config{Buckets: 64}})
	must(t, e.Close())
	if _, _, err := p.FindOrPut(1, 2); !errors.Is(err, rma.ErrClosed) {
		t.Errorf("FindOrPut on a closed set: %v", err)
	}
}

// BenchmarkPairs finds and inserts single pairs, and reads them by reference, in sets of 59,000 and
// a million pairs.
func BenchmarkPairs(b *testing.B) {
	for _, n := range []uint64{59_000, 1 << 20} {
		e, p := newPairs(b, BytesConfig{Config: Config{Buckets: n * 2}, Capacity: n})
		refs := make([]Ref, n)
		for i := range n {
			ref, _, err := p.FindOrPut(i, i*i)
			must(b, err)
			refs[i] = ref
		}
		at := func(i int) uint64 { return uint64(i) * 0x9E3779B97F4A7C15 >> 20 % n }
		name := fmt.Sprintf("pairs=%d/", n)
		b.Run(name+"find", func(b *testing.B) {
			for i := range b.N {
				k := at(i)
				_, _, _ = p.FindOrPut(k, k*k)
			}
		})
		b.Run(name+"refs", func(b *testing.B) {
			var r [1]Result
			var ref [1]Ref
			words := make([]uint64, 2)
			for i := range b.N {
				k := at(i)
				words[0], words[1] = k, k*k
				_ = e.FindOrPutPacked(core.BytesOf(words), r[:], ref[:])
			}
		})
		b.Run(name+"at", func(b *testing.B) {
			sum := uint64(0)
			for i := range b.N {
				a, _ := p.At(refs[at(i)])
				sum += a
			}
			if sum == 1 {
				b.Log(sum)
			}
		})
		b.Run(name+"insert", func(b *testing.B) {
			for b.Loop() {
				_, p := newPairs(b, BytesConfig{Config: Config{Buckets: n * 2}, Capacity: n})
				for i := range n {
					_, _, _ = p.FindOrPut(i*i, i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pair")
		})
	}
}
