package petri

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// SyntaxError reports what is wrong with a PNML file, and where.
type SyntaxError struct {
	Line int // counted from 1
	Msg  string
}

// Error returns the message after its line, as in "line 12: ...".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
}

// Read reads the one place/transition net of a PNML file (ISO/IEC 15909-2).
// Whatever is wrong with the file is a *SyntaxError; an error of r comes back
// wrapped. The package comment says what is accepted. A net that Read returns
// passes [Net.Check].
func Read(r io.Reader) (*Net, error) { return Options{}.Read(r) }

// ReadFile reads the PNML file at path like [Read] and names the path in errors. The file may be
// compressed by gzip. ReadFile does not wait for the other end of a pipe: one that nobody has
// opened to write is an empty file.
func ReadFile(path string) (*Net, error) { return Options{}.ReadFile(path) }

// document reads the whole file, which must be one <pnml> with one <net>.
func (p *parser) document() error {
	rooted := false
	for {
		tok, err := p.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if rooted {
				return p.errorf("<%s> follows the end of <pnml>; a file has one root element",
					excerpt(t.Name.Local))
			}
			rooted = true
			if t.Name.Local != "pnml" {
				return p.errorf("the root element is <%s>, not <pnml>: this is no PNML file",
					excerpt(t.Name.Local))
			}
			if err := p.children(p.inDocument); err != nil {
				return err
			}
		case xml.CharData:
			if !blank(t) {
				return p.errorf("not XML: found the text %s outside of any element",
					quote(string(t)))
			}
		}
	}
	switch {
	case p.src.empty:
		return p.errorf("the file is empty; a PNML file begins with <pnml>")
	case !rooted:
		return p.errorf("the file holds no XML element; a PNML file begins with <pnml>")
	case p.nets == 0 && p.inactive:
		return p.errorf("no <net> in the file is active")
	case p.nets == 0:
		return p.errorf("there is no <net> in the file")
	}
	return nil
}

func (p *parser) inDocument(e xml.StartElement) error {
	switch e.Name.Local {
	case "net":
		return p.aNet(e)
	case "shared-place":
		return p.sharedPlace(e)
	case "shared-transition":
		return p.sharedTransition(e)
	case "constant":
		return p.constant(e)
	case "declaration":
		_, err := p.dotsOnly(e)
		return err
	case "query", "k-bound", "feature": // of TAPAAL: questions, and what its editor shows
		return p.skip()
	}
	return p.other(e)
}

func (p *parser) aNet(e xml.StartElement) error {
	if leaveOut, err := p.beginNet(e); err != nil {
		return err
	} else if leaveOut {
		return p.skip()
	}
	id, err := p.attr(e, "id")
	if err != nil {
		return err
	}
	uri, err := p.attr(e, "type")
	if err != nil {
		return err
	}
	if !isPlaceTransition(uri) {
		return p.errorf("the net type %s is not a place/transition net (ptnet); %s",
			quote(uri), remedyOfType(uri))
	}
	if err := p.attributes(e); err != nil {
		return err
	}
	switch {
	case p.nets > 1:
		p.net.Name += "+" + id
	case id != "":
		p.net.Name = id
	default:
		p.net.Name, err = p.attr(e, "name")
	}
	if err != nil {
		return err
	}
	return p.children(p.inNet)
}

// isPlaceTransition reports whether a type URI means a place/transition net.
// A file without a type is taken for one, and so are those of the core model and of
// EPNML, which tools of process mining write: anything coloured in it is refused
// where it appears.
func isPlaceTransition(uri string) bool {
	uri = strings.TrimRight(strings.ToLower(uri), "/")
	if uri == "" {
		return true
	}
	slash := strings.LastIndexByte(uri, '/')
	if slash > 0 && uri[slash-1] == 'p' && (slash == 1 || uri[slash-2] == '/') {
		slash -= 2 // the slash of "P/T net" separates nothing
	}
	last := uri[slash+1:]
	return strings.HasPrefix(last, "ptnet") || strings.HasPrefix(last, "pt net") ||
		strings.HasPrefix(last, "p/t") || strings.HasPrefix(last, "epnml") ||
		last == "pnmlcoremodel"
}

// remedyOfType says what to do about a net of another type.
func remedyOfType(uri string) string {
	uri = strings.ToLower(uri)
	for _, coloured := range []string{"symmetric", "highlevel", "hlpn", "colo", "hlnet"} {
		if strings.Contains(uri, coloured) {
			return unfold
		}
	}
	return "if the net has plain places, transitions and arcs alone, write " + ptnetType
}

func (p *parser) inNet(e xml.StartElement) error {
	switch e.Name.Local {
	case "name":
		l, err := p.label()
		if err == nil && p.net.Name == "" {
			p.net.Name = l.text
		}
		return err
	case "declaration":
		_, err := p.dotsOnly(e)
		return err
	case "finalmarkings":
		return p.finalMarkings()
	}
	return p.inPage(e)
}

