package set

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// TestLabScripts runs races and small cases over memory, which the simulated engine does not run.
func TestLabScripts(t *testing.T) {
	for _, script := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"word loses its bucket", wordLosesItsBucket},
		{"first line loses its bucket", firstLineLosesBucket},
		{"element loses its bucket", elementLosesItsBucket},
		{"string loses its bucket", stringLosesItsBucket},
		{"line read in pieces", lineReadInPieces},
		{"equal fingerprints", fingerprintsAreEqual},
		{"end of a span", endOfSpan},
		{"slots taken at the same time", runTakenAtOnce},
		{"freed slots", freedSlotsAreTakenOnce},
		{"freed slot comes back", freedSlotComesBack},
		{"collection that fails", collectionThatFails},
		{"every length of a move", everyMove},
		{"every step of a move", everyStepOfMove},
		{"late call keeps its table", lateCallKeepsTable},
	} {
		t.Run(script.name, script.run)
	}
}

// endOfSpan has rank 0 insert what has its home in the last line of its span. Some of it is
// after that.
func endOfSpan(t *testing.T) {
	const n, ranks = 12, 4
	jobs := ranksOf(t, engineHosts, ranks)
	cfg := Config{Buckets: 256, Access: rma.OneSided}
	sets, err := newSets(jobs, cfg)
	must(t, err)
	elements, err := newElements(jobs, BytesConfig{Config: cfg, ElementBytes: 8})
	must(t, err)
	end := uint64(len(sets[0].oldest.Load().spanOf(0).flat))
	words := wordsWithHomes(2*n, []uint64{end<<32/cfg.Buckets - 1})
	var bytes []byte
	for i := uint64(0); len(bytes) < 8*n; i++ {
		if h := hashElement([]uint64{i}); elements[0].oldest.Load().home(h) == end-lineBuckets {
			bytes = binary.LittleEndian.AppendUint64(bytes, i)
		}
	}
	for i, word := range words[:n] {
		r, err := sets[0].FindOrPut(word)
		if must(t, err); r != Inserted {
			t.Errorf("word %d is %v", i, r)
		}
	}
	results, refs := make([]Result, n), make([]Ref, n)
	must(t, sets[0].FindOrPutBatch(words[n:], results),
		elements[0].FindOrPutPacked(bytes, results, refs))
	for rank := range ranks {
		for i, word := range words {
			if there, err := sets[rank].Contains(word); !there || err != nil {
				t.Errorf("rank %d misses word %d: %v", rank, i, err)
			}
		}
		got := make([]byte, len(bytes))
		must(t, elements[rank].ContainsPacked(bytes, results),
			elements[rank].GetPacked(refs, got))
		if slices.Contains(results, NotFound) || string(got) != string(bytes) {
			t.Errorf("rank %d finds elements %v, and references are those of %x", rank, results,
				got)
		}
	}
	must(t, checkRanks(jobs, checksOf(sets)), checkRanks(jobs, checksOf(elements)))
}

// runTakenAtOnce has a rank take slots when another one is about to take the same.
func runTakenAtOnce(t *testing.T) {
	mark.Need(t)
	jobs := ranksOf(t, engineDirect, 2)
	of := make([]*arenas, 2)
	must(t, onAll(2, func(rank int) (err error) {
		of[rank], err = newArenas(context.Background(), jobs[rank], room{slots: 4 * slotRun}, 1)
		return err
	}))
	var other []uint64
	runIsRead.Claim(t)
	runIsRead.Intercept(t, func() {
		if other == nil {
			begin, end, err := of[1].takeRun(t.Context(), 0, 0)
			must(t, err)
			other = []uint64{begin, end}
		}
	})
	begin, end, err := of[0].takeRun(t.Context(), 0, 0)
	must(t, err)
	if begin < other[1] && other[0] < end {
		t.Errorf("slots %d to %d are taken, and %d to %d", other[0], other[1], begin, end)
	}
	must(t, onAll(2, func(rank int) error { return of[rank].close() }))
}

// collectionThatFails: the set is as it was, and what is inserted then takes the slot of nothing
// that was to be removed.
func collectionThatFails(t *testing.T) {
	const n = 100
	jobs := ranksOf(t, engineDirect, 1)
	sets, err := newElements(jobs, BytesConfig{ElementBytes: 8, Capacity: n,
		Config: Config{Buckets: 4 * scanWords}})
	must(t, err)
	e, results := sets[0], make([]Result, n)
	must(t, e.FindOrPutPacked(numbered(0, n), results, nil))
	ctx, cancel := context.WithCancel(t.Context())
	if err := e.Collect(ctx, func([]byte) bool { cancel(); return false }); err == nil {
		t.Fatal("a collection that is cancelled does not fail")
	}
	var full *FullError
	for from := uint64(n); err == nil; from += n {
		err = e.FindOrPutPacked(numbered(from, n), make([]Result, n), nil)
	}
	if !errors.As(err, &full) {
		t.Fatal(err)
	}
	must(t, e.ContainsPacked(numbered(0, n), results), e.Check(t.Context()))
	if slices.Contains(results, NotFound) {
		t.Errorf("elements are lost: %v", results)
	}
}

// numbered are elements of 8 bytes.
func numbered(from, n uint64) (all []byte) {
	for i := range n {
		all = binary.LittleEndian.AppendUint64(all, from+i)
	}
	return all
}

// everyMove has sets grow, and be collected, that hold just as much as some whole runs of what
// moves at a time, one less and one more.
func everyMove(t *testing.T) {
	job := ranksOf(t, engineDirect, 1)
	for runs := range 10 {
		if slow && runs > 1 && runs < 8 {
			continue
		}
		for n := max(0, runs*growRun-1); n <= runs*growRun+1; n++ {
			sets, err := newSets(job, Config{Buckets: 12000})
			must(t, err, moves(sets[0], n))
			if runs < 2 || runs > 8 {
				elements, err := newElements(job, BytesConfig{ElementBytes: 8,
					Config: Config{Buckets: 12000}})
				must(t, err, movesElements(elements[0], n))
			}
		}
	}
}

// moves has a set of 2n words lose each that is odd.
func moves(s *Set, n int) error {
	words, results := make([]uint64, 2*n), make([]Result, 2*n)
	for i := range words {
		words[i] = uint64(i)
	}
	ctx := context.Background()
	err := errors.Join(s.FindOrPutBatch(words, results),
		s.Collect(ctx, func(word uint64) bool { return word%2 == 0 }),
		s.ContainsBatch(words, results))
	for i, r := range results {
		if (r == Found) != (i%2 == 0) {
			err = errors.Join(err, fmt.Errorf("of %d words number %d is %v", 2*n, i, r))
		}
	}
	return errors.Join(err, s.Check(ctx), s.Close())
}

// movesElements is the same for elements.
func movesElements(e *Bytes, n int) error {
	all, results := numbered(0, uint64(2*n)), make([]Result, 2*n)
	ctx := context.Background()
	err := errors.Join(e.FindOrPutPacked(all, results, nil),
		e.Collect(ctx, func(element []byte) bool { return element[0]%2 == 0 }),
		e.ContainsPacked(all, results))
	for i, r := range results {
		if (r == Found) != (i%2 == 0) {
			err = errors.Join(err, fmt.Errorf("of %d elements number %d is %v", 2*n, i, r))
		}
	}
	return errors.Join(err, e.Check(ctx), e.Close())
}
