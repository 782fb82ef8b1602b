package set

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
)

// What the assembly for single words must do beside concurrent insertions. No mark can stand in
// it, so the races are run until enough of them have happened.

// kernelsInAssembly skips a test where there are none, or where nothing runs at the same time.
func kernelsInAssembly(t *testing.T) []kernel {
	t.Helper()
	kernels := kernels()
	kernels = kernels[:len(kernels)-1] // without kernelPortable
	if len(kernels) == 0 || runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs a kernel in assembly and two cores")
	}
	return kernels
}

// firstLineSet is a set whose single words go through assembly.
func firstLineSet(t *testing.T, jobs []rma.Job, buckets uint64, kernel kernel) *Set {
	t.Helper()
	sets, err := newSets(jobs, Config{Buckets: buckets, variant: by(kernel)})
	if must(t, err); sets[0].oldest.Load().first.base == nil {
		t.Fatalf("single words do not go through kernel %q", kernel)
	}
	return sets[0]
}

// firstLineLosesBucket has two goroutines fill the same line at the same moment, over and over:
// with words that both insert, and with words of their own. So they lose buckets to equal words
// and to others. Where nothing else runs, 2 sets are enough.
func firstLineLosesBucket(t *testing.T) {
	const wanted, maxSets = 200, 1000
	for _, kernel := range kernelsInAssembly(t) {
		jobs, lost := ranksOf(t, engineDirect, 1), uint64(0)
		for n := 0; lost < wanted; n++ {
			if n == maxSets {
				t.Skipf("only %d swaps were lost in %d sets: only one core?", lost, n)
			}
			s := firstLineSet(t, jobs, 1<<14, kernel)
			must(t, fillLines(t.Context(), s))
			lost += s.Stats().LostSwaps
			must(t, s.Close())
		}
	}
}

// fillLines fills 6 buckets of every line.
func fillLines(ctx context.Context, s *Set) error {
	const each = 4 // words of a goroutine: 2 of its own
	lines := s.oldest.Load().buckets / lineBuckets
	var words [2][]uint64
	for line := range lines {
		w := wordsWithHomes(6, []uint64{line << 32 / lines})
		words[0] = append(words[0], w[0], w[1], w[2], w[3])
		words[1] = append(words[1], w[0], w[4], w[2], w[5])
	}
	answers := [2][]Result{make([]Result, len(words[0])), make([]Result, len(words[0]))}
	err := together(int(lines), func(rank, round int) (err error) {
		for i := each * round; i < each*(round+1) && err == nil; i++ {
			answers[rank][i], err = s.FindOrPut(words[rank][i])
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, a := range answers[0] {
		b := answers[1][i]
		if i%2 == 0 && a+b != Found+Inserted || i%2 == 1 && (a != Inserted || b != Inserted) {
			return fmt.Errorf("insertion %d: the answers are %v and %v", i, a, b)
		}
	}
	if n, err := s.Len(ctx); n != 6*lines {
		return errors.Join(err, unexpected("Len", n, 6*lines))
	}
	return s.Check(ctx)
}

// TestSingleWordsAreCounted has two goroutines count in one counter at the same moment, until
// that has happened often.
func TestSingleWordsAreCounted(t *testing.T) {
	const wanted, maxSets = 400, 1000
	for _, kernel := range kernelsInAssembly(t) {
		jobs, beside := ranksOf(t, engineDirect, 1), uint64(0)
		for n := 0; beside < wanted; n++ {
			if n == maxSets {
				t.Skipf("only %d rounds were beside another: only one core?", beside)
			}
			s := firstLineSet(t, jobs, 1<<18, kernel)
			beside += countInOne(t, s)
			must(t, s.Close())
		}
	}
}

// countInOne returns how many rounds of insertions were beside others. The assembly chooses a
// counter by the address of the stack, so each goroutine is given counters that begin as far
// before the common one as the one it chooses lies behind the first.
func countInOne(t *testing.T, s *Set) uint64 {
	const rounds, each = 500, 50
	counts := make([]uint64, 2*stripes*stripeWords)
	var tried [2][stripes * stripeWords]uint64
	var inserted [2]atomic.Uint64
	var beside atomic.Uint64
	must(t, together(rounds, func(rank, round int) error {
		first, own, others := s.oldest.Load().first, &tried[rank], inserted[1-rank].Load()
		clear(own[:])
		first.counts = &own[0]
		for i := range each {
			word := uint64((2*round+rank)*each + i)
			switch {
			case first.insert(word) != end(Inserted): // its line is full, or a swap was lost
			case first.counts == &own[0]:
				first.counts = &counts[stripes*stripeWords-slices.Index(own[:], 1)]
			default:
				inserted[rank].Add(1)
			}
		}
		if now := inserted[1-rank].Load(); now > others && now-others < each-1 {
			beside.Add(1) // the other is neither behind nor through
		}
		return nil
	}))
	got, want := uint64(0), inserted[0].Load()+inserted[1].Load()
	for _, n := range counts {
		got += n
	}
	if got != want {
		t.Fatalf("%d insertions are counted, not %d", got, want)
	}
	return beside.Load()
}

// A word of 64 bits must not be taken for an occupied bucket.
func TestWideWordsOnAllKernels(t *testing.T) {
	for _, kernel := range kernels() {
		s := newKernelSet(t, Config{Buckets: 64, variant: by(kernel)})
		_, err := s.FindOrPut(1)
		must(t, err)
		for _, wide := range []uint64{1 | occupied, 2 | occupied} {
			_, err := s.FindOrPut(wide)
			fails(t, string(kernel), err, "more than 63 bits")
		}
		if n, err := s.Len(t.Context()); n != 1 || err != nil {
			t.Errorf("kernel %s: Len is %d, %v", kernel, n, err)
		}
	}
}
