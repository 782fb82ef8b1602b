package petri_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/farhash/farhash/petri"
)

// badFiles are files with the errors that they must give.
var badFiles = []struct{ name, file, want string }{
	// Not a file with one net.
	{"empty", "", "line 1: the file is empty"},
	{"blank", " \n\n", "line 3: the file holds no XML element"},
	{"prose", "\nhello", `line 1: not XML: found the text "hello"`},
	{"prose after it", "<pnml><net id='n'/></pnml>\nhello", `not XML: found the text "hello"`},
	{"gzip", "\x1f\x8b\x08\x00\x00", "line 1: the file is compressed; unpack it"},
	{"zip", "PK\x03\x04....", "line 1: the file is compressed; unpack it"},
	{"root", "\n<html></html>", "line 2: the root element is <html>, not <pnml>"},
	{"two roots",
		"<pnml><net id='n'/></pnml>\n<pnml/>", "line 2: <pnml> follows the end of <pnml>"},
	{"no net", "<pnml>\n</pnml>\n", "line 3: there is no <net> in the file"},
	{"two nets", "<pnml><net id='a'/>\n<net id='b'/></pnml>",
		"line 2: a second <net> begins here; split the file"},
	{"truncated", "<pnml>\n<net id='n'>\n", "line 3: the file ends inside <net>; it is truncated"},
	{"truncated tag", "<pnml>\n<net id='n", "line 2: the file ends inside <pnml>; it is truncated"},
	{"mismatch", "<pnml>\n<net id='n'>\n</pnml>",
		"line 3: not well-formed XML: element <net> closed by </pnml>"},
	{"bad character", inNet("\n\x01"), "line 2: not well-formed XML: illegal character code"},
	{"bad UTF-8", inNet("\n\xff"), "line 2: not well-formed XML: invalid UTF-8"},
	{"bad UTF-8 after a mark", "\xef\xbb\xbf" + inNet("\n\xff"), "line 2: not well-formed XML"},
	{"entity", inNet("\n&bomb;"), "line 2: not well-formed XML: invalid character entity &bomb;"},
	{"character set", "<?xml version='1.0' encoding='ebcdic-martian'?><pnml/>",
		`line 1: the character set "ebcdic-martian" is not known; convert the file to UTF-8`},
	{"XML version", "<?xml version='3.0'?><pnml/>", `line 1: unsupported version "3.0"`},
	{"twice the attribute", inNet("\n<place id='a' id='b'/>"),
		"line 2: not well-formed XML: <place> has two attributes id"},

	// Coloured nets.
	{"coloured type", "<pnml>\n<net id='n' type='http://x/grammar/symmetricnet'/></pnml>",
		`line 2: the net type "http://x/grammar/symmetricnet" is not a place/transition net`},
	{"high-level type", "<pnml><net id='n' type='http://x/highlevelnet'/></pnml>",
		"unfold the coloured net into a place/transition net first"},
	{"coloured marking", inNet("\n<place id='p'><hlinitialMarking/></place>"),
		"line 2: found <hlinitialMarking>, which belongs to coloured nets; unfold"},
	{"coloured inscription",
		inNet(twoNodes + "<arc source='p' target='t'>\n<hlinscription/></arc>"),
		"line 2: found <hlinscription>"},
	{"declaration",
		"<pnml><net id='n'>\n<declaration/></net></pnml>", "line 2: found <declaration>"},
	{"guard", inNet("<transition id='t'>\n<condition/></transition>"), "line 2: found <condition>"},
	{"structure", inNet("<place id='p'><initialMarking>\n<structure/></initialMarking></place>"),
		"line 2: found <structure>"},
	{"hidden structure", inNet("<a><b/><b>\n<structure/></b></a>"), "line 2: found <structure>"},
	{"structure after graphics",
		inNet("<a><graphics/>\n<structure/></a>"), "line 2: found <structure>"},
	{"typed place", inNet("<place id='p'>\n<type/></place>"), `line 2: place "p" has a <type>`},

	// Arcs of other kinds, and capacities.
	{"inhibitor value",
		inNet("<arc source='p' target='t'>\n<type value='inhibitor'/></arc>" + twoNodes),
		`line 2: found an arc of type "inhibitor"; only normal arcs are supported`},
	{"reset text",
		inNet("<arc source='p' target='t'>\n<type>\n<text>reset</text></type></arc>" + twoNodes),
		`line 2: found an arc of type "reset"`},
	{"test, bare",
		inNet("<arc source='p' target='t'><type>test</type></arc>" + twoNodes), `"test"`},
	{"read, value and text",
		inNet("<arc source='p' target='t'><type value='normal'><text>read</text>" +
			"</type></arc>" + twoNodes), `"read"`},
	{"arctype", inNet("<arc source='p' target='t'><arctype><text>inhibitor</text></arctype></arc>" +
		twoNodes), `"inhibitor"`},
	{"inhibitor attribute", inNet("\n<arc type='inhibitor' source='p' target='t'/>" + twoNodes),
		`line 2: found an arc of type "inhibitor"`},
	{"capacity", inNet("<place id='p'>\n<capacity><text>3</text></capacity></place>"),
		`line 2: place "p" has capacity 3`},
	{"bare capacity", inNet("<place id='p'>\n<capacity>3</capacity></place>"),
		`line 2: the capacity of place "p" holds the text "3"; the number must stand in`},
	{"two capacities in one", inNet("<place id='p'>\n<capacity><text>3</text><text>0</text>" +
		"</capacity></place>"), `line 2: the capacity of place "p" has a second <text>`},
	{"capacity of no number", inNet("<place id='p'><capacity><text>many</text></capacity></place>"),
		`the capacity of place "p" is "many"`},

	// Ids.
	{"place without id", inNet("\n<place/>"), "line 2: <place> has no id"},
	{"blank id", inNet("\n<transition id='  '/>"), "line 2: <transition> has no id"},
	{"page without id", inNet("\n<page/>"), "line 2: <page> has no id"},
	{"reference without id",
		inNet("\n<referencePlace ref='p'/>"), "line 2: <referencePlace> has no id"},
	{"reference without ref", inNet("\n<referencePlace id='p'/>"),
		`line 2: <referencePlace> "p" has no ref attribute`},
	{"same place", inNet("<place id='p'/>\n\n<place id='p'/>"),
		`line 3: the id "p" is taken since line 1; ids must differ`},
	{"place and transition",
		inNet("<place id='p'/>\n<transition id='p'/>"), `line 2: the id "p" is taken`},
	{"same arc", inNet(twoNodes + "\n<arc id='a' source='p' target='t'/>" +
		"<arc id='b' source='p' target='t'/>\n<arc id='a' source='p' target='t'/>"),
		`line 3: the arc "a" between place "p" and transition "t" is there since line 2`},
	{"same arc, by a reference", inNet(twoNodes + "<referencePlace id='r' ref='p'/>" +
		"\n<arc id='a' source='t' target='p'/>\n<arc id='a' source='t' target='r'/>"),
		`line 3: the arc "a" between place "p" and transition "t" is there since line 2`},
	{"page and place", inNet("\n<place id='g'/>"), `line 2: the id "g" is taken`},
	{"node and reference", inNet("<place id='p'/>\n<referencePlace id='p' ref='p'/>"),
		`line 2: the id "p" is taken`},

	// Where arcs and references lead.
	{"unknown source", inNet("\n<arc\nid='a' source='p' target='t'/>\n<transition id='t'/>"),
		`line 2: the arc from "p" to "t" begins at "p", which is not in the file`},
	{"unknown target", inNet(twoNodes + "\n<arc source='p' target='x'/>"),
		`line 2: the arc from "p" to "x" ends at "x", which is not in the file`},
	{"no source", inNet("\n<arc target='t'/>"), "line 2: <arc> has no source attribute"},
	{"no target", inNet("\n<arc source='t'/>"), "line 2: <arc> has no target attribute"},
	{"arc to page",
		inNet(twoNodes + "\n<arc source='p' target='g'/>"), `line 2: the arc from "p" to "g" ` +
			`ends at the page "g"`},
	{"two places", inNet("<place id='q'/>" + twoNodes + "\n<arc source='p' target='q'/>"),
		`line 2: the arc from "p" to "q" connects two places`},
	{"two transitions", inNet(twoNodes + "<referenceTransition id='u' ref='t'/>" +
		"\n<arc source='t' target='u'/>"),
		`line 2: the arc from "t" to "u" connects two transitions`},
	{"self reference", inNet("\n<referencePlace id='a' ref='a'/>"),
		`line 2: the reference "a" leads back to itself`},
	{"circle",
		inNet("\n<referenceTransition id='a' ref='b'/><referenceTransition id='b' ref='c'/>" +
			"<referenceTransition id='c' ref='b'/>"),
		`line 2: the reference "b" leads back to itself`},
	{"dangling", inNet("\n<referencePlace id='a' ref='b'/>\n<referencePlace id='b' ref='x'/>"),
		`line 3: the reference "b" names "x", which is not in the file`},
	{"place to transition", inNet(twoNodes + "\n<referencePlace id='a' ref='t'/>"),
		`line 2: the reference "a" names "t", which is not a place`},
	{"transition to place", inNet(twoNodes + "\n<referenceTransition id='a' ref='p'/>"),
		`line 2: the reference "a" names "p", which is not a transition`},
	{"transition to place by a reference",
		inNet(twoNodes + "<referencePlace id='r' ref='p'/>\n<referenceTransition id='a' ref='r'/>"),
		`line 2: the reference "a" names "r", which is not a transition`},
	{"place to transition by a reference",
		inNet(twoNodes + "<referenceTransition id='u' ref='t'/>\n<referencePlace id='a' ref='u'/>"),
		`line 2: the reference "a" names "u", which is not a place`},
	{"reference to page", inNet("\n<referencePlace id='a' ref='g'/>"), "which is not a place"},

	// Numbers.
	{"negative",
		marking("-1"), `line 2: the initial marking of place "p" is "-1"; it must be a whole ` +
			"number from 0 to 2147483648"},
	{"fraction", marking("1.5"), `is "1.5"; it must be`},
	{"hexadecimal", marking("0x10"), `is "0x10"; it must be`},
	{"words", marking("Default,1"), `is "Default,1"; it must be`},
	{"above MaxTokens", marking("2147483649"), `is "2147483649"; it must be`},
	{"huge", marking(strings.Repeat("9", 5000)), "99...\"; it must be"},
	{"bare marking", inNet("<place id='p'>\n<initialMarking>3</initialMarking></place>"),
		`line 2: the initial marking of place "p" holds the text "3"; the number must stand in`},
	{"element marking", inNet("<place id='p'>\n<initialMarking><b>3</b></initialMarking></place>"),
		`holds <b>; the number must stand in a <text> element`},
	{"element beside the marking",
		inNet("<place id='p'><initialMarking><b/>\n<text>3</text></initialMarking></place>"),
		`line 2: the initial marking of place "p" holds <b>; the number must stand in`},
	{"mixed marking",
		marking("1<b>2</b>"), "line 2: found <b> inside <text>, which holds text only"},
	{"two texts",
		marking("1</text><text>2"), `line 2: the initial marking of place "p" has a second <text>`},
	{"two markings", inNet("<place id='p'><initialMarking/>\n<initialMarking/></place>"),
		`line 2: place "p" has a second <initialMarking>`},
	{"weight 0",
		weight("0"), `line 2: the weight of the arc from "p" to "t" is "0"; it must be a whole ` +
			"number from 1 to 2147483648"},
	{"weight above MaxTokens", weight("2147483649"), "it must be a whole number from 1"},
	{"two weights", weight("1</text></inscription>\n<inscription><text>2"),
		`line 3: the arc from "p" to "t" has a second <inscription>`},
	{"sum",
		inNet(twoNodes + strings.Repeat("\n<arc source='t' target='p'>"+
			"<inscription><text>1073741824"+
			"</text></inscription></arc>", 3)),
		`line 4: the arcs between place "p" and transition "t" add up to more than 2147483648`},

	// Structure.
	{"place in place", inNet("<place id='p'>\n<place id='q'/></place>"),
		"line 2: found <place> where it does not belong"},
	{"arc in transition", inNet("<transition id='t'>\n<arc source='p' target='t'/></transition>"),
		"line 2: found <arc> where it does not belong"},
	{"page without net",
		"<pnml>\n<page id='g'/></pnml>", "line 2: found <page> where it does not belong"},
	{"marking in reference",
		inNet(twoNodes + "\n<referencePlace id='r' ref='p'><initialMarking/></referencePlace>"),
		"line 2: found <initialMarking> where it does not belong"},
	{"inscription in transition", inNet("<transition id='t'>\n<inscription/></transition>"),
		"line 2: found <inscription> where it does not belong"},
	{"text in place", inNet("<place id='p'>\n3</place>"),
		`found the text "3" inside <place>, which holds elements only`},
	{"text in arc", inNet(twoNodes + "<arc source='p' target='t'>2</arc>"),
		`found the text "2" inside <arc>, which holds elements only`},
	{"text in page", inNet("and"), `found the text "and" inside <page>`},
	{"no-break space in page", inNet("\u00a0"), `found the text "\u00a0" inside <page>`},
	{"place in unknown", inNet("<group>\n<place id='q'/></group>"), "line 2: found <place>"},
}

func marking(text string) string {
	return inNet("<place id='p'>\n<initialMarking><text>" + text +
		"</text></initialMarking></place>")
}

func weight(text string) string {
	return inNet(twoNodes + "<arc source='p' target='t'>\n<inscription><text>" + text +
		"</text></inscription></arc>")
}

func TestReadBad(t *testing.T) {
	for _, c := range badFiles {
		t.Run(c.name, func(t *testing.T) {
			n, err := petri.Read(strings.NewReader(c.file))
			if err == nil {
				t.Fatalf("no error, but the net %+v", n)
			}
			if n != nil {
				t.Error("a net beside the error")
			}
			var bad *petri.SyntaxError
			if !errors.As(err, &bad) || bad.Line < 1 {
				t.Errorf("no SyntaxError with a line, but %T", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if len(err.Error()) > 400 {
				t.Errorf("the message is %d bytes long", len(err.Error()))
			}
		})
	}
}
