package explore

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// Formulas of LTL and CTL are answered as text, also in files, and a false one as it is.
func TestTemporalText(t *testing.T) {
	net := try.Net(t, "philosophers", 3)
	file := try.File(t, "formulas", "home: ctl AG EF deadlock\nltl X F deadlock or G F enabled(*)")
	for what, want := range map[string]string{
		"--ltl=G F enabled(End_1)":                "ltl G F enabled(End_1)  false",
		"--ltl=F deadlock or G F enabled(*)":      "true",
		"--ltl=G not deadlock":                    "false",
		"--ltl=G(deadlock => X deadlock)":         "true", // the last marking repeats
		"--ctl=AG(deadlock => AX false)":          "true", // there is no next marking
		"--ctl=AG EF deadlock":                    "true",
		"--ctl=E G not deadlock":                  "true",
		"--ctl=EX deadlock":                       "false",
		"--ctl=A[tokens(Eat_1) = 0 U deadlock]":   "false",
		"--formulas=" + file:                      "home                                true",
		"--ltl=tokens(Eat_1) = 0 U enabled(*)":    "true",
		"--ltl=tokens(Eat_1) >= 1 W not deadlock": "true",
	} {
		try.Here(t, "explore", net, "-q", "-n", "1", what).Has(t, 0, want)
	}
	try.Refused(t, 2, "G at character 1 looks along paths", "explore", net, "--always",
		"G deadlock")
	try.Refused(t, 2, "--ctl: formula", "explore", net, "--ctl", "AG (")
}
