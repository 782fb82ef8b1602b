package property

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// xmlSpace is the white space of XML; other white space is a part of ids.
	xmlSpace = " \t\r\n"
	// byteOrder is the mark that a file may begin with.
	byteOrder = "\ufeff"
	// maxElements is how deep elements nest.
	maxElements = 10_000
)

// node is an element of XML. It contains elements or text.
type node struct {
	name  string
	line  int
	text  string // without the white space around it
	nodes []*node
}

// ofText reports whether an element contains text. The others contain elements.
func (n *node) ofText() bool {
	switch n.name {
	case "id", "place", "transition", "integer-constant":
		return true
	}
	return false
}

// ofProperty reports whether an element of a <property> is read. Those for people and other tools
// are not.
func (n *node) ofProperty() bool { return n.name == "id" || n.name == "formula" }

// parse reads a file, which is one <property-set>, and returns that.
func parse(r io.Reader) (*node, error) {
	d := xml.NewDecoder(r)
	file := &node{name: "file"}
	open := []*node{file}
	var text []byte // of the innermost element
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err // names the line
		}
		in := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			n := &node{name: t.Name.Local, line: line}
			switch {
			case in.name == "property" && !n.ofProperty():
				if err := d.Skip(); err != nil {
					return nil, err
				}
				continue
			case in == file && len(file.nodes) > 0:
				return nil, fmt.Errorf("line %d: <%s> follows the end of <property-set>; a file "+
					"has one root element", line, n.name)
			case in == file && n.name != "property-set":
				return nil, fmt.Errorf("line %d: the root element is <%s>, not <property-set>",
					line, n.name)
			case in.ofText():
				return nil, fmt.Errorf("line %d: found <%s> inside <%s>, which contains text only",
					line, n.name, in.name)
			case len(open) > maxElements:
				return nil, fmt.Errorf("line %d: elements nest deeper than %d", line, maxElements)
			}
			in.nodes, open, text = append(in.nodes, n), append(open, n), text[:0]
		case xml.EndElement:
			if in.ofText() {
				in.text = strings.Trim(string(text), xmlSpace)
			}
			open = open[:len(open)-1]
		case xml.CharData:
			if in.ofText() {
				text = append(text, t...)
			} else if stray := bytes.Trim(t, xmlSpace+byteOrder); len(stray) > 0 {
				return nil, fmt.Errorf("line %d: found the text %.40q in the <%s>, which contains "+
					"elements only", line, stray, in.name)
			}
		}
	}
	if len(file.nodes) == 0 {
		return nil, errors.New("it is empty; give the properties of the net as the contest has " +
			"them")
	}
	return file.nodes[0], nil
}
