package explore

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// answers are the answers of a search by the names of properties.
func answers(t *testing.T, args ...string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, p := range exploreJSON(t, append(args, "--json")...)["properties"].([]any) {
		p := p.(map[string]any)
		all[p["name"].(string)] = p["answer"]
	}
	return all
}

func TestExploreProperties(t *testing.T) {
	path := family(t, "philosophers", "4")
	asked := []string{"--always", "not deadlock", "--sometimes", "tokens(Eat_1, Eat_3) >= 2",
		"--always", "tokens(Eat_1, Eat_2) <= 1", "--bound", "tokens(Eat_1, Eat_2, Eat_3, Eat_4)",
		"--examination", "OneSafe", "--examination", "QuasiLiveness"}
	want := map[string]any{"always not deadlock": false, "OneSafe": true, "QuasiLiveness": true,
		"sometimes tokens(Eat_1, Eat_3) >= 2": true, "always tokens(Eat_1, Eat_2) <= 1": true,
		"bound tokens(Eat_1, Eat_2, Eat_3, Eat_4)": 2.0}
	for _, args := range [][]string{
		append([]string{"explore", path, "-n", "3"}, asked...),
		try.Launched(t, "2", append([]string{"explore", path}, asked...)...),
	} {
		got := answers(t, args...)
		for name, answer := range want {
			if got[name] != answer || len(got) != len(want) {
				t.Errorf("%q: %v, want %v", args, got, want)
			}
		}
	}
	c := try.Run(t, append([]string{"explore", path, "-q", "--walk", "0", "--trace", "witness"},
		asked...)...)
	for _, line := range []string{"\nOneSafe  ", "true  by structure\n",
		"\nshortest firing sequence to a marking that shows always not deadlock, 4 firings:\n"} {
		if !strings.Contains(c.Out.String(), line) || c.Code() != 0 {
			t.Errorf("exit code %d, no %q in %s", c.Code(), line, &c.Out)
		}
	}
	c = try.Run(t, append([]string{"explore", path, "-q", "--mcc"}, asked...)...)
	if got := c.Out.String(); strings.Count(got, "FORMULA ") != 6 || c.Code() != 0 ||
		!strings.Contains(got, "FORMULA always not deadlock FALSE TECHNIQUES EXPLICIT") ||
		!strings.Contains(got, "FORMULA OneSafe TRUE TECHNIQUES TOPOLOGICAL\n") {
		t.Errorf("exit code %d, %s", c.Code(), got)
	}
}

// A search ends when all is answered.
func TestExploreDecided(t *testing.T) {
	path := family(t, "philosophers", "10")
	c := try.Run(t, "explore", path, "-q", "--sometimes", "enabled(End_1) or enabled(End_2)")
	if c.Code() != 0 || !strings.Contains(c.Out.String(), "until all was answered") {
		t.Errorf("exit code %d, %s", c.Code(), &c.Out)
	}
}

// The properties of a file have their names.
func TestExplorePropertyFile(t *testing.T) {
	path := family(t, "philosophers", "3")
	file := filepath.Join(t.TempDir(), "p.xml")
	text := `<property-set xmlns="http://mcc.lip6.fr/"><property><id>P-00</id><formula><exists-path>
<finally><is-fireable><transition>FF1a_1</transition></is-fireable></finally></exists-path>
</formula></property><property><id>P-01</id><formula><place-bound><place>Eat_1</place>
<place>Think_1</place></place-bound></formula></property></property-set>`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := answers(t, "explore", path, "--properties", file)
	if len(got) != 2 || got["P-00"] != true || got["P-01"] != 1.0 {
		t.Errorf("%v", got)
	}
	c := try.Run(t, "explore", path, "--properties", file, "--properties", file)
	if c.Code() != cli.ExitUsage || c.Out.Len() > 0 ||
		!strings.Contains(c.Errors.String(), "two properties have the name P-00") {
		t.Errorf("the same file twice: exit code %d, %s%s", c.Code(), &c.Errors, &c.Out)
	}
}

