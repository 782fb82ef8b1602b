package rmatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
)

// Starter runs fn on every rank of a new job at the same time, all of them in this process, and
// waits for them. Where ranks fail it returns what [OwnError] does.
type Starter func(ranks int, fn func(job rma.Job) error) error

// maxWait ends tests that hang, by the time of patience. No test that passes takes nearly as long.
const maxWait = 2 * time.Minute

// rankCounts are the sizes of the jobs.
var rankCounts = []int{1, 2, 4}

// queueDepth is the depth of the queue that every rank gets.
const queueDepth = 64

// Limit is something that an engine cannot do. Tests that need it are skipped.
type Limit int

// OneGoroutine: a rank is one goroutine, and waits only in calls of the engine, as in a
// simulation.
const OneGoroutine Limit = 1

// manyGoroutines are the tests in which a rank starts goroutines that use the engine.
var manyGoroutines = map[string]bool{"CellsTogether": true, "CloseEndsWaiting": true}

// skipBeyond skips a test that an engine with these limits cannot run.
func skipBeyond(t *testing.T, limits []Limit, name string) {
	t.Helper()
	if manyGoroutines[name] && slices.Contains(limits, OneGoroutine) {
		t.Skip("a rank of this engine is one goroutine")
	}
}

// Test checks an engine, as subtests of t. With -short it does so with the most ranks alone.
func Test(t *testing.T, start Starter, limits ...Limit) {
	counts := rankCounts
	if testing.Short() {
		counts = counts[len(counts)-1:]
	}
	for _, ranks := range counts {
		t.Run(fmt.Sprintf("ranks=%d", ranks), func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					skipBeyond(t, limits, c.name)
					if ranks < c.minRanks {
						t.Skipf("needs %d ranks", c.minRanks)
					}
					if err := start(ranks, c.onRank); err != nil {
						t.Error(err)
					}
				})
			}
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) {
					skipBeyond(t, limits, s.name)
					s.run(t, start, ranks)
				})
			}
		})
	}
}

// testCase is a test whose ranks all do the same. It passes if no rank returns an error.
type testCase struct {
	name     string
	minRanks int
	words    int // of each segment of the window r.w
	run      func(r *rank) error
}

var cases = []testCase{
	{"Zeroed", 1, 1, zeroed},
	{"Shape", 1, 10, shape},
	{"Ranges", 1, 4 * rangeWords, ranges},
	{"PutIsVisible", 1, 2 + messageWords, putIsVisible},
	{"OrderInQueue", 1, 4, orderInQueue},
	{"LongInOrder", 1, 4 * longWords, longInOrder},
	{"HandlesAreReused", 1, queueDepth, handlesAreReused},
	{"Done", 1, 4, done},
	{"Reserved", 1, 1, reserved},
	{"ManyWindows", 1, 1, manyWindows},
	{"ClosedByOne", 2, 4, closedByOne},

	{"OneWinner", 1, 3 * contended, oneWinner},
	{"SwapReturnsWhatWasThere", 1, 4, swapReturnsWhatWasThere},
	{"SumIsExact", 1, 2, sumIsExact},
	{"TicketsAreDistinct", 1, 1 + 4*tickets, ticketsAreDistinct},
	{"CPUAtomicsTakePart", 1, 2, cpuAtomicsTakePart},
	{"WordsAreTheSameMemory", 1, 8, wordsAreTheSameMemory},
	{"Flat", 1, 12, flat},
	{"Requests", 1, 1, requests},

	{"BarrierSeparates", 1, 1, barrierSeparates},
	{"Cells", 1, 4, cells},
	{"CellsTogether", 1, 2, cellsTogether},
	{"CellsAfterCancel", 1, 1, cellsAfterCancel},
	{"AgreeOnTheSame", 1, 1, agreeOnTheSame},
	{"AllSucceeded", 1, 1, allSucceeded},
	{"BadSpecs", 1, 1, badSpecs},
	{"CancelledBarrier", 2, 1, cancelledBarrier},
	{"AfterClose", 1, 1, afterClose},

	{"Run", 1, 2, runOne},
	{"RunAll", 1, 2, runMany},
	{"RunAllEndsWithError", 1, 2, runAllEndsWithError},
	{"RunEndsWithContext", 1, 2, runEndsWithContext},
	{"Stats", 1, 16, stats},
	{"OutsideWindowPanics", 1, 8, outsideWindowPanics},
	{"MisusePanics", 1, 1, misusePanics},

	{"Random", 1, randomBlocks * blockWords, randomOperations},
}

// scenario is a test whose ranks do different things or fail on purpose.
type scenario struct {
	name string
	run  func(t *testing.T, start Starter, ranks int)
}

var scenarios = []scenario{
	{"SpecMismatch", specMismatch},
	{"AgreeOnDifferent", agreeOnDifferent},
	{"OneFailed", oneFailed},
	{"RankReturnsEarly", rankReturnsEarly},
	{"RankLeavesAfterBarrier", rankLeavesAfterBarrier},
	{"CloseEndsWaiting", closeEndsWaiting},
}

// rank is what a test case uses on one rank.
type rank struct {
	job  rma.Job
	ctx  context.Context
	q    rma.Queue
	w    rma.Window
	me   int
	size int
}

// onRank prepares a rank, runs the test case on it and cleans up.
func (c testCase) onRank(job rma.Job) (err error) {
	ctx, cancel := patience.WithTimeout(context.Background(), maxWait)
	defer cancel()
	w, err := job.NewWindow(ctx, rma.Spec{Name: "conformance: " + c.name, Words: c.words})
	if err != nil {
		return err
	}
	q, err := job.NewQueue(queueDepth)
	if err != nil {
		return err
	}
	r := &rank{job: job, ctx: ctx, q: q, w: w, me: job.Rank(), size: job.Size()}
	if err := c.run(r); err != nil {
		return fmt.Errorf("rank %d of %d: %w", r.me, r.size, err)
	}
	return errors.Join(q.Close(), w.Close())
}

func (r *rank) barrier() error { return r.job.Barrier(r.ctx) }

// finish submits what was posted and takes the result of h.
func (r *rank) finish(h rma.Handle) (uint64, error) { return finish(r.ctx, r.q, h) }

func finish(ctx context.Context, q rma.Queue, h rma.Handle) (uint64, error) {
	if err := q.Submit(); err != nil {
		return 0, err
	}
	if err := q.Wait(ctx, h); err != nil {
		return 0, err
	}
	return q.Value(h)
}

// get returns words of a segment.
func (r *rank) get(w rma.Window, rank, off, words int) (rma.Buf, error) {
	buf, err := r.q.Alloc(words)
	if err != nil {
		return nil, err
	}
	_, err = r.finish(r.q.Get(buf, w, rank, off))
	return buf, err
}

// put writes words to a segment.
func (r *rank) put(w rma.Window, rank, off int, words ...uint64) error {
	buf, err := r.q.Alloc(len(words))
	if err != nil {
		return err
	}
	copy(buf, words)
	_, err = r.finish(r.q.Put(buf, w, rank, off))
	return err
}

// expect compares the words of a segment with those that it must hold.
func (r *rank) expect(w rma.Window, rank, off int, want ...uint64) error {
	got, err := r.get(w, rank, off, len(want))
	if err != nil {
		return err
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("word %d of rank %d is %d, want %d", off+i, rank, got[i], want[i])
		}
	}
	return nil
}

// panics reports whether fn does.
func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}
