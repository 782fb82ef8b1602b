package petri

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

// Tools add elements and attributes of their own to the standard's. A reader that passed over
// those it does not know would read another net: a transport arc would become a plain one. So the
// parser passes over those that are listed here, reads or checks those that it knows, and refuses
// all others.

// harmless are the elements of tools that do not change a net, whatever they hold. Nodes and arcs
// in them are refused all the same.
var harmless = []string{
	"toolspecific", "graphics", "name", "description", "comment", "documentation",
	"finalmarkings",   // of ProM and pm4py, where a net is not
	"labels", "token", // of PIPE: notes, and the colour that tokens are drawn in
	"orientation", // of PIPE: how a transition is drawn
	// Of PIPE: questions, and numbers with a name, which is refused where it stands for the number.
	"stategroup", "definition",
	"tagged", "arcpath", "exported",
}

// drawing are the attributes of all elements that do not change a net.
var drawing = []string{
	"id", "name", "displayName", "x", "y", "width", "height", "angle", "color", "description",
	"positionX", "positionY", "nameOffsetX", "nameOffsetY", "markingOffsetX", "markingOffsetY",
}

// waits is the value of attributes of timing: untimed has the one that they may have.
const waits = "waits"

// attributes are those that elements may have beside drawing, each with the one value that it may
// have, "" for any: the parser reads these itself.
var attributes = map[string]map[string]string{
	"net":                 {"type": "", "active": "true"},
	"page":                {},
	"place":               {"initialMarking": "", "capacity": "0", "invariant": waits},
	"shared-place":        {"initialMarking": "", "invariant": waits},
	"constant":            {"value": ""},
	"referencePlace":      {"ref": ""},
	"referenceTransition": {"ref": ""},
	"transition": {"timed": waits, "priority": "", "urgent": waits, "player": "0",
		"infiniteServer": waits, "distribution": waits, "value": waits, "rate": waits,
		"weight": waits},
	"shared-transition": {"urgent": waits, "player": "0", "distribution": waits, "value": waits,
		"rate": waits, "weight": waits},
	"arc":          {"source": "", "target": "", "type": "", "inscription": "", "weight": ""},
	"inputArc":     {"source": "", "target": "", "inscription": "", "weight": ""},
	"outputArc":    {"source": "", "target": "", "inscription": "", "weight": ""},
	"inhibitorArc": {"source": "", "target": "", "inscription": "", "weight": ""},
	"type":         {"value": ""},
	"arctype":      {"value": ""},
}

// own reports whether an attribute belongs to the vocabulary of its element, which is so if it
// has no prefix or that of the element.
func own(e xml.StartElement, a xml.Attr) bool {
	return a.Name.Space == "" && a.Name.Local != "xmlns" ||
		a.Name.Space != "" && a.Name.Space == e.Name.Space
}

// firstOwn is the first attribute of an element other than those given, "" if there is none.
func firstOwn(e xml.StartElement, others ...string) string {
	for _, a := range e.Attr {
		if own(e, a) && !slices.Contains(others, a.Name.Local) {
			return a.Name.Local
		}
	}
	return ""
}

// onlyAttributes refuses all attributes but those given.
func (p *parser) onlyAttributes(e xml.StartElement, known ...string) error {
	if a := firstOwn(e, known...); a != "" {
		return p.unknownAttribute(e, a)
	}
	return nil
}

func (p *parser) unknownAttribute(e xml.StartElement, name string) error {
	return p.errorf("<%s> has the attribute %s, which is not known here and may change the "+
		"net; leave it out if it does not", excerpt(e.Name.Local), excerpt(name))
}

// nodeName names an element by its id, or by its name if it has none.
func nodeName(e xml.StartElement) string {
	id, name := "", ""
	for _, a := range e.Attr {
		switch {
		case own(e, a) && a.Name.Local == "id":
			id = a.Value
		case own(e, a) && a.Name.Local == "name":
			name = a.Value
		}
	}
	return e.Name.Local + " " + quote(cmp.Or(id, name))
}

