package property

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
)

// maxFileBytes is the length of the longest file of properties.
const maxFileBytes = 256 << 20

// ReadFile reads the properties of net from a file in the XML of the Model Checking Contest: of its
// examinations on reachability, upper bounds, CTL and LTL. Whatever would leave out or contradict a
// property is refused, with its name: an operator that is not known, an id that is taken, a second
// id or formula of one property, text or elements out of place.
func ReadFile(net *petri.Net, path string) ([]Property, error) {
	f, err := regular.OpenStream(path)
	if err != nil {
		return nil, err // names the path already
	}
	defer f.Close() // nothing was written: an error of Close loses nothing
	all, err := read(net, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// read is [ReadFile] of what is open.
func read(net *petri.Net, r io.Reader) ([]Property, error) {
	limited := &io.LimitedReader{R: r, N: maxFileBytes + 1}
	set, err := parse(limited)
	if limited.N <= 0 {
		err = fmt.Errorf("the file has more than %d bytes", int64(maxFileBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("reading properties: %w", err)
	}
	if len(set.nodes) == 0 {
		return nil, errors.New("reading properties: there is none")
	}
	names := namesOf(net)
	lines := make(map[string]int, len(set.nodes)) // of the properties by their ids
	all := make([]Property, 0, len(set.nodes))
	for _, at := range set.nodes {
		p, err := names.read(at)
		if err != nil {
			return nil, err
		}
		if line := lines[p.Name]; line > 0 {
			return nil, fmt.Errorf("reading properties: line %d: the id %s is taken since line "+
				"%d; ids must differ", at.line, p.Name, line)
		}
		lines[p.Name] = at.line
		all = append(all, p)
	}
	return all, nil
}

// read reads a <property>.
func (n *names) read(at *node) (Property, error) {
	wrong := func(line int, format string, args ...any) (Property, error) {
		return Property{}, fmt.Errorf("reading properties: line %d: %w", line,
			fmt.Errorf(format, args...))
	}
	if at.name != "property" {
		return wrong(at.line, "found <%s> where a <property> must stand", at.name)
	}
	parts := map[string]*node{}
	for _, part := range at.nodes {
		if first := parts[part.name]; first != nil {
			return wrong(part.line, "a second <%s> of the property in line %d", part.name, at.line)
		}
		parts[part.name] = part
	}
	id, formula := parts["id"], parts["formula"]
	if id == nil || id.text == "" {
		return wrong(at.line, "the property has no id")
	}
	if formula == nil || len(formula.nodes) != 1 {
		return wrong(at.line, "property %s: it needs exactly one formula", id.text)
	}
	p, err := n.property(formula.nodes[0])
	if err != nil {
		return wrong(at.line, "property %s: %w", id.text, err)
	}
	p.Name = id.text
	if p.Kind == Temporal && strings.Contains(p.Name, "-LTL") {
		p.Formula = repeating(p.Formula)
	}
	return p, nil
}

// repeating is a formula of LTL whose meaning is not that of CTL in a deadlock: the contest takes
// the last marking of a path to repeat for ever. A X p of CTL is true there, so p is asked as well.
// The other operators that stand alone are the same in both, and several within one A are LTL.
func repeating(f *logic.Formula) *logic.Formula {
	if f.Op != logic.Forall || f.Args[0].Op != logic.Next || f.Args[0].Args[0].Looks() {
		return f
	}
	goesOn := logic.Of(logic.Not, logic.Leaf(Stuck{}))
	return logic.Of(logic.And, f, logic.Of(logic.Or, goesOn, f.Args[0].Args[0]))
}

// only is the only element within.
func (n *node) only() (*node, error) {
	if len(n.nodes) != 1 {
		return nil, fmt.Errorf("<%s> has %d elements and needs one", n.name, len(n.nodes))
	}
	return n.nodes[0], nil
}

// property is what the element in <formula> asks.
func (n *names) property(at *node) (Property, error) {
	if at.name == "place-bound" {
		sum, err := n.tokens(at)
		return Property{Kind: Bound, Sum: sum}, err
	}
	f, err := n.formula(at, false)
	if err != nil {
		return Property{}, err
	}
	return propertyOf(f), nil
}

// propertyOf is the property that a formula holds initially. If a single marking may decide it, it
// is Always or Sometimes.
func propertyOf(f *logic.Formula) Property {
	inner, not := f, false
	for ; inner.Op == logic.Not; inner = inner.Args[0] {
		not = !not
	}
	kind, wanted := Always, logic.Globally
	if inner.Op == logic.Exists {
		kind, wanted = Sometimes, logic.Finally
	}
	if inner.Op != logic.Exists && inner.Op != logic.Forall || inner.Args[0].Op != wanted ||
		inner.Args[0].Args[0].Looks() {
		return Property{Kind: Temporal, Formula: f}
	}
	f = inner.Args[0].Args[0]
	if not {
		kind, f = Always+Sometimes-kind, logic.Of(logic.Not, f)
	}
	return Property{Kind: kind, Formula: f}
}

// unknown is the error for an element that is not known.
func unknown(at *node) error {
	if at.name == "place-bound" {
		return errors.New("<place-bound> is no part of a formula: one property asks for the " +
			"value of a bound alone")
	}
	return fmt.Errorf("the element <%s> is not known", at.name)
}

// operators are the elements that have other formulas within, or nothing.
var operators = map[string]logic.Op{"conjunction": logic.And, "disjunction": logic.Or,
	"negation": logic.Not, "exists-path": logic.Exists, "all-paths": logic.Forall,
	"next": logic.Next, "finally": logic.Finally, "globally": logic.Globally,
	"until": logic.Until, "true": logic.And, "false": logic.Or}

// formula is the formula of an element, of a path or of a marking.
func (n *names) formula(at *node, path bool) (*logic.Formula, error) {
	switch at.name {
	case "is-fireable":
		return n.fireable(at)
	case "integer-le":
		return n.atMost(at)
	case "deadlock":
		_, err := operands(at, logic.Atom)
		return logic.Leaf(Stuck{}), err
	}
	op, known := operators[at.name]
	if !known {
		return nil, unknown(at)
	}
	if op > logic.Forall && !path {
		return nil, fmt.Errorf("<%s> is of paths, and stands outside of <all-paths> and "+
			"<exists-path>", at.name)
	}
	nodes, err := operands(at, op)
	if err != nil {
		return nil, err
	}
	f := logic.Of(op)
	for _, arg := range nodes {
		g, err := n.formula(arg, path || op == logic.Exists || op == logic.Forall)
		if err != nil {
			return nil, err
		}
		f.Args = append(f.Args, g)
	}
	return f, nil
}

// operands are the formulas within an element.
func operands(at *node, op logic.Op) ([]*node, error) {
	n := len(at.nodes)
	switch {
	case at.name == "true" || at.name == "false" || at.name == "deadlock":
		if n > 0 {
			return nil, fmt.Errorf("<%s> contains <%s>", at.name, at.nodes[0].name)
		}
		return nil, nil
	case op == logic.And || op == logic.Or:
		if n == 0 {
			return nil, fmt.Errorf("<%s> contains no formula", at.name)
		}
		return at.nodes, nil
	case op != logic.Until:
		_, err := at.only()
		return at.nodes, err
	case n != 2 || at.nodes[0].name != "before" || at.nodes[1].name != "reach":
		return nil, errors.New("<until> needs a <before> and then a <reach>")
	}
	before, err := at.nodes[0].only()
	if err != nil {
		return nil, err
	}
	reach, err := at.nodes[1].only()
	return []*node{before, reach}, err
}

// atMost is the formula that an integer is at most another.
func (n *names) atMost(at *node) (*logic.Formula, error) {
	if len(at.nodes) != 2 {
		return nil, fmt.Errorf("<integer-le> has %d elements and needs two", len(at.nodes))
	}
	left, err := n.integer(at.nodes[0])
	if err != nil {
		return nil, err
	}
	right, err := n.integer(at.nodes[1])
	return logic.Leaf(&AtMost{Left: left, Right: right}), err
}

// fireable is the formula that one of some transitions is enabled.
func (n *names) fireable(at *node) (*logic.Formula, error) {
	var all Enabled
	for i := range at.nodes {
		if at.nodes[i].name != "transition" {
			return nil, unknown(at.nodes[i])
		}
		t, err := n.transition(at.nodes[i].text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, errors.New("<is-fireable> names no transition")
	}
	return logic.Leaf(all), nil
}

// integer is the sum of an element.
func (n *names) integer(at *node) (Sum, error) {
	switch at.name {
	case "tokens-count":
		return n.tokens(at)
	case "integer-constant":
		value, err := strconv.ParseInt(at.text, 10, 64)
		if err != nil || value < -maxNumber || value > maxNumber {
			return Sum{}, fmt.Errorf("<integer-constant> %q is no number of at most %d",
				at.text, int64(maxNumber))
		}
		return Sum{Constant: value}, nil
	}
	return Sum{}, unknown(at)
}

// tokens is the sum of the tokens of the places within an element.
func (n *names) tokens(at *node) (Sum, error) {
	var sum Sum
	for i := range at.nodes {
		if at.nodes[i].name != "place" {
			return sum, unknown(at.nodes[i])
		}
		place, err := n.place(at.nodes[i].text)
		if err != nil {
			return sum, err
		}
		sum.add(place, 1)
	}
	if len(sum.Terms) == 0 {
		return sum, fmt.Errorf("<%s> names no place", at.name)
	}
	return sum, nil
}
