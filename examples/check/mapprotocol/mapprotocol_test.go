package main

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
	"github.com/farhash/farhash/statespace/check"
)

// version is a version of the protocol.
type version struct {
	name     string
	config   config
	states   uint64
	contents int    // of the memory and of the history
	fails    string // the claim that breaks first; empty if none does
	steps    int    // until then
}

// versions are the versions of spec/nessie.sh that are searched soon, and have errors in states.
var versions = []version{
	{name: "two calls", config: twoCalls, states: 7537, contents: 831},
	{name: "moving", config: moving, states: 3895, contents: 133},
	{name: "copies", config: config{ops: calls{1, 1}, menu: calls{callsOfA, callsOfA}, start: hasA,
		copies: true}, states: 9645, contents: 1839},
	{name: "direct", config: config{ops: calls{1, 2}, menu: calls{callsOfA, callsOfA | callsOfB},
		start: hasA | hasB, direct: true}, states: 77060, contents: 8524},
	{name: "direct, moving", config: config{ops: calls{1, 2},
		menu: calls{callsOfA, callsOfA | moves}, start: hasA | hasB, direct: true}, states: 94565,
		contents: 7511},
	{name: "direct, used again", config: config{ops: calls{1, 5}, menu: calls{1 << readA, writes},
		start: hasA, direct: true}, states: 15058, contents: 843},

	wrong("NO_VERSION", mutantNoVersion, linearizable, 16, hasA, calls{1, 3},
		calls{1 << readA, writes}),
	wrong("NO_SEAL", mutantNoSeal, linearizable, 16, hasA, calls{1, 3}, calls{1 << readA, writes}),
	wrong("EARLY", mutantEarly, wholeItem, 10, hasA, calls{1, 1}, calls{1 << readA, 1 << writeA}),
	wrong("NO_FREEZE", mutantNoFreeze, linearizable, 20, hasA, calls{1, 1},
		calls{1 << writeA, moves}),
	wrong("NO_CLOSE", mutantNoClose, linearizable, 27, hasB, calls{1, 2},
		calls{1 << ifNoneA, 1<<ifNoneA | moves}),
	wrong("UNMARKED", mutantUnmarked, linearizable, 25, hasA, calls{2, 1},
		calls{1<<readA | 1<<writeA, moves}),
	wrong("NO_KEY", mutantNoKey, linearizable, 11, 0, calls{1, 1}, calls{1 << readA, 1 << writeB}),
	wrong("BLIND", mutantBlind, linearizable, 14, 0, calls{1, 1},
		calls{1 << ifNoneA, 1 << ifNoneA}),
	wrong("EMPTIED", mutantEmptied, linearizable, 10, hasA|hasB, calls{1, 2},
		calls{writes, 1<<readA | 1<<writeA | 1<<removeB}),
	wrong("FREED", mutantFreed, wholeItem, 12, hasA, calls{1, 2},
		calls{1 << readA, 1<<removeA | 1<<writeB}),
	wrong("COPY_OVER", mutantCopyOver, linearizable, 34, hasA, calls{1, 1, 1},
		calls{1 << writeA, moves, moves}),
	wrong("MARK_FIRST", mutantMarkFirst, linearizable, 11, hasA, calls{1, 1},
		calls{1 << readA, moves}),
	wrong("SKIPS", mutantSkips, linearizable, 13, hasA, calls{1, 1}, calls{1 << readA, moves}),
	wrong("NO_COPYSEAL", mutantNoCopySeal, linearizable, 6, hasA, calls{1, 1},
		calls{1 << readA, 1 << writeA}),
	wrong("TAKES_TORN", mutantTakesTorn, linearizable, 17, hasA, calls{1, 3},
		calls{1 << readA, writes}),
	wrong("RECURS", mutantRecurs, linearizable, 49, hasA, calls{1, 5}, calls{1 << readA, writes}),
}

func wrong(name string, mutant, claim, steps, start int, ops, menu calls) version {
	return version{name: name, fails: claims[claim], steps: steps, config: config{ops: ops,
		menu: menu, start: start, mutant: mutant, copies: mutant == mutantNoCopySeal,
		direct: mutant >= mutantTakesTorn}}
}

func TestMap(t *testing.T) {
	for _, v := range versions {
		if v.config.ops[2] > 0 {
			test[[3]client](t, v)
		} else {
			test[[2]client](t, v)
		}
	}
}

