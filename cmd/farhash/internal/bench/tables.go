package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

const (
	wordBytes = 8
	lineBytes = lineWords * wordBytes
)

// number is the i-th key of a rank: no two ranks have the same.
func number(rank, i int) uint64 { return uint64(rank)<<40 | uint64(i) }

func counted(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%d of %d answers are %s: the table is wrong", got, want, what)
	}
	return nil
}

// draws are random numbers, others from case to case: what one case has read is in the
// processor's cache.
type draws uint64

func (d *draws) below(n int) int {
	*d++
	return int(mix(uint64(*d)) % uint64(n))
}

// setTable inserts words into a table that is a quarter full, and finds all that are in it.
type setTable struct {
	set     *set.Set
	rank    int
	next    int // words inserted by this rank
	drawn   draws
	words   []uint64
	results []set.Result
}

// operations accesses as many lines as there are.
func (t *setTable) operations(shareBytes int) int { return min(shareBytes/lineBytes, maxLines) }

func (t *setTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	// Half full in the end, with what both cases of both sizes of batches insert.
	least := uint64(2 * 2 * cfg.Operations * job.Size())
	t.rank = job.Rank()
	buckets := max(cfg.SizeBytes/wordBytes, least)
	if t.set, err = set.New(ctx, touched{job}, set.Config{Buckets: buckets}); err != nil {
		return err
	}
	// What is found later is all over the memory, as what the limit reads does.
	const piece, share = 1 << 14, 4
	words, results := make([]uint64, piece), make([]set.Result, piece)
	for mine := int(buckets) / share / job.Size(); t.next < mine; {
		n := min(piece, mine-t.next)
		for i := range n {
			words[i] = mix(number(t.rank, t.next+i)) & set.MaxWord
		}
		if err := t.set.FindOrPutBatch(words[:n], results[:n]); err != nil {
			return errors.Join(err, t.set.Close())
		}
		t.next += n
	}
	return nil
}

func (t *setTable) cases() []testCase {
	ready := func(at func(i int) uint64) func(n int) {
		return func(n int) {
			t.words, t.results = make([]uint64, n), make([]set.Result, n)
			for i := range t.words {
				t.words[i] = mix(at(i)) & set.MaxWord
			}
		}
	}
	check := func(want set.Result) func(n int) error {
		return func(n int) error {
			got := 0
			for _, r := range t.results {
				if r == want {
					got++
				}
			}
			return counted(want.String(), got, n)
		}
	}
	return []testCase{
		{operation: "find-or-put, new", lines: 1, swaps: true, run: t.run,
			check: check(set.Inserted),
			ready: ready(func(int) uint64 { t.next++; return number(t.rank, t.next-1) })},
		{operation: "find-or-put, present", lines: 1, run: t.run, check: check(set.Found),
			ready: ready(func(int) uint64 { return number(t.rank, t.drawn.below(t.next)) })},
	}
}

func (t *setTable) run(from, to, batch int) (err error) {
	if batch == 1 {
		for i := from; i < to && err == nil; i++ {
			t.results[i], err = t.set.FindOrPut(t.words[i])
		}
		return err
	}
	for ; from < to && err == nil; from += batch {
		end := min(from+batch, to)
		err = t.set.FindOrPutBatch(t.words[from:end], t.results[from:end])
	}
	return err
}

func (t *setTable) close() error { return t.set.Close() }

// indexTable looks records of 8+8 bytes up at the default load.
type indexTable struct {
	index   *index.Index
	rank    int
	ranks   int
	records int // of each rank
	drawn   draws
	numbers []uint64
	keys    []byte
	right   int
}

// operations are fewer than for the set, as a lookup takes several times longer.
func (t *indexTable) operations(shareBytes int) int {
	const maxLookups = 1 << 19
	return min(shareBytes/lineBytes, maxLookups)
}

func (t *indexTable) open(ctx context.Context, job rma.Job, cfg *Config) (err error) {
	t.rank, t.ranks = job.Rank(), job.Size()
	t.records = max(int(cfg.SizeBytes)/(2*wordBytes)/2/t.ranks, 1)
	t.index, err = index.Build(ctx, job, index.Config{KeySize: wordBytes, ValueSize: wordBytes},
		t.all())
	return err
}

func (t *indexTable) all() iter.Seq2[index.Record, error] {
	return func(yield func(index.Record, error) bool) {
		var key, value [wordBytes]byte
		for i := range t.records {
			n := number(t.rank, i)
			binary.LittleEndian.PutUint64(key[:], mix(n))
			binary.LittleEndian.PutUint64(value[:], n)
			if !yield(index.Record{Key: key[:], Value: value[:]}, nil) {
				return
			}
		}
	}
}

func (t *indexTable) cases() []testCase {
	return []testCase{{operation: "lookup, 8+8 bytes", lines: 1, ready: t.ready, run: t.run,
		check: func(n int) error { return counted("right", t.right, n) }}}
}

func (t *indexTable) ready(n int) {
	t.numbers, t.keys, t.right = make([]uint64, n), make([]byte, n*wordBytes), 0
	for i := range t.numbers {
		t.numbers[i] = number(t.drawn.below(t.ranks), t.drawn.below(t.records))
		binary.LittleEndian.PutUint64(t.keys[i*wordBytes:], mix(t.numbers[i]))
	}
}

func (t *indexTable) run(from, to, batch int) error {
	if batch == 1 {
		for i := from; i < to; i++ {
			for value, err := range t.index.Lookup(t.keys[i*wordBytes : (i+1)*wordBytes]) {
				if err != nil {
					return err
				}
				t.see(i, value)
			}
		}
		return nil
	}
	for ; from < to; from += batch {
		keys := t.keys[from*wordBytes : min(from+batch, to)*wordBytes]
		first := from
		if err := t.index.LookupBatch(keys, func(i int, v index.Value) {
			t.see(first+i, v)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (t *indexTable) see(i int, value index.Value) {
	if binary.LittleEndian.Uint64(value) == t.numbers[i] {
		t.right++
	}
}

func (t *indexTable) close() error { return t.index.Close() }

// touched is a job whose windows have all their memory from the start.
type touched struct{ rma.Job }

// NewWindow makes a window and writes to every page of this rank's segment.
func (j touched) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	w, err := j.Job.NewWindow(ctx, spec)
	if err != nil {
		return nil, err
	}
	if own := w.Words(j.Rank()); own != nil {
		for i := 0; i < len(own); i += pageWords {
			own[i] = 0
		}
	}
	return w, j.Barrier(ctx) // nobody uses it before
}
