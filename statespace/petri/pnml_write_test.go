package petri_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/farhash/farhash/statespace/petri"
)

// xmlText generates what may be an id or a name.
func xmlText() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]rune("<>&\"' \t\r\n_]\u00a0\u0085é\ufffd𝄞"))
	char := rapid.OneOf(rapid.Rune(), odd).Filter(func(r rune) bool {
		return r >= 0x20 && r != 0xFFFE && r != 0xFFFF && utf8.ValidRune(r) ||
			r == '\t' || r == '\n' || r == '\r'
	})
	return rapid.Map(rapid.SliceOfN(char, 1, 8), func(r []rune) string {
		return strings.Trim(string(r), " \t\r\n")
	}).Filter(func(s string) bool { return s != "" })
}

func drawArcs(t *rapid.T, places int) []petri.Arc {
	var arcs []petri.Arc
	for p := range places {
		if rapid.Bool().Draw(t, "connected") {
			w := rapid.Int64Range(1, petri.MaxTokens).Draw(t, "weight")
			arcs = append(arcs, petri.Arc{Place: p, Weight: w})
		}
	}
	return arcs
}

// nets generates nets that pass Check.
func nets() *rapid.Generator[*petri.Net] {
	return rapid.Custom(func(t *rapid.T) *petri.Net {
		n := &petri.Net{}
		if rapid.Bool().Draw(t, "named") {
			n.Name = xmlText().Draw(t, "net")
		}
		places := rapid.IntRange(0, 4).Draw(t, "places")
		count := places + rapid.IntRange(0, 4).Draw(t, "transitions")
		ids := rapid.SliceOfNDistinct(xmlText(), count, count, rapid.ID[string]).Draw(t, "ids")
		for i, id := range ids {
			name := xmlText().Draw(t, "name")
			if i < places {
				initial := rapid.Int64Range(0, petri.MaxTokens).Draw(t, "initial")
				n.Places = append(n.Places, petri.Place{ID: id, Name: name, Initial: initial})
				continue
			}
			n.Transitions = append(n.Transitions, petri.Transition{ID: id, Name: name,
				In: drawArcs(t, places), Out: drawArcs(t, places), Inhibitors: drawArcs(t, places)})
			for _, a := range drawArcs(t, places) {
				last := &n.Transitions[len(n.Transitions)-1]
				last.Resets = append(last.Resets, a.Place)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "final markings") {
			n.Final = append(n.Final, append([]petri.Arc{}, drawArcs(t, places)...))
		}
		return n
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := nets().Draw(t, "net")
		var file bytes.Buffer
		if err := petri.Write(&file, want); err != nil {
			t.Fatal(err)
		}
		got, err := petri.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

// TestWriteIDs writes nets that already have the ids that pages and arcs would get.
func TestWriteIDs(t *testing.T) {
	n := &petri.Net{Name: "_", Places: []petri.Place{place("__page", 0)},
		Transitions: []petri.Transition{transition("___1", []petri.Arc{{Weight: 1}}, nil)}}
	var file strings.Builder
	if err := petri.Write(&file, n); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<page id="____page">`, `<arc id="____1"`} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("no %s in\n%s", want, file.String())
		}
	}
	file.Reset() // the name of the net becomes an id too
	if err := petri.Write(&file, &petri.Net{Name: "_page"}); err != nil ||
		!strings.Contains(file.String(), `<page id="__page">`) {
		t.Errorf("%v:\n%s", err, file.String())
	}
}

type brokenWriter struct{}

var errDiskFull = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errDiskFull }

func TestWriteErrors(t *testing.T) {
	small := &petri.Net{Name: "n"}
	if err := petri.Write(brokenWriter{}, small); !errors.Is(err, errDiskFull) {
		t.Errorf("small net: got %v", err)
	}
	large, err := petri.Family("referendum", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := petri.Write(brokenWriter{}, large); !errors.Is(err, errDiskFull) {
		t.Errorf("large net: got %v", err)
	}
	var file bytes.Buffer
	bad := &petri.Net{Places: []petri.Place{{}}}
	if err := petri.Write(&file, bad); err == nil || file.Len() > 0 {
		t.Errorf("bad net: got the error %v and %d bytes", err, file.Len())
	}
}

func TestCheck(t *testing.T) {
	out := func(a ...petri.Arc) petri.Net {
		return petri.Net{Places: []petri.Place{place("p", 0), place("q", 0)},
			Transitions: []petri.Transition{transition("t", nil, a)}}
	}
	places := func(p ...petri.Place) petri.Net { return petri.Net{Places: p} }
	for want, n := range map[string]petri.Net{
		"the name \"a\" of the net has white space around it": {Name: " a"},
		"place 1: the id is empty":                            places(place("p", 0), place("", 0)),
		"place 0: the id \"a\" has white space":               places(place("a\n", 0)),
		"is not valid UTF-8":                                  places(place("\xff", 0)),
		"holds U+0001, which XML cannot carry":                places(place("a\x01", 0)),
		"holds U+FFFE, which XML cannot carry":                places(place("\ufffe", 0)),
		"holds U+FFFF, which XML cannot carry":                places(place("\uffff", 0)),
		"place 1: the id \"p\" is taken":                      places(place("p", 0), place("p", 0)),
		"place 0: the name of \"p\" is empty":                 places(petri.Place{ID: "p"}),
		"place 0: the name \"x\" has white space": places(
			petri.Place{ID: "p", Name: "x "}),
		"place \"p\": the initial marking is -1":      places(place("p", -1)),
		"the initial marking is 2147483649":           places(place("p", 1<<31+1)),
		"there is no place 2; the net has 2":          out(petri.Arc{Place: 2, Weight: 1}),
		"transition \"t\": Out: there is no place -1": out(petri.Arc{Place: -1, Weight: 1}),
		"the arc of place 0 has weight 0":             out(petri.Arc{}),
		"the arc of place 1 has weight 9223372036854775807": out(
			petri.Arc{Place: 1, Weight: math.MaxInt64}),
		"place 0 follows place 1": out(petri.Arc{Place: 1, Weight: 1}, petri.Arc{Weight: 1}),
		"place 1 follows place 1": out(petri.Arc{Place: 1, Weight: 1},
			petri.Arc{Place: 1, Weight: 1}),
		"transition 0: the id \"p\" is taken": {Places: []petri.Place{place("p", 0)},
			Transitions: []petri.Transition{transition("p", nil, nil)}},
		"transition \"t\": In: there is no place 0": {
			Transitions: []petri.Transition{transition("t", []petri.Arc{{Weight: 1}}, nil)}},
		"transition \"t\": Inhibitors: there is no place 0": {Transitions: []petri.Transition{
			{ID: "t", Name: "t", Inhibitors: []petri.Arc{{Weight: 1}}}}},
		"transition \"t\": Resets: there is no place 7": {Transitions: []petri.Transition{
			{ID: "t", Name: "t", Resets: []int{7}}}},
		"final marking: there is no place 3": {Final: [][]petri.Arc{{{Place: 3, Weight: 1}}}},
	} {
		if err := n.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	good := out(petri.Arc{Place: 0, Weight: 1}, petri.Arc{Place: 1, Weight: petri.MaxTokens})
	if err := good.Check(); err != nil {
		t.Errorf("good net: %v", err)
	}
}

// largeFile returns a file of a ring of n places and n transitions, as wordy as
// files from editors are.
func largeFile(n int) []byte {
	var b bytes.Buffer
	b.WriteString("<pnml><net id=\"ring\"><page id=\"page\">\n")
	const node = "<%s id=\"%s%d\">\n  <name>\n    <graphics>\n      <offset x=\"0\" y=\"10\"/>\n" +
		"    </graphics>\n    <text>%s%d</text>\n  </name>\n" +
		"  <graphics>\n    <position x=\"100\" y=\"100\"/>\n  </graphics>\n</%s>\n"
	const arc = "<arc id=\"%s%d\" source=\"%s%d\" target=\"%s%d\">\n  <inscription>\n" +
		"    <text>1</text>\n  </inscription>\n</arc>\n"
	for i := range n {
		fmt.Fprintf(&b, node, "place", "p", i, "p", i, "place")
		fmt.Fprintf(&b, node, "transition", "t", i, "t", i, "transition")
		fmt.Fprintf(&b, arc, "a", i, "p", i, "t", i)
		fmt.Fprintf(&b, arc, "b", i, "t", i, "p", (i+1)%n)
	}
	b.WriteString("</page></net></pnml>\n")
	return b.Bytes()
}

// BenchmarkRead reads a file of about 50 MB.
func BenchmarkRead(b *testing.B) {
	const nodes = 75_000
	file := largeFile(nodes)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		n, err := petri.Read(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		if len(n.Places) != nodes || len(n.Transitions[nodes-1].Out) != 1 {
			b.Fatal("the net is not the ring")
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	n, err := petri.Family("philosophers", 10_000)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := petri.Write(io.Discard, n); err != nil {
			b.Fatal(err)
		}
	}
}
