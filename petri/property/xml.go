package property

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/farhash/farhash/internal/regular"
	"github.com/farhash/farhash/petri"
)

// maxFileBytes is the length of the longest file of properties.
const maxFileBytes = 256 << 20

// ReadFile reads the properties of net from a file in the XML of the Model Checking Contest. A
// formula of another examination than ReachabilityCardinality, ReachabilityFireability and
// UpperBounds is refused, with its name and the operator that is not known. So is whatever would
// leave out or contradict a property: an id that is taken, a second id or formula of one property,
// text or elements out of place.
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
	return p, nil
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
	var kind Kind
	var quantifier string
	switch at.name {
	case "place-bound":
		sum, err := n.tokens(at)
		return Property{Kind: Bound, Sum: sum}, err
	case "negation":
		inner, err := at.only()
		if err != nil {
			return Property{}, err
		}
		p, err := n.property(inner)
		if err != nil {
			return p, err
		}
		if p.Kind == Bound {
			return p, errors.New("<negation> of a bound is no formula")
		}
		p.Kind, p.Formula = Always+Sometimes-p.Kind, negation(p.Formula)
		return p, nil
	case "all-paths":
		kind, quantifier = Always, "globally"
	case "exists-path":
		kind, quantifier = Sometimes, "finally"
	default:
		return Property{}, unknown(at)
	}
	temporal, err := at.only()
	if err != nil {
		return Property{}, err
	}
	if temporal.name != quantifier {
		return Property{}, fmt.Errorf("<%s> of <%s> is of CTL or LTL, which is not supported; "+
			"<%s> is", at.name, temporal.name, quantifier)
	}
	inner, err := temporal.only()
	if err != nil {
		return Property{}, err
	}
	f, err := n.formula(inner)
	return Property{Kind: kind, Formula: f}, err
}

// unknown is the error for an element that is not supported.
func unknown(at *node) error {
	switch at.name {
	case "all-paths", "exists-path", "globally", "finally", "next", "until", "before", "reach":
		return fmt.Errorf("<%s> within a formula is of CTL or LTL, which is not supported: a "+
			"formula is <all-paths><globally> or <exists-path><finally> of one marking", at.name)
	}
	return fmt.Errorf("the element <%s> is not known", at.name)
}

// formula is the formula of an element.
func (n *names) formula(at *node) (*Formula, error) {
	f := &Formula{}
	switch at.name {
	case "true", "false", "deadlock":
		f.Op = map[string]Op{"true": And, "false": Or, "deadlock": Stuck}[at.name]
		if len(at.nodes) > 0 {
			return nil, fmt.Errorf("<%s> contains <%s>", at.name, at.nodes[0].name)
		}
		return f, nil
	case "conjunction", "disjunction":
		f.Op = map[string]Op{"conjunction": And, "disjunction": Or}[at.name]
		if len(at.nodes) == 0 {
			return nil, fmt.Errorf("<%s> contains no formula", at.name)
		}
	case "negation":
		f.Op = Not
		if _, err := at.only(); err != nil {
			return nil, err
		}
	case "is-fireable":
		return n.fireable(at)
	case "integer-le":
		if len(at.nodes) != 2 {
			return nil, fmt.Errorf("<integer-le> has %d elements and needs two", len(at.nodes))
		}
		var err error
		f.Op = AtMost
		if f.Left, err = n.integer(at.nodes[0]); err != nil {
			return nil, err
		}
		f.Right, err = n.integer(at.nodes[1])
		return f, err
	default:
		return nil, unknown(at)
	}
	for i := range at.nodes {
		arg, err := n.formula(at.nodes[i])
		if err != nil {
			return nil, err
		}
		f.Args = append(f.Args, arg)
	}
	return f, nil
}

// fireable is the formula that one of some transitions is enabled.
func (n *names) fireable(at *node) (*Formula, error) {
	f := &Formula{Op: Enabled}
	for i := range at.nodes {
		if at.nodes[i].name != "transition" {
			return nil, unknown(at.nodes[i])
		}
		t, err := n.transition(at.nodes[i].text)
		if err != nil {
			return nil, err
		}
		f.Transitions = append(f.Transitions, t)
	}
	if len(f.Transitions) == 0 {
		return nil, errors.New("<is-fireable> names no transition")
	}
	return f, nil
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
