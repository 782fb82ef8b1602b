package explore

import (
	"os"
	"strings"
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

// A formula of LTL that is false is shown by a path that repeats or ends: in text, JSON, a page and
// ITF.
func TestPathsShown(t *testing.T) {
	net := try.Net(t, "philosophers", 3)
	page, itf := t.TempDir()+"/page.html", t.TempDir()+"/path.itf.json"
	args := []string{"explore", net, "-q", "-n", "1", "--trace", "witness"}
	try.Here(t, append(args, "--ltl=F deadlock", "--html", page, "--itf", itf)...).Has(t, 0,
		"a path that shows ltl F deadlock, ", "and so on for ever: this is the initial marking")
	for path, text := range map[string]string{page: "And so on for ever: this is the initial",
		itf: `"loop":0`} {
		if all, err := os.ReadFile(path); err != nil || !strings.Contains(string(all), text) {
			t.Errorf("%s: %v, %q is there: false", path, err, text)
		}
	}
	try.Here(t, append(args, "--ltl=not F deadlock")...).Has(t, 0, "this is a deadlock")
	try.Here(t, append(args, "--ltl=G F enabled(End_1)")...).Has(t, 0,
		"and so on for ever: this is the marking after ")
	o := try.ObjectHere(t, 0, append(args, "--json", "--ltl=F deadlock")...)
	trace := o["traces"].([]any)[0].(map[string]any)
	if trace["back"] != 0.0 || trace["shortest"] != false || len(trace["firings"].([]any)) == 0 {
		t.Errorf("%v", trace)
	}
	try.Here(t, append(args, "--ctl=AG AF deadlock")...).Has(t, 0, "!a path")
}