// pathFormulas is a file of formulas of CTL and LTL for four philosophers, with their answers.
func pathFormulas(t *testing.T) (file string, want map[string]any) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "p.xml")
	eats := "<is-fireable><transition>End_1</transition></is-fireable>"
	var text strings.Builder
	for i, formula := range []string{
		"<exists-path><finally><deadlock/></finally></exists-path>",
		"<all-paths><globally><exists-path><finally>" + eats +
			"</finally></exists-path></globally></all-paths>",
		"<all-paths><globally><finally><disjunction><deadlock/>" + eats +
			"</disjunction></finally></globally></all-paths>",
		"<exists-path><globally><finally>" + eats + "</finally></globally></exists-path>",
	} {
		fmt.Fprintf(&text, "<property><id>P-%d</id><formula>%s</formula></property>", i, formula)
	}
	err := os.WriteFile(file, []byte("<property-set>"+text.String()+"</property-set>"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return file, map[string]any{"P-0": true, "P-1": false, "P-2": false, "P-3": true}
}

// Formulas of CTL and LTL are answered on goroutines and processes, together with others.
func TestExplorePaths(t *testing.T) {
	path := family(t, "philosophers", "4")
	file, want := pathFormulas(t)
	for _, args := range [][]string{{"explore", path, "-n", "3", "--properties", file},
		try.Launched(t, "2", "explore", path, "--properties", file)} {
		if got := answers(t, args...); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", args, got, want)
		}
	}
	c := try.Run(t, "explore", path, "--properties", file, "--engine", "symbolic")
	if c.Code() != cli.ExitUsage || !strings.Contains(c.Errors.String(),
		"P-2 is not answered symb") {
		t.Errorf("exit code %d, %s", c.Code(), &c.Errors)
	}
	try.Here(t, "explore", path, "-q", "--engine", "symbolic", "--ctl", "AG EF enabled(End_1)",
		"--ctl", "E[not deadlock U deadlock]").Has(t, 0, "false", "true")
}

func TestExplorePropertiesWrong(t *testing.T) {
	path := family(t, "philosophers", "3")
	for _, c := range []struct {
		says string
		code int
		args []string
	}{
		{`no place with the id "x"`, cli.ExitUsage, []string{"--always", "tokens(x) = 1"}},
		{`no place with the id "EAT_1"; did you mean "Eat_1"?`, cli.ExitUsage,
			[]string{"--always", "tokens(EAT_1) = 1"}},
		{"it ends where", cli.ExitUsage, []string{"--sometimes", "not"}},
		{"is not tokens(PLACE)", cli.ExitUsage, []string{"--bound", "enabled(Eat_1)"}},
		{"is not supported", cli.ExitFailure, []string{"--bound", "1 - tokens(Eat_1)", "--engine",
			"explicit"}},
		{"no such file", cli.ExitFailure, []string{"--properties", path + ".none"}},
		{"property-set", cli.ExitFailure, []string{"--properties", path}},
		{"two properties have the name OneSafe", cli.ExitUsage, []string{"--examination", "OneSafe",
			"--examination", "OneSafe"}},
		{"--trace witness needs a property", cli.ExitUsage, []string{"--trace", "witness"}},
		{"--trace must be deadlock or witness", cli.ExitUsage, []string{"--trace", "x"}},
	} {
		got := try.Run(t, append([]string{"explore", path}, c.args...)...)
		if got.Code() != c.code || !strings.Contains(got.Errors.String(), c.says) ||
			got.Out.Len() > 0 {
			t.Errorf("%q: exit code %d, %s%s", c.args, got.Code(), &got.Errors, &got.Out)
		}
	}
}

