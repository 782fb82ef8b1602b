package set

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

// fails makes sure that err says all the parts.
func fails(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s is no error", what)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("%s: %q does not say %q", what, err, part)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	jobs := ranksOf(t, engineDirect, 2)
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{Buckets: maxBuckets + 1}, "Buckets must be 2^44 at most"},
		{Config{Buckets: 64, Chunk: 12}, "multiple of 8 up to 65536, not 12"},
		{Config{Buckets: 64, Chunk: -8}, "multiple of 8 up to 65536, not -8"},
		{Config{Buckets: 64, Chunk: 1<<16 + 8}, "not 65544"},
		{Config{Buckets: 64, Chunks: -1}, "Chunks must be 1 to 2^24, not -1"},
		{Config{Buckets: 64, Chunks: 1<<24 + 1}, "Chunks must be"},
		{Config{Buckets: 64, Depth: -1}, "Depth must be 0 to 65536, not -1"},
		{Config{Buckets: 64, Depth: 1<<16 + 1}, "Depth must be"},
	} {
		_, err := newSets(jobs, c.cfg)
		fails(t, fmt.Sprintf("%+v", c.cfg), err, c.says)
		_, err = newElements(jobs, BytesConfig{Config: c.cfg, ElementBytes: 8})
		fails(t, fmt.Sprintf("%+v of elements", c.cfg), err, c.says)
	}
	for _, bytes := range []int{-1, MaxElementBytes + 1} {
		cfg := BytesConfig{Config: Config{Buckets: 64}, ElementBytes: bytes}
		_, err := newElements(jobs, cfg)
		fails(t, "the length", err,
			fmt.Sprintf("must be 1 to 4096, or 0 for any length, not %d", bytes))
	}
	for _, capacity := range []uint64{1<<36 + 1, 1 << 62, math.MaxUint64} {
		for _, bytes := range []int{0, 8} {
			_, err := newElements(jobs, BytesConfig{Config: Config{Buckets: 64},
				ElementBytes: bytes, Capacity: capacity})
			fails(t, "the capacity", err,
				fmt.Sprint("Capacity must be 2^36 at most, not ", capacity))
		}
	}
	_, err := newElements(jobs, BytesConfig{Config: Config{Buckets: 64}, ElementBytes: 8,
		Capacity: 1 << 36})
	fails(t, "the capacity beside runs", err, "68719476736 elements do not fit into 2^36 slots")
}

func TestRanksThatDisagree(t *testing.T) {
	jobs := ranksOf(t, engineDirect, 4)
	differ := "buckets differ: rank 0 has 1024, rank 3 has 2048"
	err := onAll(4, func(rank int) error {
		_, err := New(t.Context(), jobs[rank], Config{Buckets: uint64(1024 + rank/3*1024)})
		if err == nil || !strings.Contains(err.Error(), differ) {
			return fmt.Errorf("rank %d got the answer %w", rank, err)
		}
		return nil
	})
	must(t, err)
	for what, change := range map[string]func(c *BytesConfig){
		"bytes per element": func(c *BytesConfig) { c.ElementBytes++ },
		"elements differ":   func(c *BytesConfig) { c.Capacity++ },
		"buckets per chunk": func(c *BytesConfig) { c.Chunk += 8 },
		"chunks differ":     func(c *BytesConfig) { c.Chunks++ },
		"kinds of home differ: rank 0 h": func(c *BytesConfig) {
			c.variant.WordHomes = !c.variant.WordHomes
		},
	} {
		err := onAll(4, func(rank int) error {
			cfg := BytesConfig{Config: Config{Buckets: 64, Chunk: 8}, ElementBytes: 8}
			if rank == 2 {
				change(&cfg)
			}
			if _, err := NewBytes(t.Context(), jobs[rank], cfg); err != nil {
				return nil
			}
			return fmt.Errorf("rank %d made a set where %s", rank, what)
		})
		must(t, err)
	}
	// Also where the configuration of one rank is illegal: nobody must wait for it.
	for _, last := range []uint64{2048, maxBuckets + 1} {
		err := onAll(4, func(rank int) error {
			buckets := uint64(1024)
			if rank == 3 {
				buckets = last
			}
			_, err := New(t.Context(), jobs[rank], Config{Buckets: buckets})
			return err
		})
		fails(t, "New", err, fmt.Sprintf("buckets differ: rank 0 has 1024, rank 3 has %d", last))
	}
}

