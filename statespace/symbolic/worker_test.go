package symbolic

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// The marks of the package: rare branches that tests must reach.
var (
	resultIsRead   = mark.Named("symbolic: begin has read a result")
	resultReplaced = mark.Named("symbolic: a result is replaced while it is read")
	resultLost     = mark.Named("symbolic: a result is lost to another one")
	resultWritten  = mark.Named("symbolic: a result is about to be complete")
)

func TestMain(m *testing.M) { os.Exit(mark.Main(m, "symbolic: ", os.Stderr)) }

// sharedCache is a worker whose cache several share, and two keys with one entry and fingerprint.
func sharedCache(t *testing.T) (w *worker, a, b key) {
	s := newTester(t, Config{}, 1).s
	s.cache.shared = true
	w = s.workers[0]
	a, b = keyOf(opFire, 2, 1, 0), keyOf(opFire, 2, 2, 0)
	for (a.hash^b.hash)%uint64(len(w.entries)) != 0 ||
		fingerprint(a.hash) != fingerprint(b.hash) {
		b = keyOf(opFire, 2, b.b+1, 0)
	}
	return w, a, b
}

// wants fails unless the cache has a result, or none where it is Empty.
func wants(t *testing.T, w *worker, k key, want Node) {
	t.Helper()
	if n, ok := w.begin(&k); n != want || ok != (want != Empty) {
		t.Errorf("the result of %v is %d, %v; not %d", k, n, ok, want)
	}
}

// TestResultIsWritten: a result that is being written is not there yet, and no other one takes its
// place.
func TestResultIsWritten(t *testing.T) {
	mark.Need(t)
	resultLost.Claim(t)
	resultWritten.Claim(t)
	w, a, b := sharedCache(t)
	w.put(&b, 7)
	resultWritten.Intercept(t, func() {
		wants(t, w, a, Empty)
		wants(t, w, b, Empty)
		w.put(&b, 9)
	})
	w.put(&a, 8)
	wants(t, w, a, 8)
	wants(t, w, b, Empty)
}

// TestResultIsReplaced: who reads a result while others write two to its entry finds none, even if
// the last one is of the same operation.
func TestResultIsReplaced(t *testing.T) {
	mark.Need(t)
	resultIsRead.Claim(t)
	resultReplaced.Claim(t)
	w, a, b := sharedCache(t)
	w.put(&a, 7)
	intercepted := false
	resultIsRead.Intercept(t, func() {
		if !intercepted {
			intercepted = true
			w.put(&b, 9)
			w.put(&a, 8)
		}
	})
	wants(t, w, a, Empty)
	wants(t, w, a, 8)
}

// TestTask: a call is made by another worker, and its result is kept until it is joined.
func TestTask(t *testing.T) {
	x := newTester(t, Config{Goroutines: 2, eager: true}, 1)
	a, na := x.random(30)
	b, nb := x.random(30)
	n, err := x.s.do(func(w *worker) Node {
		w.callHelpers()
		forked := w.fork(opUnion, na, uint64(nb), 0, 0)
		task := &w.tasks[0]
		isDone := func() bool {
			w.crew.mu.Lock()
			defer w.crew.mu.Unlock()
			return task.state == done
		}
		for !isDone() {
			w.attend()
			runtime.Gosched()
		}
		w.collectKeeping(Empty, Empty)
		n, ok := w.join(forked)
		if !ok {
			t.Error("the call was not made")
		}
		return n
	})
	x.same("union", n, err, a.with(b))
	if w := x.s.workers[1]; w.lookups == 0 || !w.mirrored || x.s.workers[0].mirrored {
		t.Error("the other worker has done nothing, or both begin at the same end of a list")
	}
}

// yielding has goroutines wait at random where they share something: in the middle of a write, a
// read or an insertion. It needs marks.
func yielding(t *testing.T, seed uint64) {
	rng, mu := rand.New(rand.NewPCG(seed, 4)), sync.Mutex{}
	for _, m := range []*mark.Mark{resultIsRead, resultWritten,
		mark.Named("set: Pairs is about to claim a bucket")} {
		m.Intercept(t, func() {
			mu.Lock()
			n := max(0, rng.IntN(40)-30)
			mu.Unlock()
			for range n {
				runtime.Gosched()
			}
		})
	}
}

// TestLabGoroutines compares what several goroutines make of random sets with plain sets, under
// random schedules, with garbage that is collected all the time or never. Then the store must be
// whole.
func TestLabGoroutines(t *testing.T) {
	for seed := range uint64(20) {
		pace := []uint64{0, 40}[seed%2]
		x := newTester(t, Config{pace: pace, Goroutines: 2 + int(seed%3), eager: true}, seed)
		yielding(t, seed)
		a, na := x.random(120)
		b, nb := x.random(120)
		n, err := x.s.Union(na, nb)
		x.same("union", n, err, a.with(b))
		n, err = x.s.Minus(na, nb)
		x.same("difference", n, err, a.filter(func(v vector) bool { return !b[v] }))
		from := vectors{{2, 1, 1, 2}: true, {4, 0, 3, 0}: true}
		all, many := [][]Step{x.moves(), x.moves(), x.moves()}, []Transition(nil)
		for _, steps := range all {
			many = append(many, x.transition(steps))
		}
		start, want := x.held(x.nodeOf(from), nil), search(from, all)
		for _, strategy := range Strategies() {
			n, err := x.s.Reach(start, many, strategy)
			x.same(string(strategy), n, err, want)
		}
		must(t, x.s.elements.Check(t.Context()))
	}
}
