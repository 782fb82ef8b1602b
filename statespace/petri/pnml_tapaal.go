package petri

import (
	"cmp"
	"encoding/xml"
	"strings"
)

// TAPAAL divides a net into components. Each is a <net> with the attribute active, and has ids of
// its own. A node that stands before them as shared is one node of the whole net: every component
// may have a place or a transition of that name, with arcs of its own. If there are several
// components, other nodes get the name of theirs before the id, as in TAPAAL's queries.

// components is what the parser knows of them.
type components struct {
	names       []string // of the active ones so far
	inactive    bool     // some are not active
	constants   map[string]string
	places      map[string]int32 // shared ones by name: index in Places
	transitions map[string]int32 // index in Transitions, or unused
}

// unused is a shared transition that no component has yet.
const unused = -1

// beginNet counts a net and reports whether it is left out, as one that is not active is.
func (p *parser) beginNet(e xml.StartElement) (leaveOut bool, err error) {
	active, err := p.attr(e, "active")
	if err != nil {
		return false, err
	}
	if active == "false" {
		p.inactive = true
		return true, nil
	}
	if p.nets > 0 && (active == "" || len(p.names) < p.nets) {
		return false, p.errorf("a second <net> begins here; split the file into one net per file")
	}
	p.nets++
	if active == "" {
		return false, nil
	}
	name, err := p.attr(e, "id")
	if err != nil {
		return false, err
	}
	p.names = append(p.names, name)
	if p.nets > 1 && (name == "" || p.names[0] == "") {
		return false, p.errorf("a second <net> begins here, and one has no id; each component " +
			"needs one")
	}
	if p.nets == 2 {
		p.qualifyFirst()
	}
	return false, nil
}

// qualify puts the name of a component before an id, and before a name that repeats the id.
func qualify(component string, id, name *string) {
	full := component + "." + *id
	if *name == *id {
		*name = full
	}
	*id = full
}

// qualifyFirst qualifies the nodes of the first component when a second one begins.
func (p *parser) qualifyFirst() {
	shared := make(map[int32]bool)
	for _, i := range p.places {
		shared[i] = true
	}
	for i := range p.net.Places {
		if n := &p.net.Places[i]; !shared[int32(i)] {
			qualify(p.names[0], &n.ID, &n.Name)
		}
	}
	clear(shared)
	for _, i := range p.transitions {
		shared[i] = true
	}
	for i := range p.net.Transitions {
		if n := &p.net.Transitions[i]; !shared[int32(i)] {
			qualify(p.names[0], &n.ID, &n.Name)
		}
	}
}

// enterPlace adds a place of a component, unless it is a shared one that the net has already. It
// returns the index of the place.
func (p *parser) enterPlace(n Place, marked bool) (int32, error) {
	n.Name = cmp.Or(n.Name, n.ID)
	if i, ok := p.places[n.Name]; ok {
		if have := p.net.Places[i].Initial; marked && n.Initial != have {
			return 0, p.errorf("place %s has an initial marking of %d, and the shared place %s "+
				"one of %d", quote(n.ID), n.Initial, quote(n.Name), have)
		}
		return i, nil
	}
	if p.nets > 1 {
		qualify(p.names[p.nets-1], &n.ID, &n.Name)
	}
	p.net.Places = append(p.net.Places, n)
	return int32(len(p.net.Places) - 1), nil
}

// enterTransition is enterPlace of a transition.
func (p *parser) enterTransition(n Transition) int32 {
	n.Name = cmp.Or(n.Name, n.ID)
	i, shared := p.transitions[n.Name]
	switch next := int32(len(p.net.Transitions)); {
	case shared && i != unused:
		return i
	case shared:
		n.ID, p.transitions[n.Name] = n.Name, next
	case p.nets > 1:
		qualify(p.names[p.nets-1], &n.ID, &n.Name)
	}
	p.net.Transitions = append(p.net.Transitions, n)
	return int32(len(p.net.Transitions) - 1)
}

