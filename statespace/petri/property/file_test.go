package property_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
)

func TestReadFormulas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "formulas")
	read := func(text string) ([]property.Property, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return property.ReadFormulas(net(), path)
	}
	all, err := read("# mine\n\n  always not deadlock\r\nfew: sometimes tokens(a) <= 1\n" +
		"a : b:  bound tokens(*) + 1\nltl F deadlock\nhome: ctl AG EF deadlock")
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []struct {
		name string
		kind property.Kind
	}{{"always not deadlock", property.Always}, {"few", property.Sometimes},
		{"a : b", property.Bound}, {"ltl F deadlock", property.Temporal},
		{"home", property.Temporal}} {
		if all[i].Name != want.name || all[i].Kind != want.kind {
			t.Errorf("%+v, want %+v", all[i], want)
		}
	}
	if all[2].Sum.Value([]int64{1, 2, 4}) != 8 || all[1].Formula.Op != logic.Atom {
		t.Errorf("%+v", all)
	}
	for text, says := range map[string]string{"": "the file has no formula",
		"# only": "the file has no formula", "always true\nnever false": `line 2: "never false" is`,
		"x: always tokens(y) = 1": `line 1: formula "tokens(y) = 1": the net has no place`} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := property.ReadFormulas(net(), path+".none"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// Equivalences that nest take no more time than they are long.
func TestDeepEquivalence(t *testing.T) {
	text := strings.Repeat("tokens(a) = 1 <=> (", 400) + "true" + strings.Repeat(")", 400)
	f, err := property.ParseFormula(net(), text)
	if err != nil || !property.Holds(f, net(), []int64{0, 0, 0}) {
		t.Errorf("an even number of them is false: %v", err)
	}
	for _, sign := range []string{" <=> ", " => "} {
		long := strings.Repeat("true"+sign, 1100) + "true"
		if _, err := property.ParseFormula(net(), long); err == nil {
			t.Errorf("1,100 formulas joined by %s were read", sign)
		}
	}
}
