package petri_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/farhash/farhash/statespace/petri"
)

// inNet puts elements into a net without changing their line numbers: all goes
// to line 1.
func inNet(elements string) string {
	return `<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet">` +
		`<page id="g">` + elements + `</page></net></pnml>`
}

const twoNodes = `<place id="p"/><transition id="t"/>`

func place(id string, initial int64) petri.Place {
	return petri.Place{ID: id, Name: id, Initial: initial}
}

func transition(id string, in, out []petri.Arc) petri.Transition {
	return petri.Transition{ID: id, Name: id, In: in, Out: out}
}

var goodFiles = []struct {
	name, file string
	want       petri.Net
}{
	{"no nodes", inNet(""), petri.Net{Name: "n"}},
	{"no transitions", inNet(`<place id="p"/>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)}}},
	{"no places", inNet(`<transition id="t"/>`),
		petri.Net{Name: "n", Transitions: []petri.Transition{transition("t", nil, nil)}}},
	{"no page, no type", `<pnml><net id="n"><place id="p"/></net></pnml>`,
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)}}},
	{"name for lack of id", `<pnml><net><name><text> the net </text></name></net></pnml>`,
		petri.Net{Name: "the net"}},
	{"id before name", `<pnml><net id="n"><name><text>x</text></name></net></pnml>`,
		petri.Net{Name: "n"}},
	{"names and markings", inNet(`<place id=" p "><name><graphics/><text>
	     a &lt;b&gt; &amp; <!-- c --><![CDATA[d]]>
	     </text></name><initialMarking><toolspecific><text>9</text></toolspecific>
	     <text> 007 </text></initialMarking></place>
	     <place id="q"><name><value>Q</value></name><initialMarking><text/></initialMarking></place>
	     <place id="r"><initialMarking><value>2147483648</value></initialMarking></place>
	     <transition id="t"><name><text>T</text></name></transition>`),
		petri.Net{Name: "n",
			Places: []petri.Place{
				{ID: "p", Name: "a <b> & d", Initial: 7}, {ID: "q", Name: "Q"}, place("r", 1<<31),
			},
			Transitions: []petri.Transition{{ID: "t", Name: "T"}}}},
	{"arcs before nodes, unsorted and parallel", inNet(`
	     <arc source="t" target="q"/><arc source="t" target="p"/>
	     <arc source="q" target="t"><inscription><text>3</text></inscription></arc>
	     <arc source="p" target="t"><inscription><text></text></inscription></arc>
	     <arc source="q" target="t"/><place id="p"/><transition id="t"/><place id="q"/>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0), place("q", 0)},
			Transitions: []petri.Transition{transition("t",
				[]petri.Arc{{Place: 0, Weight: 1}, {Place: 1, Weight: 4}},
				[]petri.Arc{{Place: 0, Weight: 1}, {Place: 1, Weight: 1}})}}},
	{"references over nested pages", inNet(`
	     <referencePlace id="r1" ref="r2"/><referenceTransition id="s" ref="t"/>
	     <page id="h"><referencePlace id="r2" ref="p"><graphics/></referencePlace>
	     <page id="i">` + twoNodes + `<arc source="r1" target="s"/></page></page>
	     <arc source="r2" target="t"/><arc source="s" target="r1"/>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)},
			Transitions: []petri.Transition{transition("t",
				[]petri.Arc{{Place: 0, Weight: 2}}, []petri.Arc{{Place: 0, Weight: 1}})}}},
	{"references to references that come first", inNet(`
	     <place id="q"/>` + twoNodes + `<referencePlace id="a" ref="p"/>
	     <referencePlace id="b" ref="a"/><referencePlace id="c" ref="b"/>
	     <referenceTransition id="u" ref="t"/><referenceTransition id="v" ref="u"/>
	     <arc source="c" target="v"/><arc source="v" target="b"/>`),
		petri.Net{Name: "n", Places: []petri.Place{place("q", 0), place("p", 0)},
			Transitions: []petri.Transition{transition("t",
				[]petri.Arc{{Place: 1, Weight: 1}}, []petri.Arc{{Place: 1, Weight: 1}})}}},
	{"parallel arcs with ids", inNet(twoNodes + `<place id="q"/>
	     <arc id="a" source="q" target="t"/><arc id="b" source="p" target="t"/>
	     <arc id="c" source="q" target="t"/>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0), place("q", 0)},
			Transitions: []petri.Transition{transition("t",
				[]petri.Arc{{Place: 0, Weight: 1}, {Place: 1, Weight: 2}}, nil)}}},
	{"parallel arcs of MaxTokens", inNet(twoNodes + strings.Repeat(
		`<arc source="t" target="p"><inscription><text>1073741824</text></inscription></arc>`, 2)),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)},
			Transitions: []petri.Transition{transition("t", nil,
				[]petri.Arc{{Place: 0, Weight: petri.MaxTokens}})}}},
	{"attributes of tools", inNet(`<place x:id="mine" id="p" x:type="coloured"/>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)}}},
	{"skipped elements", inNet(`<toolspecific><place id="x"/><page/><net/><structure/>
	     <arc type="inhibitor"/></toolspecific><graphics><transition/></graphics>
	     <comment><deep>x<toolspecific><place/></toolspecific></deep><graphics/></comment>
	     <place id="p"><capacity><value>0</value></capacity><toolspecific><type/></toolspecific>
	     </place>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)}}},
	{"normal arcs", inNet(twoNodes + `<arc source="p" target="t" type="normal"/>
	     <arc source="p" target="t"><type value="normal"/></arc><arc source="p" target="t"><type>
	     <text>Normal</text></type></arc><arc source="p" target="t"><arctype/></arc>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)},
			Transitions: []petri.Transition{transition("t",
				[]petri.Arc{{Place: 0, Weight: 4}}, nil)}}},
	{"attributes for elements", inNet(`<x:place id="p" x:initialMarking="3" name="P"/>
	     <transition id="t" name="T" urgent="false"/>
	     <arc source="p" target="t" inscription="2"/><arc source="t" target="p" weight="4"/>
	     <arc source="t" target="p" weight="1" inscription="1"/>`),
		petri.Net{Name: "n", Places: []petri.Place{{ID: "p", Name: "P", Initial: 3}},
			Transitions: []petri.Transition{{ID: "t", Name: "T",
				In: []petri.Arc{{Place: 0, Weight: 2}}, Out: []petri.Arc{{Place: 0, Weight: 5}}}}}},
	{"as TAPAAL's engine", `<pnml><net active="true" id="n" type="P/T net">
	     <place id="P0" name="Q" invariant="&lt; inf" initialMarking="1"/>
	     <place id="P1" name="P1" invariant="&lt; inf" initialMarking="0"/>
	     <transition player="0" id="T0" name="T0" urgent="false"/>
	     <inputArc inscription="[0,inf)" weight="1" source="P0" target="T0"/>
	     <outputArc inscription="1" source="T0" target="P1"/></net></pnml>`,
		petri.Net{Name: "n",
			Places: []petri.Place{{ID: "P0", Name: "Q", Initial: 1}, place("P1", 0)},
			Transitions: []petri.Transition{transition("T0", []petri.Arc{{Place: 0, Weight: 1}},
				[]petri.Arc{{Place: 1, Weight: 1}})}}},
	{"as PIPE", `<pnml><net id="n" type="P/T net"><token id="Default" enabled="true" red="0"/>
	     <labels x="10" y="10" border="false"><text>a note</text></labels>
	     <place id="P"><name><value>P</value><graphics/></name><initialMarking>
	     <value>Default,2</value><graphics/></initialMarking><capacity><value>0</value></capacity>
	     </place><transition id="T"><name><value>T</value></name><orientation><value>0</value>
	     </orientation><rate><value>1.0</value></rate><timed><value>false</value></timed>
	     <infiniteServer><value>false</value></infiniteServer><priority><value>1</value></priority>
	     </transition><transition id="U"><priority><value>1</value></priority>
	     <timed><value>False</value></timed></transition>
	     <arc id="a" source="P" target="T"><graphics/><inscription><value>Default,3</value>
	     <graphics/></inscription><tagged><value>false</value></tagged>
	     <arcpath id="000" x="101" y="87" curvePoint="false"/><type value="normal"/></arc></net>
	     </pnml>`,
		petri.Net{Name: "n", Places: []petri.Place{place("P", 2)},
			Transitions: []petri.Transition{
				transition("T", []petri.Arc{{Place: 0, Weight: 3}}, nil),
				transition("U", nil, nil)}}},
	{"as pm4py and ProM", `<pnml><net id="n"
	     type="http://www.pnml.org/version-2009/grammar/pnmlcoremodel"><page id="g"><name/>
	     <place id="p"><initialMarking><text>1</text></initialMarking></place>
	     <transition id="t"><name><text>tau</text></name><toolspecific tool="ProM" version="6.4"/>
	     </transition><arc id="a" source="p" target="t"><name><text>1</text></name><arctype><text>
	     normal</text></arctype></arc></page><finalmarkings><marking><place idref="p"><text>1</text>
	     </place></marking></finalmarkings></net></pnml>`,
		petri.Net{Name: "n", Places: []petri.Place{place("p", 1)},
			Transitions: []petri.Transition{{ID: "t", Name: "tau",
				In: []petri.Arc{{Place: 0, Weight: 1}}}},
			Final: [][]petri.Arc{{{Place: 0, Weight: 1}}}}},
	{"final markings", inNet(`<place id="p"/><place id="q"/><referencePlace id="r" ref="q"/>` +
		`</page><finalmarkings><note/><marking><place idref="r"><text>2</text></place>` +
		`<place idref="p"><text>3</text></place></marking><marking><name/><place idref="p">` +
		`<text>0</text></place></marking></finalmarkings><page id="g2">`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0), place("q", 0)},
			Final: [][]petri.Arc{{{Place: 0, Weight: 3}, {Place: 1, Weight: 2}}, {}}}},
	{"regular arcs", inNet(twoNodes + `<arc source="p" target="t"><type value="regular"/>
	     <exported>true</exported></arc>`),
		petri.Net{Name: "n", Places: []petri.Place{place("p", 0)},
			Transitions: []petri.Transition{transition("t",
				[]petri.Arc{{Place: 0, Weight: 1}}, nil)}}},
}

func TestReadGood(t *testing.T) {
	for _, c := range goodFiles {
		t.Run(c.name, func(t *testing.T) {
			got, err := petri.Read(iotest.OneByteReader(strings.NewReader(c.file)))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNetTypes(t *testing.T) {
	for uri, good := range map[string]bool{
		"": true, "ptnet": true, "PTNet": true, "PT net": true, "P/T": true, "P/T net": true,
		"http://www.pnml.org/version-2009/grammar/ptnet":         true,
		"http://www.pnml.org/version-2009/grammar/ptnet/":        true,
		"http://www.informatik.hu-berlin.de/top/pnml/ptNetb":     true,
		"http://www.pnml.org/version-2009/grammar/pnmlcoremodel": true,
		"http://www.yasper.org/specs/epnml-1.1":                  true,
		"epnml":                                                  true,
		"http://example.org/notepnml":                            false,
		"http://example.org/P/T":                                 true,
		"http://www.pnml.org/version-2009/grammar/symmetric":     false,
		"http://www.pnml.org/version-2009/grammar/highlevel":     false,
		"http://www.pnml.org/version-2009/grammar/pt-hlpng":      false,
		"http://example.org/ptnet/coloured":                      false,
		"http://example.org/p/tools/symmetricnet":                false,
		"http://www.pnml.org/version-2009/grammar/timedptnet":    false,
	} {
		_, err := petri.Read(strings.NewReader(`<pnml><net id="n" type="` + uri + `"/></pnml>`))
		if (err == nil) != good {
			t.Errorf("type %q: good must be %t, but the error is %v", uri, good, err)
		}
	}
}

// TestCharacterSets reads the same net in many encodings.
func TestCharacterSets(t *testing.T) {
	const file = `<?xml version="1.0" encoding="ENC"?>` + "\n" +
		`<pnml><net id="n"><place id="café"/></net></pnml>`
	u16 := func(e unicode.Endianness, b unicode.BOMPolicy) encoding.Encoding {
		return unicode.UTF16(e, b)
	}
	for _, c := range []struct {
		declared string
		enc      encoding.Encoding
	}{
		{"UTF-8", encoding.Nop}, {"utf8", encoding.Nop}, {"utf-16", encoding.Nop},
		{"UTF-8", unicode.UTF8BOM}, {"ISO-8859-1", unicode.UTF8BOM},
		{"ISO-8859-1", charmap.ISO8859_1}, {"latin1", charmap.ISO8859_1},
		{"windows-1252", charmap.Windows1252}, {"cp1252", charmap.Windows1252},
		{"IBM850", charmap.CodePage850},
		{"UTF-16", u16(unicode.LittleEndian, unicode.UseBOM)},
		{"UTF-16", u16(unicode.BigEndian, unicode.UseBOM)},
		{"UTF-16LE", u16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"UTF-16BE", u16(unicode.BigEndian, unicode.IgnoreBOM)},
		{"UTF-32", utf32.UTF32(utf32.BigEndian, utf32.UseBOM)},
		{"UTF-32", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)},
	} {
		text, err := c.enc.NewEncoder().String(strings.Replace(file, "ENC", c.declared, 1))
		if err != nil {
			t.Fatal(err)
		}
		n, err := petri.Read(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s (%v): %v", c.declared, c.enc, err)
		} else if len(n.Places) != 1 || n.Places[0].ID != "café" {
			t.Errorf("%s (%v): got %+v", c.declared, c.enc, n.Places)
		}
	}
}

func TestDeepNesting(t *testing.T) {
	// <pnml> and <net> are two levels more.
	deep := func(levels int, open, end string) string {
		return `<pnml><net id="n">` + strings.Repeat(open, levels-2) +
			strings.Repeat(end, levels-2) + `</net></pnml>`
	}
	most := deep(petri.MaxNesting, "<comment>", "</comment>")
	if _, err := petri.Read(strings.NewReader(most)); err != nil {
		t.Errorf("%d levels: %v", petri.MaxNesting, err)
	}
	files := map[string]string{
		"one too many": deep(petri.MaxNesting+1, "<comment>", "</comment>"),
		"skipped":      deep(1_000_000, "<graphics>", "</graphics>"),
		"in a name":    deep(1_000_000, "<name>", "</name>"),
		"pages":        `<pnml><net id="n">` + pages(100_000),
	}
	for name, file := range files {
		_, err := petri.Read(strings.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), "line 1: elements are nested more than") {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}

// pages opens n nested pages with ids of their own.
func pages(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<page id="page%d">`, i)
	}
	return b.String()
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken pipe")
	begin := strings.NewReader("<pnml>\n<net id=\"n\">")
	_, err := petri.Read(io.MultiReader(begin, iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error of the reader: got %v", err)
	}
	var bad *petri.SyntaxError
	if errors.As(err, &bad) {
		t.Errorf("error of the reader: blames the file in %v", err)
	}
	// The second read fails, and the third one would succeed.
	once := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(inNet(twoNodes))))
	if n, err := petri.Read(once); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a reader that recovers: got %+v, %v", n, err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "net.pnml")
	if _, err := petri.ReadFile(path); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("no file: got %v", err)
	}
	if _, err := petri.ReadFile(dir); err == nil || !strings.HasPrefix(err.Error(), dir+": ") {
		t.Errorf("directory: got %v", err)
	}
	if err := os.WriteFile(path, []byte(inNet(twoNodes)), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := petri.ReadFile(path); err != nil || len(n.Places) != 1 {
		t.Errorf("good file: got %+v, %v", n, err)
	}
	if err := os.WriteFile(path, []byte("<pnml>\n</net>"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := petri.ReadFile(path)
	var bad *petri.SyntaxError
	if !errors.As(err, &bad) || bad.Line != 2 ||
		!strings.HasPrefix(err.Error(), path+": line 2: ") {
		t.Errorf("bad file: got %v", err)
	}
}

// TestArcListsAreSeparate appends to the arcs of one transition, which must
// leave the next ones alone.
func TestArcListsAreSeparate(t *testing.T) {
	n, err := petri.Read(strings.NewReader(inNet(twoNodes +
		`<place id="q"/><arc source="p" target="t"/><arc source="t" target="p"/>`)))
	if err != nil {
		t.Fatal(err)
	}
	tr := &n.Transitions[0]
	tr.In = append(tr.In, petri.Arc{Place: 1, Weight: 5})
	if want := []petri.Arc{{Place: 0, Weight: 1}}; !reflect.DeepEqual(tr.Out, want) {
		t.Errorf("Out became %v", tr.Out)
	}
}

// TestTruncated cuts a good file anywhere: no part of it is a net.
func TestTruncated(t *testing.T) {
	file := []byte(strings.TrimSpace(goodFiles[6].file))
	for i := range file {
		if _, err := petri.Read(bytes.NewReader(file[:i])); err == nil {
			t.Fatalf("the first %d bytes are read as a net", i)
		}
	}
}