func TestBadCalls(t *testing.T) {
	for e := range engines {
		jobs := ranksOf(t, e, 1)
		sets, err := newSets(jobs, Config{Buckets: 64})
		must(t, err)
		s := sets[0]
		const wide = MaxWord + 1
		_, err = s.FindOrPut(wide)
		fails(t, "a wide word", err, "0x8000000000000000 has more than 63 bits")
		_, err = s.Contains(wide)
		fails(t, "a wide word", err, "more than 63 bits")
		fails(t, "a wide word", s.FindOrPutBatch([]uint64{1, wide}, make([]Result, 2)), "63 bits")
		fails(t, "a wide word", s.ContainsBatch([]uint64{1, wide}, make([]Result, 2)), "63 bits")
		fails(t, "results", s.FindOrPutBatch([]uint64{1, 2}, make([]Result, 1)),
			"2 words and 1 result;")
		if n, err := s.Len(t.Context()); n != 0 || err != nil {
			t.Fatalf("after bad calls Len is %d, %v", n, err)
		}
		must(t, s.FindOrPutBatch(nil, nil), s.ContainsBatch(nil, nil))
		badElementCalls(t, jobs)
	}
}

func badElementCalls(t *testing.T, jobs []rma.Job) {
	t.Helper()
	elements, err := newElements(jobs, BytesConfig{Config: Config{Buckets: 64}, ElementBytes: 9})
	must(t, err)
	s := elements[0]
	_, err = s.FindOrPut(make([]byte, 8))
	fails(t, "a short element", err, "8 bytes and 1 result; an element has 9 bytes")
	_, err = s.Contains(nil)
	fails(t, "no element", err, "0 bytes and 1 result;")
	fails(t, "a wrong batch", s.FindOrPutPacked(make([]byte, 17), make([]Result, 2), nil),
		"17 bytes")
	fails(t, "few refs", s.FindOrPutPacked(make([]byte, 18), make([]Result, 2), make([]Ref, 1)),
		"2 results and 1 refs")
	_, err = s.Append(nil, 1<<35)
	fails(t, "a reference", err, "no element has the reference")
	fails(t, "elements of two lengths", s.FindOrPutBatch([][]byte{make([]byte, 9), make([]byte, 8)},
		make([]Result, 2)), "8 bytes and 1 result; an element has 9 bytes")
	must(t, s.FindOrPutBatch(nil, nil))
}

// TestArenasFull uses up the slots of all ranks while buckets are free.
func TestArenasFull(t *testing.T) {
	noSlotLeft.Claim(t)
	for e := range engines {
		jobs := ranksOf(t, e, 3)
		sets, err := newElements(jobs, BytesConfig{ElementBytes: 12,
			Config: Config{Buckets: 4096, Depth: 4}, Capacity: 30})
		must(t, err)
		s := sets[1]
		capacity := int(s.Config().Capacity)
		element := make([]byte, 12)
		for id := range capacity { // from its own arena first, then from the others'
			elementOfID(element, id)
			r, err := s.FindOrPut(element)
			if r != Inserted || err != nil {
				t.Fatalf("%v: element %d of %d: %v, %v", e, id, capacity, r, err)
			}
		}
		elementOfID(element, capacity)
		r, err := s.FindOrPut(element)
		var full *FullError
		if r != Full || !errors.As(err, &full) || !full.NoArena || full.Enough <= 4096 {
			t.Fatalf("%v: without slots: %v, %v", e, r, err)
		}
		fails(t, "full arenas", err, "arenas are full at load factor", "longest probe",
			fmt.Sprint(full.Enough))
	}
}

