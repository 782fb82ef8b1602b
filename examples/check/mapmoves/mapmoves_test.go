package main

import (
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
	"github.com/farhash/farhash/statespace/check"
)

// version is a version of the protocol.
type version struct {
	name    string
	clients int
	config  config
	fails   string // the claim that breaks first; empty if none does
	number  int    // of steps until then, or of states
}

func wrong(name string, mutant, areas int, fails string, steps int) version {
	return version{name, 2, config{areas: areas, tables: 5, rounds: 3, deaths: 1, mutant: mutant},
		fails, steps}
}

// versions are the versions of spec/run.
var versions = []version{
	{"right", 2, usual, "", 16233},
	{"3 areas", 2, config{areas: 3, tables: 5, rounds: 3, deaths: 1}, "", 23895},
	wrong("NO_HOLD", noHold, 2, keyIsThere, 49),
	wrong("NO_CHECK", noCheck, 2, keyIsThere, 52),
	wrong("HOLDS_FROM", holdsFrom, 3, frozenUntilMoved, 49),
	wrong("DEAD_HOLD", deadHold, 2, "deadlock", 23),
	wrong("THAWS_LATE", thawsLate, 2, frozenUntilMoved, 49),
}

// larger take longer.
var larger = []version{
	{"3 clients", 3, config{areas: 2, tables: 4, rounds: 2}, "", 286264},
	{"3 clients, deaths", 3, config{areas: 3, tables: 4, rounds: 2, deaths: 1}, "", 1040358},
	{"READS_EARLY", 3, config{areas: 3, tables: 5, rounds: 2, mutant: readsEarly},
		frozenUntilMoved, 52},
}

func test(t *testing.T, v version) {
	if v.clients == 2 {
		testModel(t, v, moves[[2]client](v.name, v.config))
	} else {
		testModel(t, v, moves[[3]client](v.name, v.config))
	}
}

func testModel[C clients](t *testing.T, v version, m check.Model[state[C]]) {
	if v.fails == "" {
		statespace.Holds(t, m, uint64(v.number))
	} else {
		statespace.Fails(t, m, v.fails, v.number)
	}
}

func TestMoves(t *testing.T) {
	for _, v := range versions {
		test(t, v)
	}
}

func TestLarger(t *testing.T) {
	statespace.NeedFlag(t)
	for _, v := range larger {
		test(t, v)
	}
}

// What must be able to happen does, or the rest says nothing.
func TestMarks(t *testing.T) {
	for mark := late; mark < marks; mark++ {
		c := config{areas: 3, tables: 4, rounds: 3, deaths: 1, reach: mark}
		space := statespace.Search(moves[[2]client]("mark", c))
		if _, ok := space.Steps[markClaim]; !ok || len(space.Steps) > 1 {
			t.Errorf("mark %d: %+v", mark, space)
		}
	}
}

// SPIN finds an error in the same versions of spec/mapmoves.pml.
func TestSpinAgrees(t *testing.T) {
	statespace.NeedSpin(t)
	for _, v := range versions {
		mutant := "0"
		if v.config.mutant > 0 {
			mutant = v.name
		}
		out, fails := statespace.Spin(t, "mapmoves.pml", fmt.Sprintf("-DCLIENTS=%d -DAREAS=%d "+
			"-DTABLES=%d -DROUNDS=%d -DDEATHS=%d -DMUTANT=%s -DREACH=0", v.clients, v.config.areas,
			v.config.tables, v.config.rounds, v.config.deaths, mutant))
		if fails != (v.fails != "") {
			t.Errorf("%s: SPIN finds an error: %v, which should be %q\n%s", v.name, fails, v.fails,
				out)
		}
	}
}