// declaredFirst returns the name of an element that stands before the components, and is the only
// one of that name.
func (p *parser) declaredFirst(e xml.StartElement) (string, error) {
	name, err := p.attr(e, "name")
	if err != nil {
		return "", err
	}
	_, place := p.places[name]
	_, transition := p.transitions[name]
	switch {
	case name == "":
		err = p.errorf("<%s> has no name", e.Name.Local)
	case p.nets > 0:
		err = p.errorf("<%s> %s follows a <net>; move it to the front", e.Name.Local, quote(name))
	case place || transition || p.constants[name] != "":
		err = p.errorf("the name %s is taken; names must differ", quote(name))
	default:
		err = p.attributes(e)
	}
	return name, err
}

func (p *parser) sharedPlace(e xml.StartElement) error {
	name, err := p.declaredFirst(e)
	if err != nil {
		return err
	}
	n := Place{ID: name, Name: name}
	if _, err := p.inPlace(e, &n); err != nil {
		return err
	}
	p.places[name] = int32(len(p.net.Places))
	p.net.Places = append(p.net.Places, n)
	return nil
}

func (p *parser) sharedTransition(e xml.StartElement) error {
	name, err := p.declaredFirst(e)
	if err != nil {
		return err
	}
	p.transitions[name] = unused
	return p.children(p.other)
}

// constant reads a number that weights may name.
func (p *parser) constant(e xml.StartElement) error {
	name, err := p.declaredFirst(e)
	if err != nil {
		return err
	}
	value, err := p.attr(e, "value")
	if err != nil {
		return err
	}
	if value == "" {
		return p.errorf("the constant %s has no value", quote(name))
	}
	p.constants[name] = value
	return p.children(p.other)
}

// differ verifies that nodes of components have ids that differ, now that all have their names.
func (p *parser) differ() error {
	if p.nets < 2 && len(p.places)+len(p.transitions) == 0 {
		return nil // declare has seen to it
	}
	ids := make(map[string]bool, len(p.net.Places)+len(p.net.Transitions))
	enter := func(id string) error {
		if ids[id] {
			return p.errorf("two nodes of the components have the id %s; ids must differ",
				quote(id))
		}
		ids[id] = true
		return nil
	}
	for i := range p.net.Places {
		if err := enter(p.net.Places[i].ID); err != nil {
			return err
		}
	}
	for i := range p.net.Transitions {
		if err := enter(p.net.Transitions[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// dotted are the elements of a coloured net that may stand in a place/transition net of TAPAAL,
// with the values that their attributes must have, "" for any. Its only colour is the dot.
var dotted = map[string]map[string]string{
	"text": {}, "structure": {}, "declarations": {}, "dot": {}, "dotconstant": {}, "add": {},
	"subterm": {}, "numberof": {}, "numberconstant": {"value": ""}, "positive": {},
	"namedsort": {"id": "dot", "name": "dot"},
	"usersort":  {"declaration": "dot"}, "useroperator": {"declaration": "dot"},
}

// dots reads an element of a coloured net, and reports whether it has no colour but the dot. Then
// tokens is the number of dots.
func (p *parser) dots() (tokens int64, plain bool, err error) {
	for depth := len(p.open); len(p.open) >= depth; {
		tok, err := p.next()
		if err != nil {
			return 0, false, err
		}
		switch t := tok.(type) {
		case xml.CharData:
			if !blank(t) && p.open[len(p.open)-1] != "text" {
				return 0, false, nil
			}
		case xml.StartElement:
			values, known := dotted[t.Name.Local]
			for _, a := range t.Attr {
				must, may := values[a.Name.Local]
				known = known && (!own(t, a) || may && (must == "" || must == a.Value))
			}
			if !known {
				return 0, false, nil
			}
			plain = plain || strings.Contains(" dot dotconstant usersort useroperator ",
				" "+t.Name.Local+" ")
			if t.Name.Local == "numberconstant" {
				value, err := p.attr(t, "value")
				if err != nil {
					return 0, false, err
				}
				n, err := p.count("the number of dots", value, p.line, 0, 0)
				if err != nil {
					return 0, false, err
				}
				tokens = min(tokens+n, MaxTokens+1)
			}
		}
	}
	return tokens, plain, nil
}

// dotsOnly is dots of an element that must have no other colour.
func (p *parser) dotsOnly(e xml.StartElement) (int64, error) {
	line := p.line
	tokens, plain, err := p.dots()
	if err == nil && !plain {
		err = p.errorAt(line, "found <%s>, which belongs to coloured nets; %s", e.Name.Local,
			unfold)
	}
	return tokens, err
}