// TestClosedSets: every call of a closed set returns an error that says so.
func TestClosedSets(t *testing.T) {
	for e := range engines {
		jobs := ranksOf(t, e, 1)
		sets, err := newSets(jobs, Config{Buckets: 1 << 18})
		must(t, err)
		elements, err := newElements(jobs,
			BytesConfig{Config: Config{Buckets: 64}, ElementBytes: 8})
		must(t, err)
		strings, err := newStrings(jobs, smallStrings(1))
		must(t, err)
		s, el, st, dst := sets[0], elements[0], strings[0], make([]byte, 8)
		must(t, s.Close(), el.Close(), s.Close(), el.Close(), st.Close(), st.Close())
		var errs []error
		note := func(err error) { errs = append(errs, err) }
		_, err = s.FindOrPut(1)
		note(err)
		_, err = s.Contains(1)
		note(err)
		note(s.FindOrPutBatch([]uint64{1}, make([]Result, 1)))
		note(s.Check(t.Context()))
		_, err = s.Len(t.Context())
		note(err)
		for _, err := range s.Local(t.Context()) {
			note(err)
		}
		_, err = el.FindOrPut(dst)
		note(err)
		_, err = el.Contains(dst)
		note(err)
		note(el.Check(t.Context()))
		_, err = el.Append(nil, 0)
		note(err)
		for _, err := range el.Local(t.Context()) {
			note(err)
		}
		_, err = st.FindOrPut(dst)
		note(err)
		note(st.FindOrPutBatch([][]byte{dst}, make([]Result, 1)))
		note(st.Check(t.Context()))
		for _, err := range st.All(t.Context()) {
			note(err)
		}
		if len(errs) != 15 {
			t.Fatalf("%v: %d answers", e, len(errs))
		}
		for i, err := range errs {
			if !errors.Is(err, rma.ErrClosed) {
				t.Errorf("%v: call %d of a closed set: %v", e, i, err)
			}
		}
		_, _ = s.Stats(), el.Stats()
	}
}

// TestElementsAreCopied: what the caller does with its memory later does not matter.
func TestElementsAreCopied(t *testing.T) {
	for e := range engines {
		sets, err := newElements(ranksOf(t, e, 1),
			BytesConfig{Config: Config{Buckets: 64}, ElementBytes: 16})
		must(t, err)
		element, refs := []byte("sixteen bytes it"), make([]Ref, 1)
		must(t, sets[0].FindOrPutPacked(element, make([]Result, 1), refs))
		clear(element)
		element, err = sets[0].Append(element[:0], refs[0])
		must(t, err)
		if !bytes.Equal(element, []byte("sixteen bytes it")) {
			t.Fatalf("%v: the element is %q", e, element)
		}
	}
}

// TestEngineErrors has submissions fail, one after the other. What was inserted before
// is reported and counted, and the set continues.
func TestEngineErrors(t *testing.T) {
	words := wordsWithHomes(6, []uint64{0, 1 << 30})
	for failing := int64(1); ; failing++ {
		jobs := ranksOf(t, engineLate, 1)
		sets, err := newSets(jobs, Config{Buckets: 64, Depth: 1})
		must(t, err)
		s, job := sets[0], jobs[0].(*lateJob)
		results := make([]Result, len(words))
		job.fail.Store(failing)
		err = s.FindOrPutBatch(words, results)
		if job.fail.Store(0); err == nil && failing > 10 {
			break // each submission of the batch has failed once
		}
		if !errors.Is(err, errSubmit) || s.sessions.Idle() != 0 {
			t.Fatalf("submission %d fails: %v; %d sessions", failing, err, s.sessions.Idle())
		}
		inserted := 0
		for i, word := range words {
			there, err := s.Contains(word)
			must(t, err)
			if there != (results[i] == Inserted) {
				t.Fatalf("submission %d fails: word %d: %v, there: %v",
					failing, i, results[i], there)
			}
			if there {
				inserted++
			}
		}
		if n, err := s.Len(t.Context()); n != uint64(inserted) || err != nil {
			t.Fatalf("submission %d fails: Len is %d, %v, not %d", failing, n, err, inserted)
		}
		must(t, s.FindOrPutBatch(words, results), s.Check(t.Context()))
	}
}