func test[C clients](t *testing.T, v version) {
	m := mapProtocol[C](v.name, v.config)
	if v.fails != "" {
		statespace.Fails(t, m, v.fails, v.steps)
		return
	}
	statespace.Holds(t, m, v.states)
	testContents(t, m, v)
}

// testContents counts what the memory and the history contain, whatever the clients know. SPIN's
// model has other local steps, and as many contents.
func testContents[C clients](t *testing.T, m check.Model[state[C]], v version) {
	t.Helper()
	seen := map[state[C]]bool{}
	m.Properties = append(m.Properties, check.Always("counted", func(s state[C]) bool {
		s.Deaths = 0
		for i := range len(s.Client) {
			s.Client[i] = client{Item: s.Client[i].Item}
		}
		seen[s] = true
		return true
	}))
	statespace.Search(m)
	if len(seen) != v.contents {
		t.Errorf("%s: %d contents, and should be %d", v.name, len(seen), v.contents)
	}
}

// What must be able to happen does, or the rest says nothing.
func TestMarks(t *testing.T) {
	reads, puts, puts2 := 1<<readA, 1<<writeA, calls{1 << writeA, 1 << writeA}
	for _, c := range []config{
		{reach: lost, menu: puts2},
		{reach: recycled, menu: calls{reads, writes}, ops: calls{1, 3}},
		{reach: helped, menu: calls{puts, moves}},
		{reach: closed, menu: calls{puts, moves}, start: hasB},
		{reach: oldValue, menu: calls{reads, moves}},
		{reach: fromCopy, menu: calls{reads, puts}, copies: true},
		{reach: staleCopy, menu: calls{reads, puts}, copies: true},
		{reach: diedMoving, menu: calls{puts, moves}, deaths: 1},
		{reach: diedIn, menu: puts2, deaths: 1},
		{reach: revived, menu: calls{puts, 1 << removeA}},
		{reach: twice, menu: calls{puts, moves}},
		{reach: crossed, menu: calls{reads, puts, puts}, ops: calls{1, 1, 1}, copies: true},
		{reach: reread, menu: calls{reads, puts}, direct: true},
	} {
		if c.ops == (calls{}) {
			c.ops = calls{1, 1}
		}
		if c.start == 0 {
			c.start = hasA
		}
		space := statespace.Search(mapProtocol[[3]client]("mark", c))
		if _, ok := space.Steps[markClaim]; !ok || len(space.Steps) > 1 {
			t.Errorf("mark %d: %+v", c.reach, space)
		}
	}
}

// larger are the other searches of spec/nessie.sh.
var larger = []version{
	{name: "calls", config: config{ops: calls{2, 1}, menu: calls{callsOfA, callsOfA | callsOfB},
		start: hasA | hasB, deaths: 1}, states: 84946},
	{name: "copies", config: config{ops: calls{2, 1}, menu: calls{callsOfA, callsOfA}, start: hasA,
		copies: true}, states: 95482},
	{name: "moving, more", config: config{ops: calls{1, 2},
		menu: calls{callsOfA, callsOfA | moves}, start: hasA | hasB, deaths: 1},
		states: 131723},
	{name: "moving, deleted", config: config{ops: calls{2, 2},
		menu: calls{1<<readA | 1<<removeA, 1<<writeA | moves}, start: hasB}, states: 9700},
	{name: "moving, removed", config: config{ops: calls{1, 2},
		menu: calls{callsOfA, callsOfA | moves}, start: removedA | removedB, deaths: 1},
		states: 98922},
	{name: "3 clients", config: threeClients, states: 345239},
	{name: "3 clients, moving", config: config{ops: calls{1, 1, 1},
		menu: calls{1 << writeA, moves, 1<<readA | 1<<writeA}, start: hasA | hasB},
		states: 67839},
	{name: "two movers", config: twoMovers, states: 36244},
	{name: "every call", config: everyCall, states: 673944},
	{name: "direct, deaths", config: direct, states: 708681},
}

func TestLarger(t *testing.T) {
	statespace.NeedFlag(t)
	for _, v := range larger {
		if v.config.ops[2] > 0 {
			testLarger[[3]client](t, v)
		} else {
			testLarger[[2]client](t, v)
		}
	}
}

func testLarger[C clients](t *testing.T, v version) {
	m := mapProtocol[C](v.name, v.config)
	if r := check.Test(t, m); r.States != v.states {
		t.Errorf("%s: %d states, and should be %d", v.name, r.States, v.states)
	}
}