// attributes refuses attributes that may change the net and that nobody reads.
func (p *parser) attributes(e xml.StartElement) error {
	values := attributes[e.Name.Local]
	for _, a := range e.Attr {
		if !own(e, a) || slices.Contains(drawing, a.Name.Local) {
			continue
		}
		must, known := values[a.Name.Local]
		if !known && isParameter(e, a.Name.Local) {
			continue
		}
		if !known {
			return p.unknownAttribute(e, a.Name.Local)
		}
		if must == "" {
			continue
		}
		if must == waits {
			if err := p.delay(nodeName(e), a.Name.Local, a.Value); err != nil {
				return err
			}
			continue
		}
		if value := strings.ReplaceAll(strings.Trim(a.Value, xmlSpace), " ", ""); value != "" &&
			value != must {
			return p.errorf("<%s> has the attribute %s=%s, which is not supported and may "+
				"change the net", e.Name.Local, a.Name.Local, quote(a.Value))
		}
	}
	return nil
}

// other reads an element of a tool, or one in a place that is not its own.
func (p *parser) other(e xml.StartElement) error {
	if slices.Contains(harmless, e.Name.Local) {
		return p.passOver(e)
	}
	return p.refuse(e)
}

// refuse is the error for an element that may change the net.
func (p *parser) refuse(e xml.StartElement) error {
	in, name := "the file", excerpt(e.Name.Local)
	if len(p.open) > 1 {
		in = "<" + excerpt(p.open[len(p.open)-2]) + ">"
	}
	if err := p.misplaced(e); err != nil {
		return err
	}
	if strings.HasSuffix(strings.ToLower(name), "arc") || in == "<arc>" {
		return p.errorf("found <%s> in %s, which is not supported; replace it by a construction "+
			"of normal, inhibitor, read and reset arcs, or leave it out if it does not change the "+
			"net", name, in)
	}
	return p.errorf("found <%s> in %s, which is not known here and may change the net; leave it "+
		"out, or move it into <toolspecific>, if it does not", name, in)
}

// weightByAttributes reads the weight of an arc from its attributes inscription and weight. TAPAAL
// writes an interval or 1 as the inscription, whatever the weight is, which may be a constant.
func (p *parser) weightByAttributes(e xml.StartElement, a *arc) (found bool, err error) {
	for _, name := range []string{"inscription", "weight"} {
		text, err := p.attr(e, name)
		if err != nil {
			return false, err
		}
		if text == "" {
			continue
		}
		if name == "inscription" {
			if is, err := p.interval(*a, text, p.line); err != nil {
				return false, err
			} else if is {
				continue
			}
		} else {
			text = cmp.Or(p.constants[text], text)
		}
		what := "the attribute " + name + " of the arc " + p.arcName(*a)
		weight, err := p.count(what, text, p.line, 1, 1)
		if err != nil {
			return false, err
		}
		if found && a.weight != 1 && weight != a.weight {
			return false, p.errorf("the arc %s has an inscription of %d and a weight of %d; "+
				"leave one out", p.arcName(*a), a.weight, weight)
		}
		a.weight, found = weight, true
	}
	return found, nil
}

// notAWeight refuses an arc whose name is a number other than its weight. Tools that write
// the weight as the name as well show it beside the arc.
func (p *parser) notAWeight(name label, a arc) error {
	n, err := strconv.ParseInt(name.text, 10, 64)
	if err != nil || n == a.weight {
		return nil
	}
	return p.errorAt(name.line, "the arc %s has the name %d and the weight %d; leave out the "+
		"name, or write the weight as its <inscription>", p.arcName(a), n, a.weight)
}

// plainLabel reads a label without anything else.
func (p *parser) plainLabel(e xml.StartElement) (string, error) {
	if err := p.onlyAttributes(e, "id"); err != nil {
		return "", err
	}
	l, err := p.label()
	if err == nil && (l.stray != "" || l.found > 1) {
		err = p.errorAt(l.line, "<%s> holds more than one <text>", e.Name.Local)
	}
	return l.text, err
}
