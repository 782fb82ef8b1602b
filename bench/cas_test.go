package bench

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// The bare loop keeps every word once, also around the end of a table that becomes
// full while several goroutines put the same words.
func TestCASLoop(t *testing.T) {
	const buckets = 1 << 10
	want := map[uint64]bool{}
	words := make([]uint64, 0, 2*buckets)
	for i := range uint64(buckets) {
		word := mix63(i + 1)
		want[word] = true
		words = append(words, word, mix63(i/2+1))
	}
	got := map[uint64]bool{}
	total := uint64(0)
	var mu sync.Mutex
	err := local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		c, err := newCASTable(ctx, job, &Config{Buckets: buckets})
		if err != nil {
			return err
		}
		c.ready(words, 0)
		if err := c.run(0, len(words)); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		total += c.inserted()
		for _, word := range c.window.Words(job.Rank()) {
			got[word&mask63] = true
		}
		return c.close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if total != buckets || !maps.Equal(got, want) {
		t.Errorf("%d words of which %d are distinct, want the %d that were put", total, len(got),
			len(want))
	}
}

// The bare loop puts words where the set puts them: both search the same buckets.
func TestCASLoopIsLikeTheSet(t *testing.T) {
	ctx, job := context.Background(), local.Single()
	defer job.Close()
	cfg := Config{Buckets: 1 << 12}
	c, err := newCASTable(ctx, job, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	s, err := newSetTable(ctx, job, &cfg, Scalar)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	words := make([]uint64, cfg.Buckets*3/4)
	for i := range words {
		words[i] = mix63(uint64(i))
	}
	for _, table := range []table{c, s} {
		table.ready(words, len(words))
		if err := table.run(0, len(words)); err != nil {
			t.Fatal(err)
		}
	}
	bare := slices.DeleteFunc(slices.Clone(c.flat), func(word uint64) bool { return word == 0 })
	at := 0
	for word, err := range s.set.Local(ctx) {
		if err != nil || at == len(bare) || word != bare[at]&mask63 {
			t.Fatalf("word %d of the set is %#x, %v, and not where the loop has it", at, word, err)
		}
		at++
	}
	if at != len(words) || len(bare) != len(words) {
		t.Errorf("the set has %d words, the loop %d, want %d", at, len(bare), len(words))
	}
}

// recorder is a table that remembers what it was asked for.
type recorder struct {
	words  []uint64
	loads  []int // words in the table when run was called
	known  map[uint64]bool
	failed string
	off    uint64 // what inserted says too much
}

func (r *recorder) prefill(words []uint64) error {
	for _, word := range words {
		r.known[word] = true
	}
	return nil
}

func (r *recorder) ready(words []uint64, inserts int) {
	if r.words = words; inserts != 0 {
		r.failed = "an operation inserts"
	}
}

func (r *recorder) run(begin, end int) error {
	r.loads = append(r.loads, len(r.known))
	for _, word := range r.words[begin:end] {
		if !r.known[word] {
			r.failed = "a word that was not inserted before is asked for"
		}
	}
	return nil
}

func (r *recorder) inserted() uint64 { return uint64(len(r.known)) + r.off }

func (r *recorder) close() error { return nil }

// find asks for what is there, while the load rises in even steps.
func TestFind(t *testing.T) {
	job := local.Single()
	defer job.Close()
	table := &recorder{known: map[uint64]bool{}}
	r := run{job: job, cfg: Config{Batch: 1 << 16}, workload: Find, table: table,
		words: make([]uint64, 4096), stream: newStream(Random, 0, 1, 5000)}
	if _, err := r.phases(context.Background(), 1000, 4000, 4000); err != nil {
		t.Fatal(err)
	}
	var want []int
	for i := range findPieces {
		want = append(want, 1000+4000*(i+1)/findPieces)
	}
	if table.failed != "" || !slices.Equal(table.loads, want) {
		t.Errorf("%s; loads %v, want %v", table.failed, table.loads, want)
	}
}

// A table that does not hold what it was given fails the measurement.
func TestWrongTable(t *testing.T) {
	job := local.Single()
	defer job.Close()
	for _, off := range []uint64{0, 1} {
		b, err := New(Config{To: 0.5, Buckets: minBuckets})
		if err != nil {
			t.Fatal(err)
		}
		r := run{bench: b, job: job, table: &recorder{off: off}}
		if err := r.record(context.Background(), 0, 10, 1); (err != nil) != (off > 0) {
			t.Errorf("%d words too many: %v", off, err)
		}
	}
}
