package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		launched(t, "2", append([]string{"explore", path}, asked...)...),
	} {
		got := answers(t, args...)
		for name, answer := range want {
			if got[name] != answer || len(got) != len(want) {
				t.Errorf("%q: %v, want %v", args, got, want)
			}
		}
	}
	c := execute(t, append([]string{"explore", path, "-q", "--trace", "witness"}, asked...)...)
	for _, line := range []string{"\nOneSafe  ", "true  by structure\n",
		"\nshortest firing sequence to a marking that shows always not deadlock, 4 firings:\n"} {
		if !strings.Contains(c.stdout.String(), line) || c.code() != 0 {
			t.Errorf("exit code %d, no %q in %s", c.code(), line, &c.stdout)
		}
	}
	c = execute(t, append([]string{"explore", path, "-q", "--mcc"}, asked...)...)
	if got := c.stdout.String(); strings.Count(got, "FORMULA ") != 6 || c.code() != 0 ||
		!strings.Contains(got, "FORMULA always not deadlock FALSE TECHNIQUES EXPLICIT") ||
		!strings.Contains(got, "FORMULA OneSafe TRUE TECHNIQUES TOPOLOGICAL\n") {
		t.Errorf("exit code %d, %s", c.code(), got)
	}
}

// A search ends when all is answered.
func TestExploreDecided(t *testing.T) {
	path := family(t, "philosophers", "10")
	c := execute(t, "explore", path, "-q", "--sometimes", "enabled(End_1) or enabled(End_2)")
	if c.code() != 0 || !strings.Contains(c.stdout.String(), "until all was answered") {
		t.Errorf("exit code %d, %s", c.code(), &c.stdout)
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
}

func TestExplorePropertiesWrong(t *testing.T) {
	path := family(t, "philosophers", "3")
	for _, c := range []struct {
		says string
		code int
		args []string
	}{
		{`no place with the id "x"`, exitUsage, []string{"--always", "tokens(x) = 1"}},
		{"it ends where", exitUsage, []string{"--sometimes", "not"}},
		{"is not tokens(PLACE)", exitUsage, []string{"--bound", "enabled(Eat_1)"}},
		{"Liveness is not supported", exitUsage, []string{"--examination", "Liveness"}},
		{"is not supported", exitFailure, []string{"--bound", "1 - tokens(Eat_1)"}},
		{"no such file", exitFailure, []string{"--properties", path + ".none"}},
		{"property-set", exitFailure, []string{"--properties", path}},
		{"--trace witness needs a property", exitUsage, []string{"--trace", "witness"}},
		{"--trace must be deadlock or witness", exitUsage, []string{"--trace", "x"}},
	} {
		got := execute(t, append([]string{"explore", path}, c.args...)...)
		if got.code() != c.code || !strings.Contains(got.stderr.String(), c.says) ||
			got.stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, %s%s", c.args, got.code(), &got.stderr, &got.stdout)
		}
	}
}
