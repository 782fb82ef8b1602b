package petri

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxNesting bounds the elements open at a time, hence the recursion over
	// pages. Real files stay below 20.
	maxNesting = 1000

	// xmlSpace is the white space of XML; other white space is text like any.
	xmlSpace = " \t\r\n"

	// unfold is the remedy for what belongs to coloured nets.
	unfold = "unfold the coloured net into a place/transition net first"
)

// parser reads one PNML file token by token. Its methods for an element begin
// after the start tag and return after the end tag.
type parser struct {
	src  *source
	dec  *xml.Decoder
	line int      // where the latest token begins
	open []string // the elements that enclose the latest token

	nets  int // that have begun and are not left out
	net   Net
	ids   map[key]int32 // to the index in nodes
	nodes []node
	arcs  []arc
	final [][]arc // of final markings: to a node, with its tokens
	first rank    // of the first transition
	components
}

func newParser(r io.Reader, options Options) (*parser, error) {
	p := &parser{src: &source{r: r, options: options}, line: 1, ids: make(map[key]int32),
		components: components{constants: make(map[string]string),
			places: make(map[string]int32), transitions: make(map[string]int32)}}
	in, known, err := decode(p.src)
	if err != nil {
		return nil, p.errorf("%v", err)
	}
	p.dec = xml.NewDecoder(in)
	p.dec.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if known {
			return in, nil
		}
		return charset(label, in)
	}
	return p, nil
}

// source remembers the error of the underlying reader, to distinguish it
// from the lines of the XML, and keeps to the limits.
type source struct {
	r       io.Reader
	options Options
	err     error // other than io.EOF
	empty   bool  // ended without a byte
	read    int64 // bytes
	begin   int64 // that had been read when the latest token began
}

func (s *source) Read(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err // the reader may have recovered, but what it lost is missing
	}
	n, err := s.r.Read(b)
	s.read += int64(n)
	switch {
	case s.read > s.options.FileBytes:
		n, err = 0, s.options.fileTooLong()
	case s.read-s.begin > s.options.TextBytes+readBytes: // the tag may be among the latest
		n, err = 0, s.options.textTooLong()
	}
	switch {
	case err == io.EOF:
		s.empty = s.read == 0
	case err != nil:
		s.err = err
	}
	return n, err
}

// next returns the next token, and io.EOF after the root element.
func (p *parser) next() (xml.Token, error) {
	// Text between tags is a token too: a token begins where its predecessor ends.
	p.line, _ = p.dec.InputPos()
	p.src.begin = p.src.read
	tok, err := p.dec.Token()
	var over limitError
	if errors.As(p.src.err, &over) { // also where a text ends there, as if it were whole
		return nil, p.errorf("%v", over)
	}
	if err != nil {
		return nil, p.readError(err)
	}
	switch t := tok.(type) {
	case xml.StartElement:
		if len(p.open) == maxNesting {
			return nil, p.errorf("elements are nested more than %d deep", maxNesting)
		}
		p.open = append(p.open, t.Name.Local)
	case xml.EndElement:
		p.open = p.open[:len(p.open)-1]
	}
	return tok, nil
}

// readError explains an error of the XML decoder.
func (p *parser) readError(err error) error {
	if p.src.err != nil {
		return fmt.Errorf("line %d: reading PNML: %w", p.line, p.src.err)
	}
	if err == io.EOF {
		return err
	}
	var bad *xml.SyntaxError
	if !errors.As(err, &bad) {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // what charset says
		}
		return p.errorf("%s", strings.TrimPrefix(err.Error(), "xml: "))
	}
	if bad.Msg == "unexpected EOF" {
		where := "a tag"
		if len(p.open) > 0 {
			where = "<" + excerpt(p.open[len(p.open)-1]) + ">"
		}
		return p.errorAt(bad.Line, "the file ends inside %s; it is truncated", where)
	}
	return p.errorAt(bad.Line, "not well-formed XML: %s", excerpt(bad.Msg))
}

func (p *parser) errorf(format string, args ...any) *SyntaxError {
	return p.errorAt(p.line, format, args...)
}

func (p *parser) errorAt(line int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)}
}

