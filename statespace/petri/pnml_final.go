package petri

import (
	"cmp"
	"encoding/xml"
	"slices"
)

// ProM and pm4py name the markings in which a run should end, in <finalmarkings> of a net.

// finalMarkings reads them. It passes over what it does not know in them.
func (p *parser) finalMarkings() error {
	return p.children(func(e xml.StartElement) error {
		if e.Name.Local != "marking" {
			return p.skip()
		}
		marking := []arc{}
		err := p.children(func(e xml.StartElement) error {
			if e.Name.Local != "place" {
				return p.skip()
			}
			a := arc{line: p.line}
			id, err := p.attr(e, "idref")
			if err != nil {
				return err
			}
			l, err := p.label()
			if err != nil {
				return err
			}
			what := "a final marking of place " + quote(id)
			if a.weight, err = p.count(what, l.text, l.line, 0, 0); err != nil || a.weight == 0 {
				return err
			}
			a.to = p.intern(id)
			marking = append(marking, a)
			return nil
		})
		p.final = append(p.final, marking)
		return err
	})
}

// attachFinal gives the net its final markings, now that all places are known.
func (p *parser) attachFinal() error {
	for _, tokens := range p.final {
		marking := []Arc{}
		for _, a := range tokens {
			n := p.nodes[a.to]
			if p.isReference(a.to) {
				n = p.nodes[n.to]
			}
			if n.kind != kindPlace {
				return p.errorAt(a.line, "a final marking has tokens in %s, which is no place of "+
					"the net", quote(n.id))
			}
			marking = append(marking, Arc{Place: int(n.to), Weight: a.weight})
		}
		slices.SortFunc(marking, func(a, b Arc) int { return cmp.Compare(a.Place, b.Place) })
		for i := 1; i < len(marking); i++ {
			if marking[i-1].Place == marking[i].Place {
				return p.errorAt(tokens[0].line, "a final marking names place %s twice",
					quote(p.net.Places[marking[i].Place].ID))
			}
		}
		p.net.Final = append(p.net.Final, marking)
	}
	return nil
}
