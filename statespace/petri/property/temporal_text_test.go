package property_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
)

// written is a formula as text. Operators of paths without A or E before them are of LTL.
func written(f *logic.Formula) string {
	joined := func(sign string) string {
		var parts []string
		for _, arg := range f.Args {
			parts = append(parts, written(arg))
		}
		return "(" + strings.Join(parts, sign) + ")"
	}
	switch f.Op {
	case logic.And:
		return joined(" and ")
	case logic.Or:
		return joined(" || ")
	case logic.Not:
		return "not " + written(f.Args[0])
	case logic.Iff:
		return joined(" <=> ")
	case logic.Exists:
		return "E (" + written(f.Args[0]) + ")"
	case logic.Forall:
		return "A[" + written(f.Args[0]) + "]"
	case logic.Next:
		return "X " + written(f.Args[0])
	case logic.Finally:
		return "F (" + written(f.Args[0]) + ")"
	case logic.Globally:
		return "G " + written(f.Args[0])
	case logic.Until:
		return "(" + written(f.Args[0]) + " U " + written(f.Args[1]) + ")"
	}
	switch atom := f.Atom.(type) {
	case property.Enabled:
		return "enabled(t)"
	case *property.AtMost:
		return fmt.Sprintf("tokens(a) <= %d", atom.Right.Constant)
	}
	return "deadlock"
}

// randomFormula is a formula of paths, or of CTL* with quantifiers.
func randomFormula(rng *rand.Rand, depth int, path, quantifiers bool) *logic.Formula {
	arg := func(path bool) *logic.Formula {
		return randomFormula(rng, depth-1, path, quantifiers)
	}
	switch n := rng.IntN(9); {
	case depth == 0 || n == 0:
		switch rng.IntN(3) {
		case 0:
			return logic.Leaf(property.Enabled{0})
		case 1:
			return logic.Leaf(&property.AtMost{Left: property.Sum{Terms: []property.Term{{Place: 0,
				Weight: 1}}}, Right: property.Sum{Constant: int64(rng.IntN(4))}})
		}
		return logic.Leaf(property.Stuck{})
	case n == 1:
		return logic.Of(logic.And, arg(path), arg(path))
	case n == 2:
		return logic.Of(logic.Or, arg(path), arg(path), arg(path))
	case n == 3:
		return logic.Of(logic.Iff, arg(path), arg(path))
	case n == 4 && quantifiers:
		return logic.Of(logic.Exists+logic.Op(rng.IntN(2)), arg(true))
	case n == 5 && path:
		return logic.Of(logic.Until, arg(path), arg(path))
	case n <= 7 && path:
		return logic.Of(logic.Next+logic.Op(rng.IntN(3)), arg(path))
	}
	return logic.Of(logic.Not, arg(path))
}

// What formulas of paths are written as is read as the same formulas.
func TestParseTemporal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for range 3000 {
		f := randomFormula(rng, 5, false, true)
		p, err := property.ParseCTL(net(), written(f))
		if err != nil {
			t.Fatalf("%s: %v", written(f), err)
		}
		if again := asked(p); !reflect.DeepEqual(again, f) && p.Kind == property.Temporal {
			t.Fatalf("%s is read as %s", written(f), written(again))
		}
		f = randomFormula(rng, 5, true, false)
		if p, err = property.ParseLTL(net(), written(f)); err != nil {
			t.Fatalf("%s: %v", written(f), err)
		}
		again := asked(p)
		if again.Op == logic.And && again.Args[0].Op == logic.Forall { // X p in a deadlock
			again = again.Args[0]
		}
		if p.Kind == property.Temporal && !reflect.DeepEqual(again, logic.Of(logic.Forall, f)) {
			t.Fatalf("%s is read as %s", written(f), written(again))
		}
	}
}

// asked is the formula that a property says to hold initially.
func asked(p property.Property) *logic.Formula { return p.Formula }

