package report

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/farhash/farhash/internal/system/replace"
)

// Graph is a transition system.
type Graph[S any] struct {
	Name    string
	Initial []S
	Next    func(s S, emit func(label string, next S))
	Key     func(s S) string // differs between states
	Text    func(s S) string // of a state, for DOT
}

// space is a state space that is explored.
type space struct {
	name    string
	states  int
	arcs    int
	initial []int
	text    func(state int) string
	each    func(use func(from, to int, label string)) // has use called with each arc
}

// graphFormat is a format of files.
type graphFormat struct {
	replace.Format
	write func(w io.Writer, s *space)
}

// graphFormats are the formats by how the name of a file ends.
var graphFormats = map[string]graphFormat{
	".aut": {replace.Format{Name: "file of Aldebaran", Known: begins(autBegin)}, writeAut},
	".dot": {replace.Format{Name: "graph of farhash", Known: begins(dotBegin)}, writeDot},
}

func begins(text string) func(head []byte) bool {
	return func(head []byte) bool { return strings.HasPrefix(string(head), text) }
}

// GraphWritable says why a state space cannot be written to a path. inputs are files that are read.
func GraphWritable(path string, inputs ...string) error {
	is, ok := graphFormats[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("the name of %s ends neither in .dot nor in .aut", path)
	}
	return replace.Writable(path, is.Format, inputs...)
}

// pause is how many states are expanded between looks at the context.
const pause = 256

// Write writes a state space of up to so many states to a path that is Writable.
func (s *Graph[S]) Write(ctx context.Context, path string, most int) error {
	g := &explored[S]{Graph: s, numbers: map[string]int{}}
	found, err := g.explore(ctx, most)
	if err != nil {
		return err
	}
	is := graphFormats[filepath.Ext(path)]
	return replace.File(path, is.Format, func(w io.Writer) error {
		to := bufio.NewWriter(w)
		found.each = func(use func(from, to int, label string)) { g.each(ctx, use) }
		is.write(to, found)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return to.Flush()
	})
}

// explored is a graph that is being explored: it explores a system.
type explored[S any] struct {
	*Graph[S]
	states  []S
	numbers map[string]int
}

// number is the number of a state, which may be new.
func (g *explored[S]) number(s S) int {
	key := g.Key(s)
	n, ok := g.numbers[key]
	if !ok {
		n = len(g.states)
		g.numbers[key], g.states = n, append(g.states, s)
	}
	return n
}

func (g *explored[S]) explore(ctx context.Context, most int) (*space, error) {
	found := &space{name: g.Name, text: func(i int) string { return g.Text(g.states[i]) }}
	for _, s := range g.Initial {
		found.initial = append(found.initial, g.number(s))
	}
	for i := 0; i < len(g.states); i++ {
		if len(g.states) > most {
			return nil, fmt.Errorf("there are more than %d states, which is the limit", most)
		}
		if i%pause == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g.Next(g.states[i], func(_ string, next S) {
			g.number(next)
			found.arcs++
		})
	}
	found.states = len(g.states)
	return found, nil
}

// each has use called with each arc, until the context ends.
func (g *explored[S]) each(ctx context.Context, use func(from, to int, label string)) {
	for i, s := range g.states {
		if i%pause == 0 && ctx.Err() != nil {
			return
		}
		g.Next(s, func(label string, next S) { use(i, g.number(next), label) })
	}
}

const (
	autBegin = "des ("
	dotBegin = "digraph farhash {\n"
)

// writeAut writes .aut. It has one initial state: several are after a state of their own.
func writeAut(w io.Writer, s *space) {
	states, arcs, first := s.states, s.arcs, 0
	if len(s.initial) > 1 {
		states, arcs, first = states+1, arcs+len(s.initial), 1
	}
	fmt.Fprintf(w, autBegin+"0, %d, %d)\n", arcs, states)
	for i := range first * len(s.initial) {
		fmt.Fprintf(w, "(0, \"initial\", %d)\n", s.initial[i]+first)
	}
	quoted := strings.NewReplacer("\"", "'", "\n", " ")
	s.each(func(from, to int, label string) {
		fmt.Fprintf(w, "(%d, \"%s\", %d)\n", from+first, quoted.Replace(label), to+first)
	})
}

// writeDot writes DOT. Initial states have two lines around them.
func writeDot(w io.Writer, s *space) {
	quoted := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n")
	fmt.Fprintf(w, dotBegin+"\tlabel=\"%s\"\n", quoted.Replace(s.name))
	initial := map[int]bool{}
	for _, i := range s.initial {
		initial[i] = true
	}
	for i := range s.states {
		mark := ""
		if initial[i] {
			mark = ", peripheries=2"
		}
		fmt.Fprintf(w, "\t%d [label=\"%s\"%s]\n", i, quoted.Replace(s.text(i)), mark)
	}
	s.each(func(from, to int, label string) {
		fmt.Fprintf(w, "\t%d -> %d [label=\"%s\"]\n", from, to, quoted.Replace(label))
	})
	fmt.Fprintln(w, "}")
}
