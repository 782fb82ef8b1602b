package explore

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// However large the budget, the states and the ranks: tables and lists together have what is for
// states, and the tables begin with room to grow unless memory is short.
func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 3000 {
		mem := minMem + rng.Uint64N(1<<(23+rng.IntN(20)))
		b, err := newBudget(mem, math.MaxUint64, 1+rng.IntN(64))
		if err != nil {
			t.Fatal(err)
		}
		if b.mem != mem || b.states >= mem || b.states < mem/4*3 || mem-b.states > runtimeBytes {
			t.Fatalf("budget %+v", b)
		}
		words := rng.IntN(512)
		b.divide(float64(bucketBytes+8*words), rng.Float64()*100, 1)
		least := EncodingElement.leastBytes(words, int(b.ranks))
		if _, err := b.forTables(least); err != nil {
			if least <= b.states {
				t.Fatalf("%+v: no table for states of %d words: %v", b, words, err)
			}
			refused++
			continue
		}
		if b.tables > b.states || b.tables < b.states/2 {
			t.Fatalf("%+v: tables have another part", b)
		}
		if need := b.enough(); need < 2*b.states || need <= b.mem {
			t.Fatalf("%+v: %d bytes are enough for twice as many", b, need)
		}
	}
	if refused == 0 || refused > 1000 {
		t.Errorf("%d refusals", refused)
	}
}

// Tables begin small, and come to a last one that takes as much as there is.
func TestFirstTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		words, most := rng.IntN(20), uint64(firstBuckets)>>rng.IntN(4)
		cfg := set.Config{MaxBytes: rng.Uint64N(1 << (20 + rng.IntN(20)))}
		limit := cfg.MaxBytes
		begin(&cfg, words, most)
		now := tableBytes(cfg.Buckets, words)
		if cfg.Buckets > most || cfg.Buckets < minBuckets ||
			cfg.Buckets > minBuckets && now > limit/4 || cfg.MaxBytes != max(limit, now) {
			t.Fatalf("%d words in %d bytes: %+v", words, limit, cfg)
		}
		last := cfg.Buckets
		for tableBytes(2*last, words)+8*last <= limit+limit/1000 {
			last *= 2
		}
		if all := tableBytes(last, words) + 8*last/2; cfg.Buckets > minBuckets &&
			all < limit-limit/100 {
			t.Fatalf("%d words in %d bytes: %+v come to %d", words, limit, cfg, all)
		}
	}
}