// Operators bind as people expect who know other tools.
func TestTemporalBinding(t *testing.T) {
	for text, same := range map[string]string{
		"G enabled(t) => F deadlock":            "(G (enabled(t))) => (F (deadlock))",
		"enabled(t) U deadlock and X deadlock":  "(enabled(t) U deadlock) and (X deadlock)",
		"true U enabled(t) U deadlock":          "true U (enabled(t) U deadlock)",
		"not enabled(t) U deadlock":             "(not enabled(t)) U deadlock",
		"F tokens(a) >= 1 or G F deadlock":      "(F (tokens(a) >= 1)) or (G (F (deadlock)))",
		"enabled(t) W deadlock":                 "(enabled(t) U deadlock) or G enabled(t)",
		"enabled(t) R deadlock":                 "not ((not enabled(t)) U (not deadlock))",
		"G(enabled(t) => F tokens(b) >= 1)":     "G ((enabled(t)) => (F (tokens(b) >= 1)))",
		"X X deadlock <=> G not deadlock":       "(X (X deadlock)) <=> (G (not deadlock))",
		"enabled(t) U X tokens(b) >= 1 || true": "(enabled(t) U (X (tokens(b) >= 1))) or true",
	} {
		one, err := property.ParseLTL(net(), text)
		other, otherErr := property.ParseLTL(net(), same)
		if err != nil || otherErr != nil || !reflect.DeepEqual(one, other) {
			t.Errorf("%s: %+v, %v; %s: %+v, %v", text, one, err, same, other, otherErr)
		}
	}
	for text, same := range map[string]string{
		"AG EF deadlock":                 "A(G (E (F (deadlock))))",
		"A[enabled(t) U deadlock]":       "A (enabled(t) U deadlock)",
		"not EX deadlock":                "not (E (X (deadlock)))",
		"AF deadlock => EG enabled(t)":   "(A F deadlock) => (E G enabled(t))",
		"AG (enabled(t) U deadlock)":     "A G (enabled(t) U deadlock)",
		"E G F enabled(t) and AX (true)": "(E (G F enabled(t))) and (A X true)",
	} {
		one, err := property.ParseCTL(net(), text)
		other, otherErr := property.ParseCTL(net(), same)
		if err != nil || otherErr != nil || !reflect.DeepEqual(one, other) {
			t.Errorf("%s: %+v, %v; %s: %+v, %v", text, one, err, same, other, otherErr)
		}
	}
}

// What a search of markings answers is asked so, with the meaning that it has.
func TestTemporalKinds(t *testing.T) {
	for text, want := range map[string]property.Kind{"ltl G not deadlock": property.Always,
		"ltl F deadlock": property.Temporal, "ctl AG not deadlock": property.Always,
		"ctl EF deadlock": property.Sometimes, "ctl not EF deadlock": property.Always,
		"ctl AG EF deadlock": property.Temporal, "ltl X deadlock": property.Temporal} {
		word, formula, _ := strings.Cut(text, " ")
		p, err := property.Parse(net(), word, formula)
		if err != nil || p.Kind != want {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
	ltl, err := property.ParseLTL(net(), "X deadlock")
	ctl, ctlErr := property.ParseCTL(net(), "AX deadlock")
	if err != nil || ctlErr != nil || reflect.DeepEqual(ltl, ctl) {
		t.Error("X of LTL has the meaning of CTL in a deadlock")
	}
}

// Texts that are no formulas are refused, with the place and what is wrong there.
func TestTemporalErrors(t *testing.T) {
	for text, says := range map[string]string{
		"ltl AG deadlock":             "AG at character 1 says of which paths",
		"ltl enabled(t) U":            "it ends where",
		"ltl G":                       "it ends where",
		"ltl X(deadlock":              "it ends where )",
		"ctl G deadlock":              "G stands outside of A and E, at character 1",
		"ctl enabled(t) U deadlock":   "U stands outside of A and E, at character 12",
		"ctl A[enabled(t) U deadlock": "it ends where ]",
		"ctl A[deadlock)":             `")" at character 11 is not ]`,
		"always G deadlock":           "G at character 1 looks along paths",
		"sometimes deadlock U true":   "U at character 10 looks along paths",
		"always EF deadlock":          "EF at character 1 says of which paths",
		"never deadlock":              `"never" is not always`,
		"ltl " + strings.Repeat("X ", 2000) + "deadlock":          "nests deeper",
		"ltl " + strings.Repeat("deadlock U ", 2000) + "deadlock": "nests deeper",
		"ctl " + strings.Repeat("AX ", 2000) + "deadlock":         "nests deeper",
		"ltl deadlock ] ": `"]" at character 10 is not`,
	} {
		word, formula, _ := strings.Cut(text, " ")
		if p, err := property.Parse(net(), word, formula); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %+v, %v", text, p, err)
		}
	}
}
