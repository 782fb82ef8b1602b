package petri_test

import (
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

func pow(b, n int) int {
	p := 1
	for range n {
		p *= b
	}
	return p
}

// shape is what the closed forms say of a net.
type shape struct {
	places, transitions, states, arcs, deadlocks, depth int
	tokens                                              int64 // most in one marking
}

func checkShape(t *testing.T, n *petri.Net, err error, want shape) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	res, err := naive.Explore(n, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	got := shape{len(n.Places), len(n.Transitions), res.States, res.Arcs, res.Deadlocks,
		res.Depth, res.MaxTokensMarking}
	if got != want || !res.Complete || res.MaxTokensPlace != 1 {
		t.Errorf("%s:\ngot  %+v\nwant %+v\nof   %+v", n.Name, got, want, res)
	}
}

func TestPhilosophers(t *testing.T) {
	for n := 2; n <= 9; n++ {
		net, err := petri.Family("philosophers", n)
		checkShape(t, net, err, shape{
			places: 5 * n, transitions: 5 * n,
			states: pow(3, n), arcs: 7 * n * pow(3, n-2),
			deadlocks: 2, depth: n, tokens: int64(2 * n),
		})
	}
}

func TestRWMutex(t *testing.T) {
	for r := 1; r <= 7; r++ {
		for w := range 5 {
			net, err := petri.RWMutex(r, w)
			checkShape(t, net, err, shape{
				places: 3*r + 2*w, transitions: 2*r + 2*w,
				states: pow(2, r) + w, arcs: r*pow(2, r) + 2*w,
				depth: r, tokens: int64(2*r + w),
			})
		}
	}
}

func TestReferendum(t *testing.T) {
	for n := 1; n <= 8; n++ {
		net, err := petri.Family("referendum", n)
		checkShape(t, net, err, shape{
			places: 3*n + 1, transitions: 2*n + 1,
			states: pow(3, n) + 1, arcs: 2*n*pow(3, n-1) + 1,
			deadlocks: pow(2, n), depth: n + 1, tokens: int64(n),
		})
	}
}

func TestDekker(t *testing.T) {
	for n := 1; n <= 10; n++ {
		net, err := petri.Family("dekker", n)
		checkShape(t, net, err, shape{
			places: 5 * n, transitions: n*n + 2*n,
			// n*2^(n-3) need not be whole, n*2^n*(n^2+3n+4)/8 is.
			states: pow(2, n) * (n + 2) / 2, arcs: n + n*pow(2, n)*(n*n+3*n+4)/8,
			depth: n + 1, tokens: int64(2 * n),
		})
	}
}

func TestFamilySizes(t *testing.T) {
	for name, sizes := range map[string][2]int{ // least and most
		"philosophers": {2, 100_000}, "rwmutex": {1, 1000}, "referendum": {1, 100_000},
		"dekker": {1, 500}, "kanban": {1, min(petri.MaxTokens, math.MaxInt)},
		"walker": {2, 10_000},
	} {
		n, err := petri.Family(name, sizes[0])
		if err != nil {
			t.Errorf("%s(%d): %v", name, sizes[0], err)
		} else if err := n.Check(); err != nil {
			t.Errorf("%s(%d): %v", name, sizes[0], err)
		}
		for _, size := range []int{-1, sizes[0] - 1, sizes[1] + 1, sizes[1] << 8} {
			_, err := petri.Family(name, size)
			if err == nil || !strings.Contains(err.Error(), "must be") {
				t.Errorf("%s(%d): got the error %v", name, size, err)
			}
		}
		if testing.Short() {
			continue
		}
		if n, err := petri.Family(name, sizes[1]); err != nil {
			t.Errorf("%s(%d): %v", name, sizes[1], err)
		} else if err := n.Check(); err != nil {
			t.Errorf("%s(%d): %v", name, sizes[1], err)
		}
	}
	if _, err := petri.RWMutex(1, -1); err == nil {
		t.Error("RWMutex(1, -1) gives no error")
	}
}

func TestFamilyNames(t *testing.T) {
	_, err := petri.Family("dining", 3)
	if err == nil {
		t.Fatal("no error for a family that does not exist")
	}
	for _, name := range petri.FamilyNames() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
		if _, err := petri.Family(name, 3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	n, err := petri.Family("rwmutex", 3)
	if err != nil || n.Name != "RwMutex-r3-w3" {
		t.Errorf("rwmutex 3 is %+v, %v", n, err)
	}
}

func TestKanbanIsTheNetOfTheContest(t *testing.T) {
	for i, states := range []int{160, 4600, 58400} {
		net, err := petri.Family("kanban", i+1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := naive.Explore(net, 100_000)
		if err != nil || int(got.States) != states || got.Deadlocks != 0 {
			t.Errorf("kanban(%d) has %d states and %d deadlocks (%v); want %d and none",
				i+1, got.States, got.Deadlocks, err, states)
		}
	}
}

// On a ring of up to 13 anchorages each is within reach of any other, so that the walker may have
// used up any of them.
func TestWalker(t *testing.T) {
	for n := 2; n <= 10; n++ {
		net, err := petri.Family("walker", n)
		if err != nil {
			t.Fatal(err)
		}
		blocked := n / 4
		intact := n - 1 - blocked
		states := pow(3, blocked)
		if intact > 0 {
			states += pow(3, blocked) * intact * pow(2, intact-1)
		}
		if blocked > 0 {
			states += blocked * pow(3, blocked-1) * pow(2, intact)
		}
		got, err := naive.Explore(net, 1_000_000)
		if err != nil || got.States != states || got.MaxTokensPlace != 2 ||
			len(net.Places) != n+blocked || len(net.Transitions) != n*(n-1)+2*blocked {
			t.Errorf("walker(%d): %+v, %v; want %d states", n, got, err, states)
		}
	}
	for _, n := range []int{13, 14, 15, 40} { // 6 steps lead to either side from 13 on
		net, err := petri.Family("walker", n)
		if err != nil || len(net.Transitions) != 12*n+2*(n/4) {
			t.Errorf("walker(%d): %v; want %d transitions", n, err, 12*n+2*(n/4))
		}
	}
}
