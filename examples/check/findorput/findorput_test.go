package main

import (
	"fmt"
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

// versions are the versions of spec/run that have two ranks and errors in states.
var versions = []version{
	{"right", usual, "", 49257},
	{"2 buckets", with(func(c *config) {
		c.others, c.chunk, c.buckets, c.limit, c.home3 = 2, 2, 2, 2, 1
	}), "", 136270},
	{"memory", with(func(c *config) { c.memory = true }), "", 89811},
	{"death", with(func(c *config) { c.deaths = 1 }), "", 63702},
	{"WAIT, no deaths", with(func(c *config) { c.mutant = mutantWait }), "", 52290},
	{"SKIP", with(func(c *config) { c.mutant = mutantSkip }), "no element twice", 12},
	{"PUT", with(func(c *config) { c.mutant = mutantPut }), "no element twice", 10},
	{"NO_AWAIT", with(func(c *config) { c.mutant = mutantNoAwait }),
		"no gap before an element", 5},
	{"TRUST", with(func(c *config) { c.mutant, c.others = mutantTrust, 2 }),
		"what is found is in the set", 11},
	{"FINGERPRINT", with(func(c *config) { c.mutant = mutantFingerprint }),
		"what is found is in the set", 8},
	{"HALF", with(func(c *config) { c.mutant, c.distinct = mutantHalf, 0 }),
		"what is found is in the set", 9},
	{"COUNT", with(func(c *config) { c.mutant, c.memory = mutantCount, true }),
		"no element twice", 20},
	{"EARLY", with(func(c *config) { c.mutant = mutantEarly }),
		"no read of an unwritten element", 6},
	{"KEEP", with(func(c *config) { c.mutant = mutantKeep }),
		"a slot referred to does not change", 10},
	{"NO_WRAP", with(func(c *config) { c.mutant = mutantNoWrap }),
		"Full only without room in reach", 8},
	{"WAIT", with(func(c *config) { c.mutant, c.deaths = mutantWait, 1 }), "deadlock", 7},
}

func TestFindOrPut(t *testing.T) {
	for _, v := range versions {
		m := findOrPut[[2]rank](v.name, v.config)
		if v.fails == "" {
			statespace.Holds(t, m, uint64(v.number))
		} else {
			statespace.Fails(t, m, v.fails, v.number)
		}
	}
}

// What must be able to happen does, or the rest says nothing.
func TestMarks(t *testing.T) {
	for mark := wrapped; mark <= diedOut; mark++ {
		c := usual
		c.reach = mark
		if mark >= fullAnswer && mark <= absentFull {
			c.limit = 2
		}
		if mark >= diedIn {
			c.deaths = 1
		}
		space := statespace.Search(findOrPut[[2]rank]("mark", c))
		if _, ok := space.Steps[markClaim]; !ok || len(space.Steps) > 1 {
			t.Errorf("mark %d: %+v", mark, space)
		}
	}
}

// SPIN finds an error in the same versions of spec/findorput.pml.
func TestSpinAgrees(t *testing.T) {
	statespace.NeedSpin(t)
	for _, v := range versions {
		mutant := v.name
		if v.config.mutant == 0 {
			mutant = "0"
		}
		if v.name == "WAIT, no deaths" {
			mutant = "WAIT"
		}
		_, fails := statespace.Spin(t, "findorput.pml", parameters(v.config, mutant))
		if fails != (v.fails != "") {
			t.Errorf("%s: SPIN finds an error: %v; it should be %q", v.name, fails, v.fails)
		}
	}
}

// parameters are the parameters of spec/findorput.pml.
func parameters(c config, mutant string) string {
	memory := 0
	if c.memory {
		memory = 1
	}
	return fmt.Sprintf("-DPROCS=2 -DOPS=%d -DOTHERS=%d -DBUCKETS=%d -DCHUNK=%d -DLIMIT=%d "+
		"-DHOME3=%d -DDISTINCT=%d -DDEATHS=%d -DMEMORY=%d -DMUTANT=%s -DREACH=0", c.ops, c.others,
		c.buckets, c.chunk, c.limit, c.home3, c.distinct, c.deaths, memory, mutant)
}
