package check_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// move is an arc of a table.
type move struct {
	action string
	to     uint8
}

// table is a model of states that are numbers.
type table struct {
	moves [][]move
	first []uint8
	p, q  []bool
	fair  []string // weakly
	must  []string // strongly
}

func randomTable(rng *rand.Rand) *table {
	n := 1 + rng.IntN(12)
	t := &table{first: []uint8{0}}
	actions := []string{"a", "b", "c"}
	switch n := rng.IntN(4); rng.IntN(3) {
	case 0:
		t.fair = actions[:n]
	case 1:
		t.must = actions[:n]
	default:
		t.fair, t.must = actions[:n], actions[n:]
	}
	if rng.IntN(3) == 0 {
		t.first = append(t.first, uint8(rng.IntN(n)))
	}
	rare, ends := 1+rng.IntN(4), rng.IntN(3) == 0
	for s := range n {
		var moves []move
		for range rng.IntN(4) {
			moves = append(moves, move{actions[rng.IntN(3)], uint8(rng.IntN(n))})
		}
		if len(moves) == 0 && !ends {
			moves = append(moves, move{"c", uint8(s)})
		}
		t.moves = append(t.moves, moves)
		t.p = append(t.p, rng.IntN(rare) == 0)
		t.q = append(t.q, rng.IntN(rare) == 0)
	}
	return t
}

func (t *table) model() check.Model[uint8] {
	p := func(s uint8) bool { return t.p[s] }
	q := func(s uint8) bool { return t.q[s] }
	return check.Model[uint8]{Name: "table", Init: t.first, Deadlocks: true, Fair: t.fair,
		StronglyFair: t.must, Next: func(s uint8, emit func(string, uint8)) {
			for _, m := range t.moves[s] {
				emit(m.action, m.to)
			}
		},
		Properties: []check.Property[uint8]{check.Eventually("eventually", p),
			check.AlwaysEventually("again", p), check.LeadsTo("leads", p, q)}}
}

func (t *table) enabled(s uint8, action string) bool {
	return slices.ContainsFunc(t.moves[s], func(m move) bool { return m.action == action })
}

// reached are the states that are reached from some within others.
func (t *table) reached(from []uint8, within func(s uint8) bool) map[uint8]bool {
	all := map[uint8]bool{}
	var visit func(s uint8)
	visit = func(s uint8) {
		if all[s] || !within(s) {
			return
		}
		all[s] = true
		for _, m := range t.moves[s] {
			visit(m.to)
		}
	}
	for _, s := range from {
		visit(s)
	}
	return all
}

// fairWithin reports whether a fair path begins in one of some states and stays within others.
func (t *table) fairWithin(from []uint8, within func(s uint8) bool) bool {
	for s := range t.reached(from, within) {
		if len(t.moves[s]) == 0 {
			return true
		}
		part := map[uint8]bool{} // the states that lead here and are reached from here
		for u := range t.reached([]uint8{s}, within) {
			if t.reached([]uint8{u}, within)[s] {
				part[u] = true
			}
		}
		arcs, fair := 0, map[string]bool{}
		for u := range part {
			for _, action := range t.fair {
				fair[action] = fair[action] || !t.enabled(u, action)
			}
			for _, m := range t.moves[u] {
				if part[m.to] {
					arcs++
					fair[m.action] = true
				}
			}
		}
		if arcs == 0 || slices.ContainsFunc(t.fair, func(a string) bool { return !fair[a] }) {
			continue
		}
		unmet := func(a string) bool { return !fair[a] && t.can(part, a) }
		i := slices.IndexFunc(t.must, unmet)
		if i < 0 {
			return true
		}
		// A fair path that stays in part stays where the action cannot be taken.
		cannot := func(u uint8) bool { return part[u] && !t.enabled(u, t.must[i]) }
		if t.fairWithin(slices.Collect(maps.Keys(part)), cannot) {
			return true
		}
	}
	return false
}

// can reports whether an action can be taken in one of some states.
func (t *table) can(states map[uint8]bool, action string) bool {
	for s := range states {
		if t.enabled(s, action) {
			return true
		}
	}
	return false
}