// children calls f for each child of the element, which holds no text: a number there would be one
// that is meant, and not read.
func (p *parser) children(f func(xml.StartElement) error) error {
	in := p.open[len(p.open)-1]
	for {
		tok, err := p.next()
		if err != nil {
			return err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if err := f(t); err != nil {
				return err
			}
		case xml.CharData:
			if !blank(t) {
				return p.errorf("found the text %s inside <%s>, which holds elements only",
					quote(string(t)), in)
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip passes over the element, whatever it holds.
func (p *parser) skip() error {
	for depth := len(p.open); len(p.open) >= depth; {
		if _, err := p.next(); err != nil {
			return err
		}
	}
	return nil
}

// passOver passes over an element that does not matter. It refuses what makes a
// net coloured and what is part of a net, but stands where nobody reads it.
// Only <toolspecific>, <graphics> and <finalmarkings> may hold anything.
func (p *parser) passOver(e xml.StartElement) error {
	for depth := len(p.open); ; {
		switch e.Name.Local {
		case "toolspecific", "graphics", "finalmarkings":
			if err := p.skip(); err != nil {
				return err
			}
		default:
			if err := p.misplaced(e); err != nil {
				return err
			}
		}
		e = xml.StartElement{}
		for e.Name.Local == "" {
			if len(p.open) < depth {
				return nil
			}
			tok, err := p.next()
			if err != nil {
				return err
			}
			e, _ = tok.(xml.StartElement)
		}
	}
}

// misplaced refuses elements of coloured nets, and elements of a net in a place where nobody reads
// them.
func (p *parser) misplaced(e xml.StartElement) error {
	switch e.Name.Local {
	case "hlinitialMarking", "hlinscription", "declaration", "structure", "condition":
		return p.errorf("found <%s>, which belongs to coloured nets; %s", e.Name.Local, unfold)
	case "net", "page", "place", "transition", "arc", "referencePlace", "referenceTransition",
		"initialMarking", "inscription":
		return p.errorf("found <%s> where it does not belong; nodes and arcs stand in a "+
			"<page> of the <net>, initial markings in places, inscriptions in arcs",
			e.Name.Local)
	}
	return nil
}

// attr returns an attribute without the white space around it, "" if absent.
func (p *parser) attr(e xml.StartElement, name string) (string, error) {
	value, found := "", false
	for _, a := range e.Attr {
		if a.Name.Local != name || !own(e, a) {
			continue
		}
		if found {
			return "", p.errorf("not well-formed XML: <%s> has two attributes %s",
				e.Name.Local, name)
		}
		value, found = strings.Trim(a.Value, xmlSpace), true
	}
	return value, nil
}

// label is the content of a PNML label.
type label struct {
	text  string
	line  int
	found int    // number of <text> elements
	stray string // what else it holds, "" for nothing
}

// label reads <text>...</text> in the element. The first standards wrote
// <value> for <text>.
func (p *parser) label() (label, error) {
	l := label{line: p.line}
	for {
		tok, err := p.next()
		if err != nil {
			return l, err
		}
		switch t := tok.(type) {
		case xml.EndElement:
			return l, nil
		case xml.CharData:
			if !blank(t) {
				l.stray = "the text " + quote(string(t))
			}
		case xml.StartElement:
			switch t.Name.Local {
			case "text", "value":
				l.line = p.line
				l.found++
				if a := firstOwn(t, "id"); a != "" {
					l.stray = "the attribute " + excerpt(a) + " of <" + t.Name.Local + ">"
				}
				l.text, err = p.plainText()
			case "graphics", "toolspecific":
				err = p.skip()
			default:
				l.stray = "<" + excerpt(t.Name.Local) + ">"
				err = p.passOver(t)
			}
			if err != nil {
				return l, err
			}
		}
	}
}

// plainText returns the text of an element that holds nothing else.
func (p *parser) plainText() (string, error) {
	name := p.open[len(p.open)-1]
	var b strings.Builder
	for {
		tok, err := p.next()
		if err != nil {
			return "", err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			return "", p.errorf("found <%s> inside <%s>, which holds text only",
				excerpt(t.Name.Local), name)
		case xml.CharData:
			b.Write(t)
		case xml.EndElement:
			return strings.Trim(b.String(), xmlSpace), nil
		}
	}
}

// text returns all text in the element and in its <text> without the white space
// around it.
func (p *parser) text() (string, error) {
	var b strings.Builder
	for depth := len(p.open); len(p.open) >= depth; {
		tok, err := p.next()
		if err != nil {
			return "", err
		}
		switch t := tok.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			switch t.Name.Local {
			case "text", "value":
				err = p.onlyAttributes(t, "id")
			case "graphics", "toolspecific":
				err = p.skip()
			default:
				err = p.refuse(t)
			}
			if err != nil {
				return "", err
			}
		}
	}
	return strings.Trim(b.String(), xmlSpace), nil
}

// number reads a label that holds a number of least to MaxTokens. An empty
// label means standard.
func (p *parser) number(e xml.StartElement, what string, least, standard int64) (int64, error) {
	l, err := p.onlyLabel(e, what)
	if err != nil {
		return 0, err
	}
	return p.count(what, l.text, l.line, least, standard)
}

// onlyLabel reads a label that holds one text and nothing more.
func (p *parser) onlyLabel(e xml.StartElement, what string) (label, error) {
	if err := p.onlyAttributes(e, "id"); err != nil {
		return label{}, err
	}
	l, err := p.label()
	switch {
	case err != nil:
		return l, err
	case l.found > 1:
		return l, p.errorAt(l.line, "%s has a second <text>", what)
	case l.stray != "":
		return l, p.errorAt(l.line, "%s holds %s; the number must stand in a <text> element",
			what, l.stray)
	}
	return l, nil
}

// count reads a number of least to MaxTokens. An empty text means standard. PIPE
// names the class of the tokens before their number; its only class, unless a net
// is coloured, is Default.
func (p *parser) count(what, text string, line int, least, standard int64) (int64, error) {
	if text == "" {
		return standard, nil
	}
	v, err := strconv.ParseInt(strings.TrimPrefix(text, "Default,"), 10, 64)
	if err != nil || v < least || v > MaxTokens {
		remedy := ""
		if strings.Contains(text, ",") {
			remedy = "; if it has tokens of colours, " + unfold
		}
		return 0, p.errorAt(line, "%s is %s; it must be a whole number from %d to %d%s",
			what, quote(text), least, int64(MaxTokens), remedy)
	}
	return v, nil
}

func blank(text []byte) bool {
	return len(bytes.Trim(text, xmlSpace)) == 0
}

// excerpt shortens text from a file to what fits in a message.
func excerpt(s string) string {
	const longest = 100
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "..."
}

// quote returns an excerpt of s in quotes, without line breaks.
func quote(s string) string {
	return strconv.Quote(excerpt(strings.Trim(s, xmlSpace)))
}