// inPage reads an element of a page, or of a net that does without pages.
func (p *parser) inPage(e xml.StartElement) error {
	switch e.Name.Local {
	case "page":
		if _, err := p.declare(e, kindPage); err != nil {
			return err
		}
		if err := p.attributes(e); err != nil {
			return err
		}
		return p.children(p.inPage)
	case "place":
		return p.place(e)
	case "transition":
		return p.transition(e)
	case "referencePlace":
		return p.reference(e, kindRefPlace)
	case "referenceTransition":
		return p.reference(e, kindRefTransition)
	case "arc", "inputArc", "outputArc", "inhibitorArc": // the last three of TAPAAL's engine
		return p.arc(e)
	default:
		return p.other(e)
	}
}

func (p *parser) place(e xml.StartElement) error {
	i, err := p.declare(e, kindPlace)
	if err != nil {
		return err
	}
	if err := p.attributes(e); err != nil {
		return err
	}
	place := Place{ID: p.nodes[i].id}
	if place.Name, err = p.attr(e, "name"); err != nil {
		return err
	}
	marked, err := p.inPlace(e, &place)
	if err != nil {
		return err
	}
	p.nodes[i].to, err = p.enterPlace(place, marked)
	return err
}

// inPlace reads what a place is marked with, and its name, and reports whether there is a marking.
func (p *parser) inPlace(e xml.StartElement, place *Place) (marked bool, err error) {
	what := "the initial marking of place " + quote(place.ID)
	tokens, err := p.attr(e, "initialMarking")
	if err != nil {
		return false, err
	}
	marked = tokens != ""
	if place.Initial, err = p.count(what, tokens, p.line, 0, 0); err != nil {
		return false, err
	}
	dots, dotted := int64(0), false
	err = p.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "name":
			l, err := p.label()
			place.Name = cmp.Or(l.text, place.Name)
			return err
		case "initialMarking":
			if marked {
				return p.errorf("place %s has a second <initialMarking>", quote(place.ID))
			}
			marked = true
			place.Initial, err = p.number(e, what, 0, 0)
			return err
		case "hlinitialMarking":
			dotted = true
			n, err := p.dotsOnly(e)
			dots += n
			return err
		case "capacity":
			return p.capacity(e, place.ID)
		case "type":
			line := p.line
			_, plain, err := p.dots()
			if err == nil && !plain {
				err = p.errorAt(line, "place %s has a <type>: it is coloured; %s", quote(place.ID),
					unfold)
			}
			return err
		case "invariant":
			return p.delayLabel(e, "place "+quote(place.ID))
		case "initialMarkingAge":
			return p.ages(e, "place "+quote(place.ID))
		default:
			return p.other(e)
		}
	})
	if err == nil && dotted && dots != place.Initial {
		err = p.errorf("%s is %d, and <hlinitialMarking> has %d dots", what, place.Initial, dots)
	}
	return marked, err
}

// capacity refuses a bounded place, whose firing rule is another one. Some
// editors write a capacity of 0 for a place without bound.
func (p *parser) capacity(e xml.StartElement, id string) error {
	line := p.line
	most, err := p.number(e, "the capacity of place "+quote(id), 0, 0)
	if err == nil && most > 0 {
		err = p.errorAt(line, "place %s has capacity %d, and capacities are not supported; "+
			"add a complementary place instead", quote(id), most)
	}
	return err
}

func (p *parser) transition(e xml.StartElement) error {
	i, err := p.declare(e, kindTransition)
	if err != nil {
		return err
	}
	t := Transition{ID: p.nodes[i].id}
	if err := p.attributes(e); err != nil {
		return err
	}
	if t.Name, err = p.attr(e, "name"); err != nil {
		return err
	}
	r := rank{line: p.line}
	if r.priority, err = p.attr(e, "priority"); err != nil {
		return err
	}
	err = p.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "name":
			l, err := p.label()
			t.Name = cmp.Or(l.text, t.Name)
			return err
		case "priority":
			value, err := p.plainLabel(e)
			r.priority = cmp.Or(value, r.priority)
			return err
		case "timed", "rate", "infiniteServer":
			return p.delayLabel(e, "transition "+quote(t.ID))
		}
		return p.other(e)
	})
	if err == nil {
		err = p.priority(t.ID, r)
	}
	p.nodes[i].to = p.enterTransition(t)
	return err
}

