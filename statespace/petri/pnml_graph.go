package petri

import (
	"cmp"
	"encoding/xml"
	"slices"
)

// kind is what an id of a file stands for.
type kind uint8

const (
	kindNone kind = iota // named by an arc or a reference, not declared yet
	kindPage
	kindPlace
	kindTransition
	kindRefPlace
	kindRefTransition
)

// node is what an id stands for.
type node struct {
	id   string
	kind kind
	line int   // of the declaration
	to   int32 // index in Places or Transitions, or the node referred to
}

// arcKind is what an arc does.
type arcKind uint8

const (
	kindNormal arcKind = iota
	kindRead
	kindInhibitor
	kindReset
)

// String is the kind in a sentence before "arc".
func (k arcKind) String() string {
	return [...]string{"normal", "read", "inhibitor", "reset"}[k]
}

// arc is an arc between two nodes as the file has it.
type arc struct {
	id       string // empty if it has none
	from, to int32
	weight   int64
	line     int
	kind     arcKind
	typed    bool // the file says so
}

// key names a node: ids of components may repeat.
type key struct {
	component int
	id        string
}

// intern returns the node of an id, which need not be declared.
func (p *parser) intern(id string) int32 {
	k := key{p.nets, id}
	i, ok := p.ids[k]
	if !ok {
		i = int32(len(p.nodes))
		p.ids[k] = i
		p.nodes = append(p.nodes, node{id: id})
	}
	return i
}

// declare enters the id of an element.
func (p *parser) declare(e xml.StartElement, k kind) (int32, error) {
	id, err := p.attr(e, "id")
	if err != nil {
		return 0, err
	}
	if id == "" {
		return 0, p.errorf("<%s> has no id; give it one of its own", e.Name.Local)
	}
	i := p.intern(id)
	n := &p.nodes[i]
	if k == kindPage && n.kind == kindTransition {
		return 0, p.errorf("the page %s refines the transition of line %d, and subprocesses are "+
			"not supported; replace the transition by the places and transitions of the page",
			quote(id), n.line)
	}
	if n.kind != kindNone {
		return 0, p.errorf("the id %s is taken since line %d; ids must differ", quote(id), n.line)
	}
	n.kind, n.line = k, p.line
	return i, nil
}

func (p *parser) arcName(a arc) string {
	return "from " + quote(p.nodes[a.from].id) + " to " + quote(p.nodes[a.to].id)
}

// build makes the net, now that all nodes are known.
func (p *parser) build() (*Net, error) {
	if err := p.resolve(); err != nil {
		return nil, err
	}
	flows := make([]flow, len(p.arcs))
	for i, a := range p.arcs {
		f, err := p.flow(a)
		if err != nil {
			return nil, err
		}
		flows[i] = f
	}
	slices.SortStableFunc(flows, flow.compare)
	for i := 1; i < len(flows); i++ {
		if f, g := flows[i-1], flows[i]; f.id != "" && f.compare(g) == 0 {
			return nil, p.errorAt(g.line, "the arc %s between place %s and transition %s is there "+
				"since line %d; give it another id, or leave one out", quote(g.id),
				quote(p.net.Places[g.place].ID), quote(p.net.Transitions[g.transition].ID), f.line)
		}
	}
	if err := p.attach(flows); err != nil {
		return nil, err
	}
	if err := p.attachFinal(); err != nil {
		return nil, err
	}
	if err := p.differ(); err != nil {
		return nil, err
	}
	return &p.net, nil
}

// resolve makes every reference node lead to its place or transition directly.
func (p *parser) resolve() error {
	var chain []int32
	done := make([]bool, len(p.nodes))
	seen := make([]bool, len(p.nodes))
	for first := range p.nodes {
		chain = chain[:0]
		last := int32(first)
		for p.isReference(last) && !done[last] {
			if seen[last] {
				n := p.nodes[last]
				return p.errorAt(n.line, "the reference %s leads back to itself; "+
					"it must lead to a place or a transition", quote(n.id))
			}
			seen[last] = true
			chain = append(chain, last)
			next, err := p.follow(p.nodes[last])
			if err != nil {
				return err
			}
			last = next
		}
		if done[last] {
			last = p.nodes[last].to
		}
		for _, i := range chain {
			p.nodes[i].to, done[i] = last, true
		}
	}
	return nil
}

func (p *parser) isReference(i int32) bool {
	k := p.nodes[i].kind
	return k == kindRefPlace || k == kindRefTransition
}

// follow returns the node that a reference node names, which must be of the
// same sort.
func (p *parser) follow(n node) (int32, error) {
	to := p.nodes[n.to]
	switch {
	case to.kind == kindNone:
		return 0, p.errorAt(n.line, "the reference %s names %s, which is not in the file",
			quote(n.id), quote(to.id))
	case n.kind == kindRefPlace && to.kind != kindPlace && to.kind != kindRefPlace:
		return 0, p.errorAt(n.line, "the reference %s names %s, which is not a place",
			quote(n.id), quote(to.id))
	case n.kind == kindRefTransition && to.kind != kindTransition && to.kind != kindRefTransition:
		return 0, p.errorAt(n.line, "the reference %s names %s, which is not a transition",
			quote(n.id), quote(to.id))
	}
	return n.to, nil
}

// direction says what a transition does at a place.
type direction uint8

const (
	consumes direction = iota
	produces
	inhibited
	resets
	reads // the last one: it becomes arcs of the first two
)

// flow is an arc seen from its transition.
type flow struct {
	id         string // of the arc
	transition int32
	place      int32
	dir        direction
	weight     int64
	line       int
}