// Liveness is answered on goroutines and on processes, with what is missing and the way there.
func TestExploreLiveness(t *testing.T) {
	live, mutex := family(t, "kanban", "2"), family(t, "rwmutex", "5")
	for _, path := range []string{live, mutex} {
		for _, args := range [][]string{{"explore", path, "-n", "3", "--examination", "Liveness"},
			try.Launched(t, "2", "explore", path, "--examination", "Liveness")} {
			if got := answers(t, args...); got["Liveness"] != true {
				t.Errorf("%q: %v", args, got)
			}
		}
	}
	dead := family(t, "philosophers", "4")
	if got := answers(t, "explore", dead, "--examination", "Liveness"); got["Liveness"] != false {
		t.Errorf("%v", got)
	}
	net := filepath.Join(t.TempDir(), "left.pnml") // a circle that can be left for another
	text := `<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="left"
type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="p0"><place id="a">
<initialMarking><text>1</text></initialMarking></place><place id="b"/><transition id="stay"/>
<transition id="leave"/><transition id="there"/><arc id="1" source="a" target="stay"/>
<arc id="2" source="stay" target="a"/><arc id="3" source="a" target="leave"/>
<arc id="4" source="leave" target="b"/><arc id="5" source="b" target="there"/>
<arc id="6" source="there" target="b"/></page></net></pnml>`
	if err := os.WriteFile(net, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := try.Run(t, "explore", net, "-q", "--examination", "Liveness", "--trace", "witness")
	for _, line := range []string{"\nLiveness  false  stay never fires, or not again\n",
		"to a marking from which stay never fires again, 1 firing:\n" +
			"  begin  a=1\n  leave\n  end  b=1\n"} {
		if !strings.Contains(c.Out.String(), line) || c.Code() != 0 {
			t.Errorf("exit code %d, no %q in %s", c.Code(), line, &c.Out)
		}
	}
	c = try.Run(t, "explore", mutex, "-q", "--examination", "Liveness", "--mem", "1MiB")
	if c.Code() == 0 {
		t.Errorf("%s", &c.Out)
	}
}

// A random walk finds what the search does not come to, and says so.
func TestExploreWalk(t *testing.T) {
	path := family(t, "philosophers", "40")
	asked := []string{"explore", path, "-q", "--sometimes", "deadlock", "--trace", "witness",
		"--walk", "90"}
	c := try.Run(t, append(asked, "-n", "2")...)
	out := c.Out.String()
	if c.Code() != 0 || !strings.Contains(out, "\nsometimes deadlock  true  by a random walk\n"+
		"a random walk found a firing sequence, perhaps not a shortest one, to a marking that "+
		"shows sometimes deadlock, ") {
		t.Errorf("exit code %d, %s", c.Code(), out)
	}
	o := exploreJSON(t, append(asked, "--json")...)
	p := o["properties"].([]any)[0].(map[string]any)
	if o["traceByWalk"] != true || p["byWalk"] != true || len(o["trace"].([]any)) < 40 {
		t.Errorf("%v", o)
	}
	for _, percent := range []string{"-1", "91", "NaN"} {
		if c := try.Run(t, "explore", path, "--walk="+percent); c.Code() != cli.ExitUsage ||
			!strings.Contains(c.Errors.String(), "--walk must be 0 to 90 percent, not "+percent) {
			t.Errorf("exit code %d, %s", c.Code(), &c.Errors)
		}
	}
}

// Answers that are known before the search ends are printed once, before the rest.
func TestExploreStream(t *testing.T) {
	path := family(t, "philosophers", "4")
	asked := []string{"explore", path, "-q", "--sometimes", "deadlock", "--examination", "OneSafe"}
	c := try.Run(t, append(asked, "--json=lines")...)
	lines := strings.Split(strings.TrimSpace(c.Out.String()), "\n")
	if c.Code() != 0 || lines[0] != `{"name":"OneSafe","answer":true,"structural":true}` ||
		!strings.HasPrefix(lines[len(lines)-1], `{"model":`) ||
		strings.Count(lines[len(lines)-1], `"answer":true`) != 2 {
		t.Errorf("exit code %d, %q", c.Code(), lines)
	}
	c = try.Run(t, append(asked, "--mcc")...)
	lines = strings.Split(strings.TrimSpace(c.Out.String()), "\n")
	if c.Code() != 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], "FORMULA OneSafe TRUE") ||
		!strings.HasPrefix(lines[1], "FORMULA sometimes deadlock TRUE") {
		t.Errorf("exit code %d, %q", c.Code(), lines)
	}
	c = try.Run(t, append(asked, "--json=xml")...)
	if c.Code() != cli.ExitUsage ||
		!strings.Contains(c.Errors.String(), "--json must be object or lines, not") {
		t.Errorf("exit code %d, %s", c.Code(), &c.Errors)
	}
}

// Formulas are read from a file of lines, with patterns of names.
func TestExploreFormulas(t *testing.T) {
	path := family(t, "philosophers", "4")
	file := filepath.Join(t.TempDir(), "formulas")
	text := "# a comment\ntwo: bound tokens(Eat_*)\nsometimes tokens(Eat_1) = 1 => deadlock\n" +
		"always tokens(Eat_1) = 1 <=> enabled(End_1)\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, engine := range engines {
		got := answers(t, "explore", path, "--formulas", file, "--engine", engine)
		if len(got) != 3 || got["two"] != 2.0 ||
			got["sometimes tokens(Eat_1) = 1 => deadlock"] != true ||
			got["always tokens(Eat_1) = 1 <=> enabled(End_1)"] != true {
			t.Errorf("%s: %v", engine, got)
		}
	}
	c := try.Run(t, "explore", path, "--formulas", path)
	if c.Code() != cli.ExitFailure || !strings.Contains(c.Errors.String(), ": line 1: ") {
		t.Errorf("exit code %d, %s", c.Code(), &c.Errors)
	}
}
