package set

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// damage is a way to break a table, and what Check says of it.
type damage struct {
	name string
	do   func(buckets []uint64, at []int) // at: the occupied buckets, in order of one home
	says string
}

// damages are those that words and elements share. The tables hold 12 things with one
// home, in buckets at[0] to at[11].
var damages = []damage{
	{"a hole", func(b []uint64, at []int) { b[at[4]] = 0 },
		fmt.Sprintf("miss: bucket %d is empty", 4)},
	{"a duplicate", func(b []uint64, at []int) { b[at[9]] = b[at[2]] },
		"is in bucket 2 and in bucket 9"},
	{"a word that has lost its occupied bit", func(b []uint64, at []int) { b[at[3]] &^= occupied },
		"bucket 3 holds 0x"},
	{"a closed bucket of the last table", func(b []uint64, at []int) { b[at[11]] = closed },
		"bucket 11 holds 0x1 without the occupied bit"},
	{"a lost occupied bit", func(b []uint64, at []int) { b[at[3]] &^= occupied },
		"without the occupied bit"},
	{"one too far", func(b []uint64, at []int) {
		b[30], b[at[11]] = b[at[11]], 0
	}, "a search ends after 24"},
}

var elementDamages = append([]damage{
	{"a wrong fingerprint", func(b []uint64, at []int) { b[at[5]] ^= 1 << refBits },
		"lacks the fingerprint of its element"},
	{"a wrong element", func(b []uint64, at []int) { b[at[5]] ^= 1 },
		"lacks the fingerprint of its element"},
	{"a dangling reference", func(b []uint64, at []int) { b[at[5]] |= refMask },
		"refers to slot 0xfffffffff, which does not exist"},
}, damages...)

// checkSays breaks a table whose home is bucket 0, checks it and repairs it.
func checkSays(t *testing.T, d damage, buckets []uint64, check func(context.Context) error) {
	t.Helper()
	must(t, check(t.Context()))
	var at []int
	for i, bucket := range buckets {
		if bucket != 0 {
			at = append(at, i)
		}
	}
	if len(at) != 12 || at[11] != 11 {
		t.Fatalf("occupied are buckets %v", at)
	}
	whole := append([]uint64(nil), buckets...)
	d.do(buckets, at)
	err := check(t.Context())
	copy(buckets, whole)
	if err == nil || !strings.Contains(err.Error(), d.says) {
		t.Fatalf("of %s Check says %v, not %q", d.name, err, d.says)
	}
	must(t, check(t.Context()))
}

// TestCheckFindsFaults breaks tables in every way that Check knows. It reads them by
// memory and through queues.
func TestCheckFindsFaults(t *testing.T) {
	cfg := Config{Buckets: 64, Chunk: 8, Chunks: 3}
	job := ranksOf(t, engineDirect, 1)
	t.Run("words", func(t *testing.T) {
		sets, err := newSets(job, cfg)
		must(t, err)
		s := sets[0]
		must(t, s.FindOrPutBatch(wordsWithHomes(12, []uint64{0}), make([]Result, 12)))
		queued := &Set{anySet{throughQueues(s.space)}}
		for _, d := range damages {
			checkSays(t, d, s.oldest.Load().flat, s.Check)
			checkSays(t, d, s.oldest.Load().flat, queued.Check)
		}
	})
	t.Run("elements", func(t *testing.T) {
		sets, err := newElements(job, BytesConfig{Config: cfg, ElementBytes: 8})
		must(t, err)
		e := sets[0]
		for i, n := byte(0), 0; n < 12; i++ {
			element := []byte{i, 1, 2, 3, 4, 5, 6, 7}
			if e.oldest.Load().home(hashElement(e.aligned(element))) == 0 {
				_, err := e.FindOrPut(element)
				must(t, err)
				n++
			}
		}
		queued := &Bytes{anySet: anySet{throughQueues(e.space)}}
		for _, d := range elementDamages {
			checkSays(t, d, e.oldest.Load().flat, e.Check)
			checkSays(t, d, e.oldest.Load().flat, queued.Check)
		}
	})
}

// TestCheckReportsSomeFaults: Check reports only the first faults of a table that is broken
// everywhere.
func TestCheckReportsSomeFaults(t *testing.T) {
	sets, err := newSets(ranksOf(t, engineDirect, 1), Config{Buckets: 64})
	must(t, err)
	for i := range sets[0].oldest.Load().flat {
		sets[0].oldest.Load().flat[i] = 2
	}
	err = sets[0].Check(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), "and 54 more faults") {
		t.Fatalf("Check says %v", err)
	}
}

// TestCheckAllTellsEveryRank: the fault of one rank is an error of all.
func TestCheckAllTellsEveryRank(t *testing.T) {
	jobs := ranksOf(t, engineDirect, 3)
	sets, err := newSets(jobs, Config{Buckets: 64})
	must(t, err)
	last := sets[0].oldest.Load().flat[len(sets[0].oldest.Load().flat)-1:]
	last[0] = 2
	err = onAll(3, func(rank int) error {
		err := sets[rank].CheckAll(t.Context())
		want := "rank 2 failed"
		if rank == 2 {
			want = "without the occupied bit"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("rank %d got the answer %w, not %q", rank, err, want)
		}
		return nil
	})
	must(t, err)
}

// TestCheckFindsLostCopies: Check reports what a marked piece holds and no later table has.
func TestCheckFindsLostCopies(t *testing.T) {
	const keys = 16
	for _, e := range []engine{engineDirect, engineHidden} {
		jobs := ranksOf(t, e, 1)
		sets, err := newSets(jobs, Config{Buckets: 64, MaxBytes: 64 * 64})
		must(t, err)
		s := sets[0]
		for key := range keys {
			_, err := s.FindOrPut(wordOfID(key))
			must(t, err)
		}
		table := s.oldest.Load()
		following, err := table.next(true)
		must(t, err)
		must(t, s.Check(t.Context()), table.movePiece(0, 0), s.Check(t.Context()))
		next, err := following.readAll()
		must(t, err)
		q, err := jobs[0].NewQueue(1)
		must(t, err)
		for at, bucket := range next {
			if bucket != 0 {
				swap := q.CompareAndSwap(following.window, 0, at, bucket, 0)
				must(t, q.Submit(), q.Wait(t.Context(), swap))
				_, err := q.Value(swap)
				must(t, err)
			}
		}
		must(t, q.Close())
		err = s.Check(t.Context())
		if err == nil || strings.Count(err.Error(), "no later table has it") < keys/2 {
			t.Errorf("%v: Check says %v", e, err)
		}
	}
}