// Ranks of one host share what tables leave for what waits. On several hosts each has its part.
func TestHeapShare(t *testing.T) {
	for _, hosts := range [][]string{nil, {"a", "b"}} {
		for _, part := range []uint64{4, 8, 12} { // sixteenths of what is left, for each rank
			err := local.Run(2, func(job rma.Job) error {
				s, err := newSearch(t.Context(), job, single{}, Options{Mem: 64 << 20})
				if err != nil {
					return err
				}
				defer s.close()
				s.hosts = hosts
				tables, err := s.tables(t.Context())
				if err != nil {
					return err
				}
				w, blocks := s.worker, (s.budget.states-tables)/blockBytes(1)
				if w.pool.made = blocks / 16; job.Rank() == 1 {
					w.pool.made = blocks * part / 16
				}
				if err := w.control.set(t.Context(), cellHeapBytes, w.pool.bytes()); err != nil {
					return err
				}
				err = errors.Join(job.Barrier(t.Context()), w.accountHeap(t.Context()))
				if full := hosts != nil && job.Rank() == 1 && part > 8; full != (err != nil) {
					t.Errorf("%d/16 on %q: rank %d: %v", part, hosts, job.Rank(), err)
				}
				return job.Barrier(t.Context())
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// wide is a model whose states have so many words.
type wide struct {
	single
	words int
}

func (m wide) StateBits() int                { return 64 * m.words }
func (m wide) StateWords() int               { return m.words }
func (m wide) Initial(out []uint64) []uint64 { return append(out, make([]uint64, m.words)...) }

// Whatever the encoding and the number of ranks, tables never take more than there is for states
// beside the lists, and as good as all of that before they are full.
func TestTableBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about bytes, and fills a lot of memory")
	}
	maxRanks := 7
	if invariant.Enabled {
		maxRanks = 5
	}
	for ranks := 1; ranks <= maxRanks; ranks += 2 {
		for _, e := range []Encoding{EncodingFingerprint, EncodingTree, EncodingElement} {
			for _, shared := range []uint64{1 << 50, 1 << 30, 1 << 10} {
				err := local.Run(ranks, func(job rma.Job) error {
					s, err := newSearch(t.Context(), job, wide{words: 3},
						Options{Encoding: e, Mem: 12 << 20})
					if err != nil {
						return err
					}
					defer s.close()
					return fillVisited(t, s, shared)
				})
				if err != nil {
					t.Errorf("%d ranks, %q: %v", ranks, e, err)
				}
			}
		}
	}
}

// fillVisited has a rank insert until memory is full, and looks what is taken. So many states have
// the first word in common.
func fillVisited(t *testing.T, s *search, shared uint64) error {
	t.Helper()
	const batch = 256
	heap := s.budget.states - s.budget.tables
	if s.job.Rank() == 0 {
		if err := s.control.set(t.Context(), cellHeapBytes, heap); err != nil {
			return err
		}
	}
	if err := s.job.Barrier(t.Context()); err != nil {
		return err
	}
	states, results := make([]uint64, batch*s.words), make([]set.Result, batch)
	var full *set.FullError
	for n := uint64(s.job.Rank()) << 32; full == nil; {
		for i := range batch {
			n++
			states[3*i], states[3*i+1], states[3*i+2] = n/shared, 1, n
		}
		err := s.visited.insert(states, results, make([]uint64, batch))
		if err != nil && !errors.As(err, &full) {
			return err
		}
		if err := s.visited.leave(t.Context()); err != nil {
			return err
		}
		tables, err := s.tables(t.Context())
		if have := bytesOfTables(s.visited); have+heap > s.budget.states || have > tables {
			t.Fatalf("%q: %d bytes of tables, %d as accounted, beside %d of %+v", s.encoding,
				have, tables, heap, s.budget)
		}
		if err != nil {
			return err
		}
	}
	if err := s.job.Barrier(t.Context()); err != nil {
		return err
	}
	peak, err := s.control.Load(t.Context(), 0, cellPeakTables)
	if peak < s.budget.tables/2 || peak+heap > s.budget.states ||
		full.Memory != nil && full.Memory != set.ErrMayGrow {
		t.Errorf("%q: full with %d bytes of %+v: %v", s.encoding, peak, s.budget, full)
	}
	return errors.Join(err, s.job.Barrier(t.Context()))
}

// bytesOfTables is the memory of the newest tables with as many elements as they may have.
func bytesOfTables(v visited) uint64 {
	switch v := v.(type) {
	case *treeSet:
		return tableBytes(v.buckets(), 0) + tableBytes(v.nodes.Config().Buckets, 1)
	case *elementSet:
		return tableBytes(v.buckets(), 3)
	}
	return tableBytes(v.buckets(), 0)
}

func TestSharedBudget(t *testing.T) {
	for _, mem := range []uint64{0, 100 << 20} {
		var mems [4]uint64
		err := local.Run(4, func(job rma.Job) error {
			c, err := newControl(t.Context(), job, 1, 0)
			if err != nil {
				return err
			}
			// Ranks that measure the available memory at different moments get different amounts.
			own := mem
			if own != 0 {
				own += uint64(job.Rank()) << 20
			}
			s := &search{job: job, control: c}
			b, err := s.shareBudget(t.Context(), own, math.MaxUint64)
			if err == nil {
				mems[job.Rank()] = b.mem
			}
			return errors.Join(err, job.Barrier(t.Context()))
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, m := range mems {
			if m != mems[0] || mem != 0 && m != mem || m == 0 {
				t.Errorf("rank %d has %d bytes, rank 0 %d, given %d", rank, m, mems[0], mem)
			}
		}
	}
}

// A search that is given no memory takes no more than fits into what the engine has for windows,
// which /dev/shm of a container may limit, beside the program.
func TestBudgetFitsIntoRoom(t *testing.T) {
	const room = 64 << 20
	b, err := newBudget(0, room, 2)
	if err != nil || b.states > room || b.states < room/2 {
		t.Errorf("of %d bytes of room the budget takes %+v, %v", uint64(room), b, err)
	}
}

// Where there is no room for windows the error says so.
func TestNoRoomForWindows(t *testing.T) {
	_, err := newBudget(0, 1<<20, 2)
	if err == nil || !strings.Contains(err.Error(), "1.0 MiB for windows (/dev/shm") {
		t.Error(err)
	}
}

// cramped is a job that has little room for windows.
type cramped struct {
	rma.Job
	room uint64
}

func (c cramped) Room() uint64 { return c.room }

// A search that is given more memory than windows have room for plans with less, and says so before
// it begins.
func TestMemAboveRoom(t *testing.T) {
	for _, try := range []struct {
		mem, room uint64
		whole     bool
		warning   string
	}{
		{1 << 30, 64 << 20, false, "of 1.0 GiB of memory the search can use 99.2 MiB, as the " +
			"engine has 64.0 MiB for windows (/dev/shm if ranks are processes of a host)"},
		{1 << 30, 64 << 20, true, "of 1.0 GiB of memory the search can use "},
		{1 << 30, 1 << 31, true, ""}, {50 << 20, 64 << 20, false, ""},
	} {
		var said, planned string
		err := local.Run(2, func(job rma.Job) error {
			opts := Options{Mem: try.mem, MemWhole: try.whole,
				Warn: func(err error) { said += err.Error() }}
			if job.Rank() == 0 {
				opts.Progress = func(s Snapshot) { planned = memory.Format(s.Plan.Mem) }
			}
			res, err := Run(t.Context(), cramped{job, try.room}, single{}, opts)
			if err == nil && !res.Complete {
				t.Error(res.Reason)
			}
			return err
		})
		if err != nil || !strings.Contains(said, try.warning) ||
			(said == "") != (try.warning == "") ||
			said != "" && !strings.Contains(said, "can use "+planned+",") ||
			said == "" && planned != memory.Format(try.mem) {
			t.Errorf("%+v: error %v, warning %q, plan %s", try, err, said, planned)
		}
	}
	_, err := (&budget{mem: 1 << 30, states: 900 << 20}).fit(1 << 20)
	if err == nil || !strings.Contains(err.Error(), "1.0 MiB for windows (/dev/shm") {
		t.Errorf("no room at all: error %v", err)
	}
}