// want are the answers to eventually, again and leads.
func (t *table) want() [3]bool {
	notP := func(s uint8) bool { return !t.p[s] }
	notQ := func(s uint8) bool { return !t.q[s] }
	var all, starts []uint8
	for s := range t.reached(t.first, func(uint8) bool { return true }) {
		all = append(all, s)
		if t.p[s] && !t.q[s] {
			starts = append(starts, s)
		}
	}
	return [3]bool{!t.fairWithin(t.first, notP), !t.fairWithin(all, notP),
		!t.fairWithin(starts, notQ)}
}

// shows verifies the path of a violation.
func (t *table) shows(r *check.Result[uint8]) string {
	n := len(r.Path)
	if n == 0 || !slices.Contains(t.first, r.Path[0].State) {
		return "no beginning"
	}
	for i, step := range r.Path[1:] {
		if !slices.Contains(t.moves[r.Path[i].State], move{step.Action, step.State}) {
			return "a step that is none"
		}
	}
	loop := r.Path[n-1:]
	if r.Back >= 0 {
		if loop = r.Path[r.Back:]; len(loop) < 2 || loop[0].State != loop[len(loop)-1].State {
			return "no loop"
		}
		for _, action := range t.fair {
			if !slices.ContainsFunc(loop[1:], func(s check.Step[uint8]) bool {
				return s.Action == action || !t.enabled(s.State, action)
			}) {
				return "a loop that is not fair"
			}
		}
		for _, action := range t.must {
			takes := func(s check.Step[uint8]) bool { return s.Action == action }
			can := func(s check.Step[uint8]) bool { return t.enabled(s.State, action) }
			if slices.ContainsFunc(loop, can) && !slices.ContainsFunc(loop[1:], takes) {
				return "a loop that is not strongly fair"
			}
		}
	} else if len(t.moves[loop[0].State]) > 0 {
		return "an end that is none"
	}
	has := func(of []bool, steps []check.Step[uint8]) bool {
		return slices.ContainsFunc(steps, func(s check.Step[uint8]) bool { return of[s.State] })
	}
	switch r.Shown {
	case "eventually":
		if has(t.p, r.Path) {
			return "p on the path"
		}
	case "again":
		if has(t.p, loop) {
			return "p in the loop"
		}
	default:
		last := -1 // the last p after which there is no q
		for i, step := range r.Path {
			if t.q[step.State] {
				last = -1
			} else if t.p[step.State] {
				last = i
			}
		}
		if has(t.q, loop) || last < 0 {
			return "no p without a q afterwards"
		}
	}
	return ""
}

// machine is ranks on a host, or on several, or with memory that no other rank addresses.
type machine struct {
	ranks int
	local.Options
}

var machines = []machine{{ranks: 1}, {ranks: 2}, {ranks: 4}, {2, local.Options{Hidden: true}},
	{4, local.Options{Hosts: 2, Carries: true}}}

// checked is what one rank of several gets.
func checked[S any](t *testing.T, ranks int, m check.Model[S]) *check.Result[S] {
	t.Helper()
	return checkedOn(t, machine{ranks: ranks}, m)
}

