package property_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// net has places a, b and "c d", and transitions t (needs 2 of a) and u-1 (needs b).
func net() *petri.Net {
	return &petri.Net{Name: "small",
		Places: []petri.Place{{ID: "a", Initial: 3}, {ID: "b"}, {ID: "c d", Initial: 1}},
		Transitions: []petri.Transition{
			{ID: "t", In: []petri.Arc{{Place: 0, Weight: 2}},
				Out: []petri.Arc{{Place: 1, Weight: 1}}},
			{ID: "u-1", In: []petri.Arc{{Place: 1, Weight: 1}}},
		}}
}

func TestParseFormula(t *testing.T) {
	n := net()
	for text, want := range map[string][3]bool{ // in (3 0 1), (1 1 1), (1 0 1)
		"tokens(a) <= 1":                             {false, true, true},
		"tokens(a) >= 2":                             {true, false, false},
		"tokens(a) < 1":                              {false, false, false},
		"tokens(a) > 2 or tokens(b) = 1":             {true, true, false},
		"tokens(a)==3 || tokens(b)!=0":               {true, true, false},
		"2*tokens(a) - 3 <= tokens(b)":               {false, true, true},
		"tokens(a)-1 <= tokens(b)":                   {false, true, true},
		"- tokens(a) + 4 > 2 * tokens(b, \"c d\")":   {false, false, true},
		"-2 + tokens(a, b) = 0":                      {false, true, false},
		"enabled(t)":                                 {true, false, false},
		"enabled(t, u-1)":                            {true, true, false},
		"not enabled(u-1) and not enabled(t)":        {false, false, true},
		"deadlock":                                   {false, false, true},
		"!deadlock && (true and not false)":          {true, true, false},
		"false or not (enabled(t) or deadlock)":      {false, true, false},
		"tokens(a)<=1 <=> enabled(t)":                {false, false, false},
		"enabled(t) <=> tokens(b) = 1 <=> true":      {false, false, true},
		"tokens(a) = 1 => tokens(b) = 1 => false":    {true, false, true},
		"enabled(t)=>deadlock or tokens(a)=3":        {true, true, true},
		"3-tokens(a)-1 > tokens(b)-1":                {false, true, true},
		"-1 - tokens(b) = -tokens(a)":                {false, false, true},
		"tokens(*) = 4 and tokens(*d) = 1":           {true, false, false},
		"tokens(a*,b*,b) = 3":                        {true, true, false},
		"enabled(u*1)":                               {false, true, false},
		"not tokens(a) = 1 and tokens(b) = 1":        {false, false, false},
		strings.Repeat("(true) and ", 1500) + "true": {true, true, true},
	} {
		f, err := property.ParseFormula(n, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, m := range [][]int64{{3, 0, 1}, {1, 1, 1}, {1, 0, 1}} {
			if got := property.Holds(f, n, m); got != want[i] {
				t.Errorf("%s in %v: %v", text, m, got)
			}
		}
	}
}

func TestParseFormulaWrong(t *testing.T) {
	for text, says := range map[string]string{
		"":                         "it ends where tokens(PLACE) or a number must follow",
		"tokens(a)":                "it ends where <=",
		"tokens(a) <= 1 2":         `"2" at character 16 is not and, or, =>, <=> or the end`,
		"tokens(x) <= 1":           `no place with the id "x"`,
		"tokens(t) <= 1":           `"t" is a transition of the net and no place`,
		"enabled(a)":               `"a" is a place of the net and no transition`,
		"enabled()":                "is not the id of a transition",
		"enabled(u*2)":             "the net has no transition whose id matches u*2",
		"tokens(\"*\") = 1":        `no place with the id "*"`,
		"tokens(a) = 1 <=>":        "it ends where",
		"enabled(t":                "it ends where ) must follow",
		"(tokens(a) <= 1":          "it ends where ) must follow",
		"not":                      "it ends where",
		"tokens(a) <= 1 and":       "it ends where",
		"tokens(c d) <= 1":         `no place with the id "c"`,
		"tokens(\"a) <= 1":         `is not the id of a place`,
		"tokens(a) & tokens(b)":    `"&" at character 11 is not <=`,
		"3 tokens(a) <= 1":         `"tokens" at character 3 is not <=`,
		`"not" tokens(a) <= 1`:     `"not" at character 1 is not tokens(PLACE)`,
		`"1" <= tokens(a)`:         `"1" at character 1 is not tokens(PLACE)`,
		`tokens("") <= 1`:          "is not the id of a place",
		"tokens(a) <= 99999999999": "99999999999 is more than",
		strings.Repeat("(", 2000):  "nests deeper than 1000",
		"ä = 1":                    `"ä" at character 1 is not tokens(PLACE)`,
	} {
		_, err := property.ParseFormula(net(), text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %v, want %q", text, err, says)
		}
	}
}

func TestParseSum(t *testing.T) {
	s, err := property.ParseSum(net(), "2*tokens(a) + tokens(b, a) + 7")
	want := property.Sum{Constant: 7, Terms: []property.Term{{Place: 0, Weight: 3},
		{Place: 1, Weight: 1}}}
	if err != nil || !reflect.DeepEqual(s, want) || s.Value([]int64{3, 5, 1}) != 21 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"", "tokens(a) <= 1", "tokens(a) +", "3000000000*tokens(a)",
		"-2000000000*tokens(a)"} {
		if _, err := property.ParseSum(net(), text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// xmlOf is a file with one property.
func xmlOf(formula string) string {
	return `<?xml version="1.0"?><property-set xmlns="http://mcc.lip6.fr/"><property>
<id> p-0 </id><description>d</description><formula>` + formula + `</formula></property>
</property-set>`
}

func TestRead(t *testing.T) {
	const le = `<integer-le><tokens-count><place>a</place><place>c d</place></tokens-count>
<integer-constant>2</integer-constant></integer-le>`
	for text, want := range map[string]struct {
		kind property.Kind
		same string // as a formula in text
	}{
		"<all-paths><globally>" + le + "</globally></all-paths>": {property.Always,
			`tokens(a, "c d") <= 2`},
		"<exists-path><finally><negation>" + le + "</negation></finally></exists-path>": {
			property.Sometimes, `not tokens(a, "c d") <= 2`},
		"<negation><exists-path><finally>" + le + "</finally></exists-path></negation>": {
			property.Always, `not tokens(a, "c d") <= 2`},
		`<exists-path><finally><conjunction><is-fireable><transition>t</transition>
<transition>u-1</transition></is-fireable><disjunction>` + le + `<deadlock/></disjunction>
</conjunction></finally></exists-path>`: {property.Sometimes,
			`enabled(t, u-1) and (tokens(a, "c d") <= 2 or deadlock)`},
	} {
		all, err := property.Read(net(), strings.NewReader(xmlOf(text)))
		if err != nil || len(all) != 1 || all[0].Name != "p-0" || all[0].Kind != want.kind {
			t.Errorf("%s: %+v, %v", text, all, err)
			continue
		}
		f, err := property.ParseFormula(net(), want.same)
		if err != nil || !reflect.DeepEqual(f, all[0].Formula) {
			t.Errorf("%s: %+v, want the formula of %s (%v)", text, all[0].Formula, want.same, err)
		}
	}
	all, err := property.Read(net(), strings.NewReader(xmlOf(
		"<place-bound><place>b</place><place>a</place></place-bound>")))
	want := []property.Term{{Place: 0, Weight: 1}, {Place: 1, Weight: 1}}
	if err != nil || all[0].Kind != property.Bound || !reflect.DeepEqual(all[0].Sum.Terms, want) {
		t.Errorf("%+v, %v", all, err)
	}
}

// What one marking does not decide is a formula that looks along paths.
func TestReadTemporal(t *testing.T) {
	stuck := logic.Leaf(property.Stuck{})
	of := logic.Of
	for text, want := range map[string]*logic.Formula{
		"<deadlock/>": stuck,
		"<all-paths><finally><deadlock/></finally></all-paths>": of(logic.Forall,
			of(logic.Finally, stuck)),
		"<all-paths><globally><exists-path><next><deadlock/></next></exists-path></globally>" +
			"</all-paths>": of(logic.Forall, of(logic.Globally,
			of(logic.Exists, of(logic.Next, stuck)))),
		"<exists-path><until><before><globally><deadlock/></globally></before><reach>" +
			"<negation><deadlock/></negation></reach></until></exists-path>": of(logic.Exists,
			of(logic.Until, of(logic.Globally, stuck), of(logic.Not, stuck))),
		"<conjunction><exists-path><finally><deadlock/></finally></exists-path><true/>" +
			"</conjunction>": of(logic.And, of(logic.Exists, of(logic.Finally, stuck)),
			of(logic.And)),
	} {
		all, err := property.Read(net(), strings.NewReader(xmlOf(text)))
		if err != nil || all[0].Kind != property.Temporal ||
			!reflect.DeepEqual(all[0].Formula, want) {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
}

// fine is a property.
const fine = "<property><id>p</id><formula><place-bound><place>a</place></place-bound></formula>" +
	"</property>"

// setOf is a file with some properties.
func setOf(properties string) string { return "<property-set>" + properties + "</property-set>" }

// marked is the property that a formula holds in some reachable marking.
func marked(formula string) string {
	return "<exists-path><finally>" + formula + "</finally></exists-path>"
}

// What is no part of a property's meaning is passed over.
func TestReadPassesOver(t *testing.T) {
	for _, text := range []string{
		setOf(fine),
		"\ufeff<?xml version='1.0'?>\n<!-- a --><!DOCTYPE property-set>" + setOf(fine) +
			"\n<!-- b -->\n",
		setOf(`<property><id>p</id><description>of <i>a</i> or <id>q</id></description>
<tags><is-structural>false</is-structural></tags><formula><place-bound>
<place> a<!-- b --></place></place-bound></formula></property>`),
	} {
		all, err := property.Read(net(), strings.NewReader(text))
		if err != nil || len(all) != 1 || all[0].Name != "p" || len(all[0].Sum.Terms) != 1 {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
}

func TestReadWrong(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "it is empty"},
		{"<property-set/>", "there is none"},
		{"<pnml>\n<place><name/></place></pnml>",
			"line 1: the root element is <pnml>, not <property-set>"},
		{"<property-set><property></prop>", "syntax error"},
		{xmlOf(""), "property p-0: it needs exactly one formula"},
		{xmlOf("<exists-path><finally><all-paths/></finally></exists-path>"),
			"property p-0: <all-paths> has 0 elements and needs one"},
		{xmlOf("<negation><until/></negation>"),
			"<until> is of paths, and stands outside of <all-paths> and <exists-path>"},
		{xmlOf("<all-paths><until><true/><true/></until></all-paths>"),
			"<until> needs a <before> and then a <reach>"},
		{xmlOf("<all-paths><until><before/><reach><true/></reach></until></all-paths>"),
			"<before> has 0 elements and needs one"},
		{xmlOf("<exists-path><finally><xor/></finally></exists-path>"),
			"element <xor> is not known"},
		{xmlOf("<place-bound/>"), "<place-bound> names no place"},
		{xmlOf("<place-bound><x/></place-bound>"), "element <x> is not known"},
		{xmlOf("<negation><place-bound><place>a</place></place-bound></negation>"),
			"<place-bound> is no part of a formula"},
		{xmlOf("<place-bound><place>z</place></place-bound>"), `no place with the id "z"`},
		{xmlOf("<all-paths><globally><is-fireable/></globally></all-paths>"),
			"names no transition"},
		{xmlOf(`<all-paths><globally><integer-le><integer-constant>x</integer-constant>
<integer-constant>1</integer-constant></integer-le></globally></all-paths>`), `"x" is no number`},
		{xmlOf(marked(`<integer-le><integer-constant>-99999999999</integer-constant>
<integer-constant>1</integer-constant></integer-le>`)), `"-99999999999" is no number`},
		{xmlOf(marked("<integer-le>" + strings.Repeat("<integer-constant>1</integer-constant>", 3) +
			"</integer-le>")), "<integer-le> has 3 elements and needs two"},
		{xmlOf(marked("<conjunction/>")), "<conjunction> contains no formula"},
		{xmlOf(marked("<true><false/></true>")), "<true> contains <false>"},
		{xmlOf(marked("<deadlock><true/></deadlock>")), "<deadlock> contains <true>"},
		{xmlOf(marked("<negation><true/><true/></negation>")), "<negation> has 2 elements"},
		{xmlOf("<place-bound><place>a\n<x/></place></place-bound>"),
			"line 3: found <x> inside <place>, which contains text only"},
		{xmlOf("<place-bound>\nb<place>a</place></place-bound>"),
			`found the text "b" in the <place-bound>, which contains elements only`},
		{xmlOf("<place-bound><place>a\u00a0</place></place-bound>"),
			`no place with the id "a\u00a0"`},
		{xmlOf(marked(strings.Repeat("<negation>", 10_000))), "nest deeper than 10000"},

		// What would be left out, or contradict what is answered.
		{setOf(fine) + "\n" + setOf(fine),
			"line 2: <property-set> follows the end of <property-set>; a file has one root"},
		{setOf(fine) + "\nmore", `found the text "more" in the <file>`},
		{"more" + setOf(fine), `line 1: found the text "more" in the <file>`},
		{setOf(fine) + "<", "syntax error"},
		{setOf(fine + "more"), `found the text "more" in the <property-set>`},
		{setOf(fine + "\n" + fine), "line 2: the id p is taken since line 1; ids must differ"},
		{setOf(fine + "\n" + strings.Replace(fine, ">p<", ">q<", 1) + "\n" +
			fine), "line 3: the id p is taken since line 1; ids must differ"},
		{setOf(fine + "\n<properties/>"),
			"line 2: found <properties> where a <property> must stand"},
		{setOf("<property>\n<id>p</id>\n<id>q</id></property>"),
			"line 3: a second <id> of the property in line 1"},
		{setOf("<property><id>p</id><formula/>\n<formula/></property>"),
			"line 2: a second <formula> of the property in line 1"},
		{setOf("\n<property><id> </id></property>"), "line 2: the property has no id"},
		{setOf("<property><id>p<b/></id></property>"), "found <b> inside <id>"},
		{setOf("<property><id>p</id></property>"), "property p: it needs exactly one formula"},
	} {
		_, err := property.Read(net(), strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
}

// An error of a file names it.
func TestReadWrongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.xml")
	if err := os.WriteFile(path, []byte(xmlOf("<until/>")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + ".none", t.TempDir()} {
		_, err := property.ReadFile(net(), path)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The value of a formula depends on the places of both sides, and on inputs of transitions.
func TestPlaces(t *testing.T) {
	for text, want := range map[string][]int{
		"tokens(a) <= tokens(b)":                   {0, 1},
		"enabled(t)":                               {0},
		"not (tokens(b) <= 1 and enabled(u-1))":    {1, 1},
		"deadlock or 0 <= tokens(\"c d\") or true": {2},
	} {
		f, err := property.ParseFormula(net(), text)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		property.Places(f, net(), func(place int) { got = append(got, place) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: places %v, want %v", text, got, want)
		}
	}
	inhibited := petri.Net{Transitions: []petri.Transition{
		{In: []petri.Arc{{Place: 3, Weight: 1}}, Inhibitors: []petri.Arc{{Place: 5, Weight: 2}}}}}
	var got []int
	property.Places(logic.Leaf(property.Enabled{0}), &inhibited, func(place int) {
		got = append(got, place)
	})
	if !reflect.DeepEqual(got, []int{3, 5}) {
		t.Errorf("places %v of a transition with an inhibitor arc", got)
	}
}

func TestExamination(t *testing.T) {
	for _, name := range property.Examinations() {
		if p, err := property.Examination(net(), name); err != nil || p.Name != name {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	safe, _ := property.Examination(net(), "OneSafe")
	if !property.Holds(safe.Formula, net(), []int64{1, 1, 1}) ||
		property.Holds(safe.Formula, net(), []int64{1, 2, 0}) {
		t.Errorf("OneSafe: %+v", safe)
	}
	dead, _ := property.Examination(net(), "ReachabilityDeadlock")
	if dead.Kind != property.Sometimes || dead.Formula.Atom != any(property.Stuck{}) {
		t.Errorf("ReachabilityDeadlock: %+v", dead)
	}
	_, err := property.Examination(net(), "x")
	if err == nil || !strings.Contains(err.Error(), "use one of") {
		t.Errorf("error %v", err)
	}
}

func FuzzParseFormula(f *testing.F) {
	for _, text := range []string{"tokens(a) <= 1", "not (enabled(t) or deadlock)", `"`, "a-b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := net()
		if formula, err := property.ParseFormula(n, text); err == nil {
			property.Holds(formula, n, n.Initial())
		}
	})
}

// X of a formula of LTL is asked of the initial marking as well, in case that is a deadlock.
func TestReadNextOfLTL(t *testing.T) {
	for id, want := range map[string]logic.Op{"N-LTLFireability-03": logic.And,
		"N-CTLFireability-03": logic.Forall} {
		text := strings.Replace(xmlOf("<all-paths><next><integer-le><tokens-count><place>a"+
			"</place></tokens-count><integer-constant>1</integer-constant></integer-le></next>"+
			"</all-paths>"),
			" p-0 ", id, 1)
		all, err := property.Read(net(), strings.NewReader(text))
		if err != nil || len(all) != 1 || all[0].Formula.Op != want {
			t.Errorf("%s: %+v, %v, want %v", id, all, err, want)
		}
	}
}
