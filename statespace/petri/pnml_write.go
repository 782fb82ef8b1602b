package petri

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const ptnetType = "http://www.pnml.org/version-2009/grammar/ptnet"

// Write writes n as PNML on one page, such that [Read] returns an equal net.
// The file is valid PNML where the ids of the net are XML names and it is
// [Net.Plain]: the standard has no inhibitor and reset arcs. A net that
// fails [Net.Check] is refused before anything is written.
func Write(w io.Writer, n *Net) error {
	if err := n.Check(); err != nil {
		return fmt.Errorf("writing PNML: %w", err)
	}
	out := &writer{buf: bufio.NewWriterSize(w, 64<<10), prefix: freePrefix(n)}
	out.put(xml.Header, `<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">`, "\n  <net")
	if n.Name != "" {
		out.attr("id", n.Name)
	}
	out.attr("type", ptnetType)
	out.put(">\n    <page")
	out.attr("id", out.prefix+"page")
	out.put(">\n")
	for i := range n.Places {
		out.place(&n.Places[i])
	}
	for i := range n.Transitions {
		out.transition(&n.Transitions[i])
	}
	for i := range n.Transitions {
		t := &n.Transitions[i]
		for _, a := range t.In {
			out.arc(kindNormal, n.Places[a.Place].ID, t.ID, a.Weight)
		}
		for _, a := range t.Out {
			out.arc(kindNormal, t.ID, n.Places[a.Place].ID, a.Weight)
		}
		for _, a := range t.Inhibitors {
			out.arc(kindInhibitor, n.Places[a.Place].ID, t.ID, a.Weight)
		}
		for _, place := range t.Resets {
			out.arc(kindReset, n.Places[place].ID, t.ID, 1)
		}
	}
	out.put("    </page>\n")
	out.final(n)
	out.put("  </net>\n</pnml>\n")
	if err := out.buf.Flush(); err != nil {
		return fmt.Errorf("writing PNML: %w", err)
	}
	return nil
}

// freePrefix returns a prefix that no id of n has, for the ids of the page and
// the arcs.
func freePrefix(n *Net) string {
	prefix := "_"
	for {
		taken := strings.HasPrefix(n.Name, prefix)
		for i := range n.Places {
			taken = taken || strings.HasPrefix(n.Places[i].ID, prefix)
		}
		for i := range n.Transitions {
			taken = taken || strings.HasPrefix(n.Transitions[i].ID, prefix)
		}
		if !taken {
			return prefix
		}
		prefix += "_"
	}
}

// writer writes pieces of XML. Errors wait in the buffer until Flush.
type writer struct {
	buf    *bufio.Writer
	prefix string
	arcs   int
}

func (w *writer) put(parts ...string) {
	for _, s := range parts {
		w.buf.WriteString(s)
	}
}

func (w *writer) escape(s string) {
	// The error is the buffer's, which keeps it.
	_ = xml.EscapeText(w.buf, []byte(s))
}

func (w *writer) attr(name, value string) {
	w.put(" ", name, `="`)
	w.escape(value)
	w.put(`"`)
}

func (w *writer) label(element, text string) {
	w.put("        <", element, "><text>")
	w.escape(text)
	w.put("</text></", element, ">\n")
}

func (w *writer) place(p *Place) {
	w.put("      <place")
	w.attr("id", p.ID)
	w.put(">\n")
	w.label("name", p.Name)
	if p.Initial != 0 {
		w.label("initialMarking", strconv.FormatInt(p.Initial, 10))
	}
	w.put("      </place>\n")
}

func (w *writer) transition(t *Transition) {
	w.put("      <transition")
	w.attr("id", t.ID)
	w.put(">\n")
	w.label("name", t.Name)
	w.put("      </transition>\n")
}

// arc writes the type of an arc as PIPE does.
func (w *writer) arc(kind arcKind, source, target string, weight int64) {
	w.arcs++
	w.put("      <arc")
	w.attr("id", w.prefix+strconv.Itoa(w.arcs))
	w.attr("source", source)
	w.attr("target", target)
	if weight == 1 && kind == kindNormal {
		w.put("/>\n")
		return
	}
	w.put(">\n")
	if weight != 1 {
		w.label("inscription", strconv.FormatInt(weight, 10))
	}
	if kind != kindNormal {
		w.put("        <type")
		w.attr("value", kind.String())
		w.put("/>\n")
	}
	w.put("      </arc>\n")
}

// final writes final markings as ProM does.
func (w *writer) final(n *Net) {
	if len(n.Final) == 0 {
		return
	}
	w.put("    <finalmarkings>\n")
	for _, marking := range n.Final {
		w.put("      <marking>\n")
		for _, a := range marking {
			w.put("        <place")
			w.attr("idref", n.Places[a.Place].ID)
			w.put("><text>", strconv.FormatInt(a.Weight, 10), "</text></place>\n")
		}
		w.put("      </marking>\n")
	}
	w.put("    </finalmarkings>\n")
}
