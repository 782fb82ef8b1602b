package property

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/farhash/farhash/internal/regular"
	"github.com/farhash/farhash/petri"
)

// maxFileBytes is the length of the longest file of properties.
const maxFileBytes = 256 << 20

// ReadFile reads the properties of net in a file. See [Read].
func ReadFile(net *petri.Net, path string) ([]Property, error) {
	f, err := regular.OpenStream(path)
	if err != nil {
		return nil, err // names the path already
	}
	defer f.Close() // nothing was written: an error of Close loses nothing
	all, err := Read(net, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// Read reads the properties of net in the XML of the Model Checking Contest. A formula that is
// neither of ReachabilityCardinality, ReachabilityFireability nor UpperBounds is refused, with its
// name and the operator that is not known.
func Read(net *petri.Net, r io.Reader) ([]Property, error) {
	limited := &io.LimitedReader{R: r, N: maxFileBytes}
	var set struct {
		XMLName    xml.Name `xml:"property-set"`
		Properties []struct {
			ID      string `xml:"id"`
			Formula *node  `xml:"formula"`
		} `xml:"property"`
	}
	if err := xml.NewDecoder(limited).Decode(&set); err != nil {
		switch {
		case limited.N <= 0:
			err = fmt.Errorf("the file has more than %d bytes", int64(maxFileBytes))
		case errors.Is(err, io.EOF):
			err = errors.New("it is empty; give the properties of the net as the contest has them")
		}
		return nil, fmt.Errorf("reading properties: %w", err)
	}
	if len(set.Properties) == 0 {
		return nil, errors.New("reading properties: there is none")
	}
	names := namesOf(net)
	all := make([]Property, 0, len(set.Properties))
	for i, p := range set.Properties {
		id := strings.TrimSpace(p.ID)
		if id == "" {
			return nil, fmt.Errorf("reading properties: number %d has no id", i+1)
		}
		if p.Formula == nil || len(p.Formula.Nodes) != 1 {
			return nil, fmt.Errorf("property %s: it needs exactly one formula", id)
		}
		property, err := names.property(&p.Formula.Nodes[0])
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", id, err)
		}
		property.Name = id
		all = append(all, property)
	}
	return all, nil
}

// node is an element of XML with what it contains.
type node struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
	Nodes   []node `xml:",any"`
}

func (n *node) name() string { return n.XMLName.Local }

// only is the only element within.
func (n *node) only() (*node, error) {
	if len(n.Nodes) != 1 {
		return nil, fmt.Errorf("<%s> has %d elements and needs one", n.name(), len(n.Nodes))
	}
	return &n.Nodes[0], nil
}

// property is what the element in <formula> asks.
func (n *names) property(at *node) (Property, error) {
	var kind Kind
	var quantifier string
	switch at.name() {
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
	if temporal.name() != quantifier {
		return Property{}, fmt.Errorf("<%s> of <%s> is of CTL or LTL, which is not supported; "+
			"<%s> is", at.name(), temporal.name(), quantifier)
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
	switch at.name() {
	case "all-paths", "exists-path", "globally", "finally", "next", "until", "before", "reach":
		return fmt.Errorf("<%s> within a formula is of CTL or LTL, which is not supported: a "+
			"formula is <all-paths><globally> or <exists-path><finally> of one marking", at.name())
	}
	return fmt.Errorf("the element <%s> is not known", at.name())
}

// formula is that of an element.
func (n *names) formula(at *node) (*Formula, error) {
	f := &Formula{}
	switch at.name() {
	case "conjunction", "true":
		f.Op = And
	case "disjunction", "false":
		f.Op = Or
	case "negation":
		f.Op = Not
		if _, err := at.only(); err != nil {
			return nil, err
		}
	case "deadlock":
		f.Op = Stuck
		return f, nil
	case "is-fireable":
		return n.fireable(at)
	case "integer-le":
		if len(at.Nodes) != 2 {
			return nil, fmt.Errorf("<integer-le> has %d elements and needs two", len(at.Nodes))
		}
		var err error
		f.Op = AtMost
		if f.Left, err = n.integer(&at.Nodes[0]); err != nil {
			return nil, err
		}
		f.Right, err = n.integer(&at.Nodes[1])
		return f, err
	default:
		return nil, unknown(at)
	}
	for i := range at.Nodes {
		arg, err := n.formula(&at.Nodes[i])
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
	for i := range at.Nodes {
		if at.Nodes[i].name() != "transition" {
			return nil, unknown(&at.Nodes[i])
		}
		t, err := n.transition(strings.TrimSpace(at.Nodes[i].Text))
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
	switch at.name() {
	case "tokens-count":
		return n.tokens(at)
	case "integer-constant":
		value, err := strconv.ParseInt(strings.TrimSpace(at.Text), 10, 64)
		if err != nil || value < -maxNumber || value > maxNumber {
			return Sum{}, fmt.Errorf("<integer-constant> %q is no number of at most %d",
				strings.TrimSpace(at.Text), int64(maxNumber))
		}
		return Sum{Constant: value}, nil
	}
	return Sum{}, unknown(at)
}

// tokens is the sum of the tokens of the places within an element.
func (n *names) tokens(at *node) (Sum, error) {
	var sum Sum
	for i := range at.Nodes {
		if at.Nodes[i].name() != "place" {
			return sum, unknown(&at.Nodes[i])
		}
		place, err := n.place(strings.TrimSpace(at.Nodes[i].Text))
		if err != nil {
			return sum, err
		}
		sum.add(place, 1)
	}
	if len(sum.Terms) == 0 {
		return sum, fmt.Errorf("<%s> names no place", at.name())
	}
	return sum, nil
}
