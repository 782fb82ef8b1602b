package mark

import (
	"sync"
	"sync/atomic"
)

// Mark is a branch of the code.
type Mark struct {
	name    string
	placed  bool // the code has it
	hits    atomic.Uint64
	claimed atomic.Bool
	visitor atomic.Pointer[func()]
}

// all are the marks of the program, in the order in which they were made.
var all struct {
	sync.Mutex
	marks []*Mark
}

// New makes a mark, in the code. Names begin with the package: "set: a chunk wraps".
func New(name string) *Mark {
	m := Named(name)
	m.placed = true
	return m
}

// Named is the mark of that name, for tests.
func Named(name string) *Mark {
	all.Lock()
	defer all.Unlock()
	for _, m := range all.marks {
		if m.name == name {
			return m
		}
	}
	m := &Mark{name: name}
	all.marks = append(all.marks, m)
	return m
}

// Need skips a test that needs marks where there are none.
func Need(t interface{ Skip(args ...any) }) {
	if !InPlace {
		t.Skip("marks are in place with go run ./internal/testkit/overlay, as in make test-lab")
	}
}

// String is the name of the mark.
func (m *Mark) String() string { return m.name }

// Hit says that the branch was reached.
func (m *Mark) Hit() {
	m.hits.Add(1)
	if visit := m.visitor.Load(); visit != nil {
		(*visit)()
	}
}

// Hits is how often the branch was reached so far.
func (m *Mark) Hits() uint64 { return m.hits.Load() }

// Test is what is needed of a testing.TB.
type Test interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Failed() bool
	Skipped() bool
}

// Claim has t fail at its end if the branch has not been reached since, unless it ran for one
// seed only (the flag -seed of package replay).
func (m *Mark) Claim(t Test) {
	t.Helper()
	if !m.placed {
		if InPlace {
			t.Errorf("no branch has the mark %q", m.name)
		}
		return
	}
	before := m.Hits()
	t.Cleanup(func() {
		switch {
		case m.Hits() > before:
			m.claimed.Store(true)
		case !t.Failed() && !t.Skipped() && !oneSeed():
			t.Errorf("this test was to reach %q, and did not", m.name)
		}
	})
}

// Intercept calls visit each time that the branch is reached, in the goroutine that reaches it,
// until t ends. So a test has something happen at that very place. There is one visit at a time:
// what gets there during a visit, as the visit itself may, does not visit. A test that needs it
// calls [Need].
func (m *Mark) Intercept(t Test, visit func()) {
	var visiting atomic.Bool
	outermost := func() {
		if visiting.CompareAndSwap(false, true) {
			visit()
			visiting.Store(false)
		}
	}
	m.visitor.Store(&outermost)
	t.Cleanup(func() { m.visitor.Store(nil) })
}

// Unclaimed are the marks that no test has claimed and reached.
func Unclaimed() []string {
	all.Lock()
	defer all.Unlock()
	var names []string
	for _, m := range all.marks {
		if m.placed && !m.claimed.Load() {
			names = append(names, m.name)
		}
	}
	return names
}
