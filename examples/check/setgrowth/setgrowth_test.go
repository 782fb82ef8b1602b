package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// version is a version of the protocol.
type version struct {
	name   string
	config config
	fails  string // the claim that breaks first; empty if none does
	number int    // of steps until then, or of states
}

// with is the usual parameters with changes.
func with(change func(*config)) config {
	c := usual
	change(&c)
	return c
}

// wrong is a wrong version.
func wrong(mutant int) config { return with(func(c *config) { c.mutant = mutant }) }

// atLimit are searches that come to their limit.
func atLimit(c *config) { c.calls, c.words, c.limit = []int{3, 2}, 3, 1 }

// versions are the versions of spec/run that have two ranks and errors in states.
var versions = []version{
	{"right", usual, "", 6260},
	{"death", with(func(c *config) { c.calls, c.sizes[0], c.deaths = []int{2, 2}, 3, 1 }),
		"", 36968},
	{"pieces of 2", with(func(c *config) {
		c.calls, c.sizes[0], c.piece, c.deaths = []int{2, 2}, 3, 2, 1
	}), "", 32879},
	{"limit", with(atLimit), "", 113828},
	{"3 tables", with(func(c *config) { c.calls, c.tables, c.deaths = []int{3, 2}, 3, 1 }),
		"", 164051},
	{"WAIT, no deaths", wrong(wait), "", 5294},
	{"BEGINS_EARLY", wrong(beginsEarly), "what was in the set is found", 14},
	{"MARK_FIRST", wrong(markFirst), "what a marked piece holds is in a later table", 7},
	{"CLOSED_EMPTY", wrong(closedEmpty), "a bucket changes once", 7},
	{"CLOSED_OTHER", with(func(c *config) { c.mutant, c.deaths = closedOther, 1 }),
		"nothing lost, nothing else", 15},
	{"NO_CLOSE", wrong(noClose), "what a marked piece holds is in a later table", 7},
	{"COPY_TELLS", wrong(copyTells), "one answer alone is Inserted", 9},
	{"STORE_CLOSED", wrong(storeClosed), "what was in the set is found", 12},
	{"LOSER_LEAVES", wrong(loserLeaves), "what a marked piece holds is in a later table", 8},
	{"COPY_BLIND", wrong(copyBlind), "no word twice in a table", 20},
	{"LIMIT_FULL", with(func(c *config) { atLimit(c); c.mutant = limitFull }),
		"Full only of the last table", 6},
	{"NO_RETURN", wrong(noReturn), "no word twice in a table", 8},
	{"MOVES_NEXT", with(func(c *config) {
		c.calls, c.tables, c.mutant = []int{3, 2}, 3, movesNext
	}), "what was in the set is found", 24},
	{"WAIT", with(func(c *config) { c.mutant, c.deaths = wait, 1 }), "deadlock", 6},
}

func TestGrowth(t *testing.T) {
	for _, v := range versions {
		m := growth[[2]rank](v.name, v.config)
		if v.fails == "" {
			statespace.Holds(t, m, uint64(v.number))
		} else {
			statespace.Fails(t, m, v.fails, v.number)
		}
	}
}

// What must be able to happen does, or the rest says nothing.
func TestMarks(t *testing.T) {
	for mark := lostClose; mark <= wonByCopy; mark++ {
		c := usual
		switch mark {
		case passedLimit, fullAnswer, stuck:
			atLimit(&c)
		case third:
			c.calls, c.tables = []int{3, 2}, 3
		case rescued, diedIn:
			c.deaths = 1
		}
		c.reach = mark
		space := statespace.Search(growth[[2]rank]("mark", c))
		if _, ok := space.Steps[markClaim]; !ok || len(space.Steps) > 1 {
			t.Errorf("mark %d: %+v", mark, space)
		}
	}
}

// SPIN finds an error in the same versions of spec/setgrowth.pml.
func TestSpinAgrees(t *testing.T) {
	statespace.NeedSpin(t)
	for _, v := range versions {
		mutant, _, _ := strings.Cut(v.name, ",")
		if v.config.mutant == 0 {
			mutant = "0"
		}
		_, fails := statespace.Spin(t, "setgrowth.pml", parameters(v.config, mutant))
		if fails != (v.fails != "") {
			t.Errorf("%s: SPIN finds an error: %v; it should be %q", v.name, fails, v.fails)
		}
	}
}

// parameters are the parameters of spec/setgrowth.pml.
func parameters(c config, mutant string) string {
	return fmt.Sprintf("-DPROCS=2 -DOPS=%d -DOPS1=%d -DOPS2=0 -DMENU0=7 -DMENU1=7 -DMENU2=7 "+
		"-DWORDS=%d -DTABLES=%d -DSIZE0=%d -DSIZE1=%d -DSIZE2=%d -DLIMIT=%d -DPIECE=%d "+
		"-DDEATHS=%d -DMUTANT=%s -DREACH=0", c.calls[0], c.calls[1], c.words, c.tables, c.sizes[0],
		c.sizes[1], c.sizes[2], c.limit, c.piece, c.deaths, mutant)
}
