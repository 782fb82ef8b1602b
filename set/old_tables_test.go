package set

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// watchTables tells, for each table of a space but the last, when its memory was given back.
func watchTables(sp *space) []<-chan struct{} {
	all := make([]<-chan struct{}, len(sp.tables)-1)
	for gen := range all {
		closed, give := make(chan struct{}), sp.tables[gen].close
		all[gen] = closed
		sp.tables[gen].close = sync.OnceValue(func() error {
			close(closed)
			return give()
		})
	}
	return all
}

// collectUntil has the garbage collector run until the memory of a table is given back. If it never
// is, the test does not end.
func collectUntil(closed <-chan struct{}) {
	for {
		runtime.GC()
		select {
		case <-closed:
			return
		default:
			runtime.Gosched()
		}
	}
}

// TestMemoryOfOldTables has goroutines of all ranks use a set that grows, while the garbage
// collector runs all the time: memory that a late call uses must not be given back, or the test
// ends with a fault. What nobody uses is given back.
func TestMemoryOfOldTables(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	for e := range allEngines {
		if e == engineLate || e == engineSimulated {
			continue // slow
		}
		t.Run(e.String(), func(t *testing.T) {
			jobs := ranksOf(t, e, 2)
			t.Run("words", func(t *testing.T) { oldWordTables(t, e, jobs) })
			t.Run("elements", func(t *testing.T) { oldElementTables(t, e, jobs) })
		})
	}
}

// collecting runs the garbage collector until stopped.
func collecting() (stop func()) {
	var ended atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		for !ended.Load() {
			runtime.GC()
		}
	})
	return func() { ended.Store(true); running.Wait() }
}

func oldWordTables(t *testing.T, e engine, jobs []rma.Job) {
	c := newContention(2, 2)
	cfg := growing(c, lineHomes)
	cfg.Access = e.access()
	sets, err := newSets(jobs, cfg)
	must(t, err)
	var closed []<-chan struct{}
	for _, s := range sets {
		closed = append(closed, watchTables(s.space)[:1]...)
	}
	stop := collecting()
	must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
		err := insertWords(sets[rank], wordOfID, ids, results)
		for _, id := range ids[:1] {
			if there, errFind := sets[rank].Contains(wordOfID(id)); !there && err == nil {
				err = fmt.Errorf("word %d is not found: %w", id, errFind)
			}
		}
		return err
	}))
	stop()
	must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
	for _, s := range sets {
		settled, err := s.settle(t.Context())
		must(t, err)
		if settled[0].gen == 0 {
			t.Fatal("the set has its first table")
		}
	}
	for i := range closed {
		collectUntil(closed[i])
	}
	runtime.KeepAlive(sets)
}

func oldElementTables(t *testing.T, e engine, jobs []rma.Job) {
	c := newContention(2, 2)
	cfg := BytesConfig{ElementBytes: 12, Capacity: uint64(c.elements) + 1024,
		Config: growing(c, lineHomes)}
	cfg.MaxBytes += cfg.Capacity * 16
	cfg.Access = e.access()
	sets, err := newElements(jobs, cfg)
	must(t, err)
	var closed []<-chan struct{}
	for _, s := range sets {
		closed = append(closed, watchTables(s.space)[:1]...)
	}
	stop := collecting()
	var names sync.Map
	must(t, c.run(func(rank, _ int, ids []int, results []Result) error {
		return insertElements(sets[rank], &names, ids, results)
	}))
	stop()
	must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
	for i := range closed {
		collectUntil(closed[i])
	}
	runtime.KeepAlive(sets)
}

// lateCallKeepsTable: while a call is in a table, others move it and begin at the next one. The
// memory stays until the call has ended, and is given back then.
func lateCallKeepsTable(t *testing.T) {
	mark.Need(t)
	for _, e := range []engine{engineDirect, engineHosts} {
		claimsWord.Claim(t)
		sets, err := newSets(ranksOf(t, e, 2), Config{Buckets: 64, MaxBytes: 64 * 64,
			variant: by(kernelPortable)})
		must(t, err)
		s := sets[0]
		closed := watchTables(s.space)[0]
		word := wordsWithHomes(1, []uint64{0})[0]
		visited := false
		claimsWord.Intercept(t, func() {
			if visited {
				return
			}
			visited = true
			for s.oldest.Load().gen == 0 {
				_, err := s.oldest.Load().help(1, true)
				must(t, err)
			}
			for range 10 { // enough for the memory of a table that no call uses
				runtime.GC()
				runtime.Gosched()
			}
			select {
			case <-closed:
				t.Errorf("%v: the memory of the table is given back while a call uses it", e)
			default:
			}
		})
		if r, err := s.FindOrPut(word); r != Inserted || err != nil {
			t.Errorf("%v: the late call is %v, %v", e, r, err)
		}
		collectUntil(closed)
		if there, err := s.Contains(word); !there || err != nil || !visited {
			t.Errorf("%v: the word is there: %v, %v", e, there, err)
		}
	}
}

// TestSpansOfAllTablesAreAlike: a search continues in the next table in the span of the
// same ranks, and a piece moves by the same means, so that all tables must be reached alike.
func TestSpansOfAllTablesAreAlike(t *testing.T) {
	for e := range allEngines {
		if e == engineSimulated {
			continue // as engineHidden
		}
		for _, ranks := range []int{1, 2, 3, 4} {
			sets, err := newSets(ranksOf(t, e, ranks), Config{Buckets: 64,
				MaxBytes: 1 << 20, Access: e.access()})
			must(t, err)
			for _, s := range sets {
				alike(t, e, s.space)
			}
		}
	}
}

func alike(t *testing.T, e engine, sp *space) {
	t.Helper()
	first := sp.oldest.Load()
	if len(sp.tables) < 3 {
		t.Fatalf("%v: there are %d tables", e, len(sp.tables))
	}
	for gen := 1; gen < len(sp.tables); gen++ {
		next := sp.newTable(gen)
		same := (first.flat == nil) == (next.flat == nil) && first.whole == next.whole
		for rank, v := range first.spans {
			w := next.spans[rank]
			same = same && (v == nil) == (w == nil)
			if v == nil || w == nil {
				continue
			}
			same = same && v.rank == w.rank && v.whole == w.whole &&
				v.first/first.perRank == w.first/next.perRank &&
				uint64(len(v.flat))/first.perRank == uint64(len(w.flat))/next.perRank
		}
		for hash := uint64(1); hash != 0; hash <<= 1 {
			same = same && first.owner(hash) == next.owner(hash) &&
				next.home(hash)/next.perRank == uint64(next.owner(hash))
		}
		if same = same && next.last == (gen == len(sp.tables)-1); !same {
			t.Errorf("%v: table %d has spans that table 0 has not", e, gen)
		}
	}
}
