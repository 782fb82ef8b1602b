package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// SPIN finds an error in the same versions of spec/nessie-default.pml, and where there is none the
// same contents of the memory and of the history.
func TestSpinAgrees(t *testing.T) {
	statespace.NeedSpin(t)
	for _, v := range versions {
		out, fails := statespace.Spin(t, "nessie-default.pml", parameters(v))
		contents := 0
		if _, text, ok := strings.Cut(out, "contents: "); ok {
			_, _ = fmt.Sscan(text, &contents)
		}
		if fails != (v.fails != "") || !fails && contents != v.contents {
			t.Errorf("%s: SPIN finds an error: %v, which should be %q; %d contents, not %d",
				v.name, fails, v.fails, contents, v.contents)
		}
	}
}

// parameters are the parameters of spec/nessie-default.pml.
func parameters(v version) string {
	c, mutant, count, clients := v.config, "0", 1, 2
	if c.mutant > 0 {
		mutant, count = v.name, 0
	}
	if c.ops[2] > 0 {
		clients = 3
	}
	text := fmt.Sprintf("-DPROCS=%d -DSTART=%d -DDEATHS=%d -DMUTANT=%s -DREACH=0 "+
		"-DCONTENTS=%d -DCOPIES=%d -DDIRECT=%d", clients, c.start, c.deaths, mutant, count,
		number(c.copies), number(c.direct))
	for i := range maxClients {
		text += fmt.Sprintf(" -DOPS%d=%d -DMENU%d=%d", i, c.ops[i], i, c.menu[i])
	}
	return text
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