func (p *parser) reference(e xml.StartElement, k kind) error {
	i, err := p.declare(e, k)
	if err != nil {
		return err
	}
	ref, err := p.attr(e, "ref")
	if err != nil {
		return err
	}
	if ref == "" {
		return p.errorf("<%s> %s has no ref attribute; it must name the node that it stands for",
			e.Name.Local, quote(p.nodes[i].id))
	}
	// intern may move p.nodes: it comes before the assignment.
	to := p.intern(ref)
	p.nodes[i].to = to
	if err := p.attributes(e); err != nil {
		return err
	}
	return p.children(p.other)
}

func (p *parser) arc(e xml.StartElement) error {
	a := arc{weight: 1, line: p.line}
	var err error
	if a.id, err = p.attr(e, "id"); err != nil {
		return err
	}
	if a.from, err = p.end(e, "source"); err != nil {
		return err
	}
	if a.to, err = p.end(e, "target"); err != nil {
		return err
	}
	style, err := p.attr(e, "type")
	if err != nil {
		return err
	}
	if e.Name.Local == "inhibitorArc" {
		style = "inhibitor"
	}
	if err := p.arcKind(&a, style, p.line); err != nil {
		return err
	}
	if err := p.attributes(e); err != nil {
		return err
	}
	inscribed, err := p.weightByAttributes(e, &a)
	if err != nil {
		return err
	}
	name, dots, dotted := label{}, int64(0), false
	err = p.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "inscription":
			if inscribed {
				return p.errorf("the arc %s has a second <inscription>", p.arcName(a))
			}
			inscribed = true
			return p.inscription(e, &a)
		case "hlinscription":
			dotted = true
			n, err := p.dotsOnly(e)
			dots += n
			return err
		case "type", "arctype":
			return p.arcType(e, &a)
		case "inhibitor", "reset", "read", "test":
			return p.arcMark(e, &a)
		case "name":
			name, err = p.label()
			return err
		default:
			return p.other(e)
		}
	})
	p.arcs = append(p.arcs, a)
	if err == nil && dotted && dots != a.weight {
		err = p.errorf("the arc %s has the weight %d, and <hlinscription> %d dots", p.arcName(a),
			a.weight, dots)
	}
	if err != nil {
		return err
	}
	return p.notAWeight(name, a)
}

// inscription reads the weight of an arc, or the ages of the tokens that it takes.
func (p *parser) inscription(e xml.StartElement, a *arc) error {
	what := "the weight of the arc " + p.arcName(*a)
	l, err := p.onlyLabel(e, what)
	if err != nil {
		return err
	}
	if is, err := p.interval(*a, l.text, l.line); is || err != nil {
		return err
	}
	a.weight, err = p.count(what, l.text, l.line, 1, 1)
	return err
}

// end returns the node that an arc names as its source or target. The node may
// follow later in the file.
func (p *parser) end(e xml.StartElement, name string) (int32, error) {
	id, err := p.attr(e, name)
	if err != nil {
		return 0, err
	}
	if id == "" {
		return 0, p.errorf("<%s> has no %s attribute; it must name a place or a transition",
			e.Name.Local, name)
	}
	return p.intern(id), nil
}

// arcType reads <type value="..."/>, <type><text>...</text></type> or
// <type>...</type> of an arc.
func (p *parser) arcType(e xml.StartElement, a *arc) error {
	line := p.line
	value, err := p.attr(e, "value")
	if err != nil {
		return err
	}
	if err := p.attributes(e); err != nil {
		return err
	}
	text, err := p.text()
	if err != nil {
		return err
	}
	if err := p.arcKind(a, value, line); err != nil {
		return err
	}
	return p.arcKind(a, text, line)
}

// arcMark reads <inhibitor/> and the like in an arc, which must be empty.
func (p *parser) arcMark(e xml.StartElement, a *arc) error {
	line := p.line
	if err := p.onlyAttributes(e); err != nil {
		return err
	}
	text, err := p.text()
	if err != nil {
		return err
	}
	if text != "" {
		return p.errorAt(line, "<%s> in <arc> has the text %s; it must be empty", e.Name.Local,
			quote(text))
	}
	return p.arcKind(a, e.Name.Local, line)
}

// arcKind notes what type an arc has. Some tools call the plain one regular, and TAPAAL timed.
func (p *parser) arcKind(a *arc, style string, line int) error {
	kind := kindNormal
	switch strings.ToLower(style) {
	case "":
		return nil
	case "normal", "regular", "timed":
	case "inhibitor", "tapninhibitor":
		kind = kindInhibitor
	case "read", "test":
		kind = kindRead
	case "reset":
		kind = kindReset
	default:
		return p.errorAt(line, "found an arc of type %s, which is not supported; replace it by a "+
			"construction of normal, inhibitor, read and reset arcs", quote(style))
	}
	if a.typed && a.kind != kind {
		return p.errorAt(line, "the arc %s has two types, one of them %s; leave one out",
			p.arcName(*a), quote(style))
	}
	a.kind, a.typed = kind, true
	return nil
}