// compare brings together what becomes one arc.
func (f flow) compare(g flow) int {
	return cmp.Or(cmp.Compare(f.transition, g.transition), cmp.Compare(f.dir, g.dir),
		cmp.Compare(f.place, g.place), cmp.Compare(f.id, g.id))
}

func (p *parser) flow(a arc) (flow, error) {
	from, err := p.arcEnd(a, a.from, "begins at")
	if err != nil {
		return flow{}, err
	}
	to, err := p.arcEnd(a, a.to, "ends at")
	if err != nil {
		return flow{}, err
	}
	f := flow{id: a.id, weight: a.weight, line: a.line}
	switch {
	case from.kind == to.kind && from.kind == kindPlace:
		return f, p.errorAt(a.line, "the arc %s connects two places; "+
			"an arc goes between a place and a transition", p.arcName(a))
	case from.kind == to.kind:
		return f, p.errorAt(a.line, "the arc %s connects two transitions; "+
			"an arc goes between a place and a transition", p.arcName(a))
	case from.kind == kindPlace:
		f.place, f.transition, f.dir = from.to, to.to, consumes
	default:
		f.place, f.transition, f.dir = to.to, from.to, produces
	}
	switch a.kind {
	case kindRead: // it has no direction
		f.dir = reads
	case kindInhibitor, kindReset:
		if f.dir == produces {
			return f, p.errorAt(a.line, "the %s arc %s begins at a transition; it must lead from "+
				"a place to a transition", a.kind, p.arcName(a))
		}
		f.dir = inhibited
		if a.kind == kindReset {
			f.dir = resets
		}
	}
	if f.dir == resets && a.weight != 1 {
		return f, p.errorAt(a.line, "the reset arc %s has the weight %d; it takes all tokens, so "+
			"leave the weight out", p.arcName(a), a.weight)
	}
	return f, nil
}

// arcEnd returns the place or transition at one end of an arc.
func (p *parser) arcEnd(a arc, i int32, verb string) (node, error) {
	n := p.nodes[i]
	if p.isReference(i) {
		n = p.nodes[n.to]
	}
	switch n.kind {
	case kindNone:
		return n, p.errorAt(a.line, "the arc %s %s %s, which is not in the file",
			p.arcName(a), verb, quote(n.id))
	case kindPage:
		return n, p.errorAt(a.line, "the arc %s %s the page %s; "+
			"an arc goes between a place and a transition", p.arcName(a), verb, quote(n.id))
	}
	return n, nil
}

// attach gives the transitions their arcs. The flows are sorted by transition,
// direction and place; those that agree in all three become one arc.
func (p *parser) attach(flows []flow) error {
	arcs := make([]Arc, 0, len(flows)) // never grows: transitions share it
	for len(flows) > 0 {
		f := flows[0]
		begin := len(arcs)
		for len(flows) > 0 && flows[0].transition == f.transition && flows[0].dir == f.dir {
			a := Arc{Place: int(flows[0].place), Weight: flows[0].weight}
			for flows = flows[1:]; len(flows) > 0 && flows[0].transition == f.transition &&
				flows[0].dir == f.dir && int(flows[0].place) == a.Place; flows = flows[1:] {
				if a.Weight = f.dir.together(a.Weight, flows[0].weight); a.Weight > MaxTokens {
					return p.errorAt(flows[0].line, "the arcs between place %s and transition %s "+
						"add up to more than %d", quote(p.net.Places[a.Place].ID),
						quote(p.net.Transitions[f.transition].ID), int64(MaxTokens))
				}
			}
			arcs = append(arcs, a)
		}
		// The capacity ends with the length: an append to one list must not
		// write into the next.
		list := arcs[begin:len(arcs):len(arcs)]
		if err := p.attachList(&p.net.Transitions[f.transition], f, list); err != nil {
			return err
		}
	}
	return nil
}

// together is the weight of two arcs between the same nodes. Tokens add up; of conditions the
// stronger one decides.
func (d direction) together(a, b int64) int64 {
	switch d {
	case reads, resets:
		return max(a, b)
	case inhibited:
		return min(a, b)
	}
	return a + b
}

// attachList gives a transition its arcs of one direction, the first of which is f.
func (p *parser) attachList(t *Transition, f flow, list []Arc) error {
	switch f.dir {
	case consumes:
		t.In = list
	case produces:
		t.Out = list
	case inhibited:
		t.Inhibitors = list
	case resets:
		for _, a := range list {
			t.Resets = append(t.Resets, a.Place)
		}
	case reads:
		return p.attachReads(t, f, list)
	}
	return nil
}

// attachReads has a transition take the tokens that it reads and put them back, unless it takes as
// many anyway. It puts none into a place that it empties.
func (p *parser) attachReads(t *Transition, f flow, list []Arc) error {
	for _, a := range list {
		taken := weightAt(&t.In, a.Place)
		more := a.Weight - *taken
		if more <= 0 {
			continue
		}
		*taken += more
		if slices.Contains(t.Resets, a.Place) {
			continue
		}
		put := weightAt(&t.Out, a.Place)
		if *put += more; *put > MaxTokens {
			return p.errorAt(f.line, "the arcs between place %s and transition %s add up to more "+
				"than %d", quote(p.net.Places[a.Place].ID), quote(t.ID), int64(MaxTokens))
		}
	}
	return nil
}

// weightAt is the weight of the arc of a place in a sorted list, which gets one of weight 0 if it
// has none.
func weightAt(arcs *[]Arc, place int) *int64 {
	i, found := slices.BinarySearchFunc(*arcs, place, func(a Arc, place int) int {
		return a.Place - place
	})
	if !found {
		*arcs = slices.Insert(*arcs, i, Arc{Place: place})
	}
	return &(*arcs)[i].Weight
}