func checkedOn[S any](t *testing.T, on machine, m check.Model[S]) *check.Result[S] {
	t.Helper()
	var first *check.Result[S]
	err := local.RunWith(on.Options, on.ranks, func(job rma.Job) error {
		r, err := check.Run(t.Context(), job, m, check.Options{Mem: 64 << 20})
		if job.Rank() == 0 {
			first = r
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// Properties along paths are answered as an explicit graph answers them, with a path that shows it.
func TestPathsOfRandomTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	cases := map[string]int{}
	for i := range replay.Often(200, 600) {
		x := randomTable(rng)
		m := x.model()
		want := x.want()
		order := rng.Perm(3) // the first that is violated is shown
		all := m.Properties
		m.Properties = nil
		for _, k := range order {
			m.Properties = append(m.Properties, all[k])
		}
		r := checkedOn(t, machines[i%len(machines)], m)
		for k, v := range r.Properties {
			stopped := r.Reason == explore.Decided && r.Violated() // by a walk, of another one
			unknown := v.Verdict == logic.Unknown && stopped
			if (v.Verdict == logic.True) != want[order[k]] && !unknown {
				t.Fatalf("table %d %+v: %+v, want %v", i, x, v, want[order[k]])
			}
			cases[v.Name+" "+v.Verdict.String()]++
		}
		if r.Violated() {
			if wrong := x.shows(r); wrong != "" {
				t.Fatalf("table %d %+v: %s: %s", i, x, wrong, r.Report())
			}
			if r.Back >= 0 {
				cases["loop"]++
			} else {
				cases["end"]++
			}
		}
	}
	t.Log(cases)
	if testing.Short() {
		return // there are fewer tables
	}
	for _, what := range []string{"eventually true", "eventually false", "again true",
		"again false", "leads true", "leads false", "loop", "end"} {
		if cases[what] < 20 {
			t.Errorf("too few cases of %s: %v", what, cases)
		}
	}
}

// Walks find most violations, each with a path that shows it, and no others.
func TestWalksOfRandomTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	found, missed, kinds := 0, 0, map[string]int{}
	for i := range 600 {
		x := randomTable(rng)
		m := x.model()
		k := rng.IntN(3)
		m.Properties = m.Properties[k : k+1]
		r, err := check.WalkOn(m, 4096)
		if err != nil {
			t.Fatal(err)
		}
		switch want := x.want()[k]; {
		case want == r.Violated() && want:
			t.Fatalf("table %d %+v: %s", i, x, r.Report())
		case want:
		case !r.Violated():
			missed++
		default:
			found++
			kinds[r.Shown]++
			if wrong := x.shows(r); wrong != "" {
				t.Fatalf("table %d %+v: %s: %s", i, x, wrong, r.Report())
			}
		}
	}
	t.Log(found, missed, kinds)
	if missed > found/20 || len(kinds) < 3 {
		t.Errorf("%d were found, %d were not: %v", found, missed, kinds)
	}
}

// meal is philosophers: 0 thinks, 1 is hungry, 2 has a fork, 3 eats.
type meal struct {
	At [24]uint8 `bits:"2"`
}

// dining is too large to search. Its last philosopher takes the other fork first, so that nobody
// waits for ever for all others, but the neighbours of the first one may eat in turn.
func dining(properties ...check.Property[meal]) check.Model[meal] {
	m := check.Model[meal]{Name: "dining", Init: []meal{{}}, Properties: properties}
	n := len(m.Init[0].At)
	for i := range n {
		m.Fair = append(m.Fair, fmt.Sprint(i, " steps"))
	}
	first := func(i int) int { return i % (n - 1) }
	second := func(i int) int { return i + (i+1)%n - first(i) }
	m.Next = func(s meal, emit func(string, meal)) {
		taken := func(fork int) bool {
			before := (fork + n - 1) % n
			has := func(i int) bool { return s.At[i] == 3 || s.At[i] == 2 && first(i) == fork }
			return has(fork) || has(before)
		}
		for i, at := range s.At {
			next := s
			next.At[i] = (at + 1) % 4
			switch {
			case at == 0:
				emit("is hungry", next)
			case at == 1 && taken(first(i)) || at == 2 && taken(second(i)):
			default:
				emit(m.Fair[i], next)
			}
		}
	}
	return m
}

func hungry(i int) check.Property[meal] {
	return check.LeadsTo(fmt.Sprint(i, " eats"), func(s meal) bool { return s.At[i] == 1 },
		func(s meal) bool { return s.At[i] == 3 })
}

// A walk ends a search that would not end, on every number of ranks, and each has the same path. A
// search that does not end is stopped after 20 times as many calls of Next as the walks need.
func TestWalksEndTheSearch(t *testing.T) {
	for _, ranks := range []int{1, 2, 4} {
		ctx, stop := context.WithCancel(t.Context())
		m, calls := dining(hungry(0)), atomic.Int64{}
		next := m.Next
		m.Next = func(s meal, emit func(string, meal)) {
			if calls.Add(1) > 1<<19 {
				stop()
			}
			next(s, emit)
		}
		var reports sync.Map
		err := local.Run(ranks, func(job rma.Job) error {
			r, err := check.Run(ctx, job, m, check.Options{Mem: 256 << 20})
			if err != nil {
				return err
			}
			if r.Reason != explore.Decided || r.Properties[0].Verdict != logic.False || r.Back < 0 {
				return fmt.Errorf("rank %d: %v: %s", job.Rank(), r.Reason, r.Report())
			}
			reports.Store(fmt.Sprint(r.Path, r.Back), true)
			return nil
		})
		stop()
		if err != nil {
			t.Fatalf("%d ranks: %v", ranks, err)
		}
		n := 0
		reports.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d ranks have %d paths", ranks, n)
		}
	}
}

// Of several properties that one is found that is violated.
func TestWalksOfManyProperties(t *testing.T) {
	m := dining(check.Always("any", func(meal) bool { return true }),
		check.LeadsTo("stays", func(s meal) bool { return s.At[0] == 1 },
			func(s meal) bool { return s.At[0] == 1 }), hungry(1), hungry(0))
	r, err := check.WalkOn(m, 1<<14)
	if err != nil || r.Shown != "0 eats" && r.Shown != "1 eats" {
		t.Fatalf("%v, %v", r, err)
	}
}

// contest is Peterson's algorithm: where each process is (0 idle, 1 to 3 trying, 4 critical).
type contest struct {
	At   [2]uint8 `bits:"3"`
	Flag [2]bool
	Turn uint8 `bits:"1"`
}

func entering(fair ...string) check.Model[contest] {
	names := [2]string{"first", "second"}
	return check.Model[contest]{Name: "peterson", Init: []contest{{}}, Fair: fair,
		Next: func(s contest, emit func(string, contest)) {
			for i := range uint8(2) {
				next := s
				switch s.At[i] {
				case 0:
					next.At[i] = 1
					emit("try", next) // never has to
					continue
				case 1:
					next.Flag[i], next.At[i] = true, 2
				case 2:
					next.Turn, next.At[i] = 1-i, 3
				case 3:
					if s.Flag[1-i] && s.Turn != i {
						continue
					}
					next.At[i] = 4
				default:
					next.Flag[i], next.At[i] = false, 0
				}
				emit(names[i], next)
			}
		},
		Properties: []check.Property[contest]{
			check.Always("exclusion", func(s contest) bool { return s.At != [2]uint8{4, 4} }),
			check.LeadsTo("entry", func(s contest) bool { return s.At[0] == 1 },
				func(s contest) bool { return s.At[0] == 4 })}}
}

func TestEntry(t *testing.T) {
	for _, ranks := range []int{1, 2, 4} {
		r := checked(t, ranks, entering("first", "second"))
		if r.Violated() || r.Properties[1].Verdict != logic.True {
			t.Errorf("%d ranks: %s", ranks, r.Report())
		}
		r = checked(t, ranks, entering()) // the other process runs alone for ever
		if r.Properties[1].Verdict != logic.False || r.Shown != "entry" || r.Back < 0 ||
			!strings.Contains(r.Report(), "and so on for ever: this is the state after step") {
			t.Errorf("%d ranks: %s", ranks, r.Report())
		}
	}
}

func TestPathsRefused(t *testing.T) {
	m := entering()
	m.Canonical = func(s contest) contest { return s }
	for says, m := range map[string]check.Model[contest]{
		"leave Canonical out": m,
		"is not complete": {Name: "m", Init: []contest{{}}, Next: m.Next,
			Properties: []check.Property[contest]{{Name: "x", Kind: check.HoldsLeadsTo,
				Holds: func(contest) bool { return true }}}},
		"33 fair actions": {Name: "m", Init: []contest{{}}, Next: m.Next, Fair: make([]string, 33)},
	} {
		err := local.Run(1, func(job rma.Job) error {
			_, err := check.Run(t.Context(), job, m, check.Options{})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
