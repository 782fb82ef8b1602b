package petri_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
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
	{"hidden structure", inNet("<comment><b/><b>\n<structure/></b></comment>"),
		"line 2: found <structure>"},
	{"structure after graphics",
		inNet("<comment><graphics/>\n<structure/></comment>"), "line 2: found <structure>"},
	{"typed place", inNet("<place id='p'>\n<type/></place>"), `line 2: place "p" has a <type>`},

	// Arcs of other kinds, and capacities.
	{"final marking of no place", "<pnml><net id='n'><transition id='t'/><finalmarkings>" +
		"<marking>\n<place idref='t'><text>1</text></place></marking></finalmarkings></net></pnml>",
		`line 2: a final marking has tokens in "t", which is no place`},
	{"final marking twice", "<pnml><net id='n'><place id='p'/><finalmarkings><marking>" +
		"\n<place idref='p'><text>1</text></place><place idref='p'><text>1</text></place>" +
		"</marking></finalmarkings></net></pnml>", `line 2: a final marking names place "p" twice`},
	{"final marking in words", "<pnml><net id='n'><place id='p'/><finalmarkings><marking>" +
		"\n<place idref='p'><text>many</text></place></marking></finalmarkings></net></pnml>",
		`line 2: a final marking of place "p" is "many"`},
	{"stopwatch value",
		inNet("<arc source='p' target='t'>\n<type value='stopwatch'/></arc>" + twoNodes),
		`line 2: found an arc of type "stopwatch", which is not supported`},
	{"equal text",
		inNet("<arc source='p' target='t'>\n<type>\n<text>equal</text></type></arc>" + twoNodes),
		`line 2: found an arc of type "equal"`},
	{"flush, bare",
		inNet("<arc source='p' target='t'><type>flush</type></arc>" + twoNodes), `"flush"`},
	{"read, value and text",
		inNet("<arc source='p' target='t'><type value='normal'><text>read</text>" +
			"</type></arc>" + twoNodes),
		`the arc from "p" to "t" has two types, one of them "read"`},
	{"attribute and element", inArc("type='reset'", "<type value='normal'/>"), "has two types"},
	{"arctype", inNet("<arc source='p' target='t'><arctype><text>logic</text></arctype></arc>" +
		twoNodes), `"logic"`},
	{"unknown attribute", inNet("\n<arc type='modifier' source='p' target='t'/>" + twoNodes),
		`line 2: found an arc of type "modifier"`},
	{"inhibitor of a place", inNet(twoNodes + "\n<arc type='inhibitor' source='t' target='p'/>"),
		`line 2: the inhibitor arc from "t" to "p" begins at a transition`},
	{"reset of a transition", inNet(twoNodes + "\n<arc type='reset' source='t' target='p'/>"),
		`line 2: the reset arc from "t" to "p" begins at a transition`},
	{"weight of a reset", inArc("type='reset'", "<inscription><text>2</text></inscription>"),
		`the reset arc from "p" to "t" has the weight 2`},
	{"read beyond the limit", inNet(twoNodes + "<arc source='t' target='p' weight='2147483647'/>" +
		"\n<arc type='read' source='p' target='t' weight='2'/>"),
		`line 2: the arcs between place "p" and transition "t" add up to more than`},
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
	{"page of a transition", inNet("<transition id='t'/>\n<page id='t'><net/></page>"),
		`line 2: the page "t" refines the transition of line 1, and subprocesses are not`},
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
	{"words", marking("many"), `is "many"; it must be`},
	{"tokens of a colour", marking("red,1"), `is "red,1"; it must be`},
	{"tokens of two colours", marking("Default,1,red,2"), `is "Default,1,red,2"; it must be a ` +
		"whole number from 0 to 2147483648; if it has tokens of colours, unfold the coloured net"},
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
	{"place in unknown", inNet("<comment>\n<place id='q'/></comment>"), "line 2: found <place>"},
}

// otherFiles are files with elements and attributes that the standard does not know, and that may
// change the net, with the errors that they must give.
var otherFiles = []struct{ name, file, want string }{
	{"in the file", "<pnml>\n<macro/><net id='n'/></pnml>", "line 2: found <macro> in <pnml>"},
	{"in the net", "<pnml><net id='n'>\n<variables/></net></pnml>", "line 2: found <variables>"},
	{"in a page", inNet("\n<group/>"), "line 2: found <group> in <page>, which is not known here"},
	{"in a place", inNet("<place id='p'>\n<lifo/></place>"), "line 2: found <lifo> in <place>"},
	{"in a transition", inNet("<transition id='t'>\n<delay/></transition>"), "<delay>"},
	{"in a reference", inNet("<place id='p'/><referencePlace id='r' ref='p'>\n<tokens/>" +
		"</referencePlace>"), "line 2: found <tokens> in <referencePlace>"},
	{"inhibitor element", inArc("", "\n<inhibitor>false</inhibitor>"),
		`line 2: <inhibitor> in <arc> has the text "false"; it must be empty`},
	{"attribute of a reset element", inArc("", "<reset to='1'/>"), "<reset> has the attribute to"},
	{"two elements", inArc("", "<read/><reset/>"), `has two types, one of them "reset"`},
	{"flush element", inArc("", "<flush/>"), "found <flush> in <arc>, which is not supported"},
	{"type in a child", inArc("", "<type><inhibitor/></type>"), "found <inhibitor> in <type>"},
	{"type in an attribute", inArc("", "<type><text value='reset'/></type>"),
		"<text> has the attribute value"},
	{"attribute of a type", inArc("", "<type kind='reset'/>"), "<type> has the attribute kind"},
	{"inhibitorArc", inNet(twoNodes + "\n<inhibitorArc source='t' target='p'/>"),
		`line 2: the inhibitor arc from "t" to "p" begins at a transition`},
	{"transportArc", inNet(twoNodes + "<transportArc source='p' transition='t' target='p'/>"),
		"found <transportArc> in <page>, which is not supported"},
	{"no source of inputArc", inNet("<inputArc target='t'/>"), "<inputArc> has no source"},
	{"type of inputArc", inNet(twoNodes + "<inputArc type='normal' source='p' target='t'/>"),
		"<inputArc> has the attribute type"},
	{"attribute of a net", "<pnml>\n<net id='n' semantics='timed'/></pnml>",
		"line 2: <net> has the attribute semantics, which is not known here and may change"},
	{"net that is left out", "<pnml><net id='n' active='false'/></pnml>",
		"line 1: no <net> in the file is active"},
	{"active in its own way", "<pnml><net id='n' active='once'/></pnml>",
		`<net> has the attribute active="once", which is not supported`},
	{"two nets, the second not active", "<pnml><net id='a' active='true'/>\n<net id='b'/></pnml>",
		"line 2: a second <net> begins here; split the file"},
	{"two nets, the first not active", "<pnml><net id='a'/>\n<net id='b' active='true'/></pnml>",
		"line 2: a second <net> begins here; split the file"},
	{"component without id", "<pnml><net active='true'/><net id='b' active='true'/></pnml>",
		"and one has no id; each component needs one"},
	{"components of one name", "<pnml><net id='a' active='true'><place id='p'/></net>" +
		"<net id='a' active='true'><transition id='p'/></net></pnml>",
		`two nodes of the components have the id "a.p"`},
	{"place of the name of a shared one", "<pnml><shared-place name='p'/><net id='a' " +
		"active='true'><place id='p' name='q'/></net></pnml>", `have the id "p"; ids must differ`},
	{"shared place after a net", "<pnml><net id='a'/>\n<shared-place name='p'/></pnml>",
		`line 2: <shared-place> "p" follows a <net>`},
	{"shared twice", "<pnml><shared-place name='p'/>\n<shared-transition name='p'/></pnml>",
		`line 2: the name "p" is taken`},
	{"shared without a name", "<pnml><shared-place/></pnml>", "<shared-place> has no name"},
	{"shared place marked otherwise", "<pnml><shared-place name='p' initialMarking='1'/>" +
		"<net id='a' active='true'><place id='p' initialMarking='2'/></net></pnml>",
		`place "p" has an initial marking of 2, and the shared place "p" one of 1`},
	{"constant without value", "<pnml><constant name='c'/></pnml>", `constant "c" has no value`},
	{"unknown constant", inArc("weight='c'", ""), `is "c"; it must be a whole number`},
	{"constant that is no weight", "<pnml><constant name='c' value='0'/><net id='n'>" + twoNodes +
		"<arc source='p' target='t' weight='c'/></net></pnml>", `is "0"; it must be a whole`},
	{"other dots", inNet("<place id='p' initialMarking='1'><hlinitialMarking><structure>" +
		"<numberof><subterm><numberconstant value='2'/></subterm><subterm><dotconstant/>" +
		"</subterm></numberof></structure></hlinitialMarking></place>"),
		`the initial marking of place "p" is 1, and <hlinitialMarking> has 2 dots`},
	{"dots twice", inNet("<place id='p' initialMarking='1'>" + strings.Repeat("<hlinitialMarking>"+
		"<numberof><numberconstant value='1'/><dotconstant/></numberof></hlinitialMarking>", 2) +
		"</place>"), `the initial marking of place "p" is 1, and <hlinitialMarking> has 2 dots`},
	{"other dots of an arc", inArc("weight='2'", "<hlinscription><structure><numberof>"+
		"<numberconstant value='1'/><dotconstant/></numberof></structure></hlinscription>"),
		`the arc from "p" to "t" has the weight 2, and <hlinscription> 1 dots`},
	{"colour", "<pnml>\n<declaration><namedsort id='dot' name='dot'><dot/></namedsort>" +
		"<namedsort id='red' name='red'/></declaration><net id='n'/></pnml>",
		"line 2: found <declaration>, which belongs to coloured nets"},
	{"place of a colour", inNet("<place id='p'><type><structure><usersort declaration='red'/>" +
		"</structure></type></place>"), `place "p" has a <type>: it is coloured`},
	{"text among dots", inArc("", "<hlinscription><structure><dotconstant/>2</structure>"+
		"</hlinscription>"), "found <hlinscription>"},
	{"attribute of a page", inNet("<page id='h' copies='2'/>"), "<page> has the attribute copies"},
	{"attribute of a place", inNet("\n<place id='p' tokens='2'/>"),
		"line 2: <place> has the attribute tokens, which is not known here and may change the net"},
	{"attribute with the prefix of the place",
		inNet("<x:place id='p' x:tokens='2'/>"), "<place> has the attribute tokens"},
	{"type of a place", inNet("<place id='p' type='red'/>"), "<place> has the attribute type"},
	{"capacity of a place", inNet("<place id='p' capacity='1'/>"), `the attribute capacity="1"`},
	{"invariant", inNet("<place id='p' invariant='&lt;= 3'/>"),
		`place "p" has invariant="<= 3", which is timing; timing and priorities are not supported`},
	{"attribute of a reference", inNet("<place id='p'/><referencePlace id='r' ref='p' " +
		"initialMarking='1'/>"), "<referencePlace> has the attribute initialMarking"},
	{"guard in an attribute", inNet("<transition id='t' guard='x'/>"), "has the attribute guard"},
	{"urgent", inNet("<transition id='t' urgent='true'/>"),
		`transition "t" has urgent="true", which is timing`},
	{"attribute of an arc", inArc("tokens='2'", ""), "<arc> has the attribute tokens"},
	{"interval", inArc("inscription='[2,5]' weight='1'", ""),
		`the arc from "p" to "t" has the interval "[2,5]", which is timing`},
	{"interval without its begin", inArc("", "<inscription><value>(0,inf)</value></inscription>"),
		`has the interval "(0,inf)", which is timing`},
	{"interval of colours", inArc("inscription='[x,inf)'", ""), `is "[x,inf)"; it must be a whole`},
	{"invariant in a child", inNet("<place id='p'><invariant>\n<value>&lt;=3</value></invariant>" +
		"</place>"), `line 1: place "p" has invariant="<=3", which is timing`},
	{"transport arc", inArc("type='transport' inscription='[0,inf):1'", ""),
		`found an arc of type "transport", which is not supported`},
	{"timed inhibitor of TAPAAL", inArc("type='tapnInhibitor' inscription='[0,3]'", ""),
		`the arc from "p" to "t" has the interval "[0,3]", which is timing`},
	{"parameter without a distribution", inNet("<transition id='t' mean='2'/>"),
		"<transition> has the attribute mean"},
	{"weight 0 in an attribute", inArc("weight='0'", ""), `from "p" to "t" is "0"; it must be`},
	{"weights that differ", inArc("inscription='2' weight='3'", ""),
		"has an inscription of 2 and a weight of 3"},
	{"weight in attribute and child", inArc("weight='2'", "<inscription/>"),
		"has a second <inscription>"},
	{"weight as the name", inArc("", "<name><text>2</text></name>"),
		`the arc from "p" to "t" has the name 2 and the weight 1`},
	{"attribute of a weight", inArc("", "<inscription value='2'/>"),
		"<inscription> has the attribute value"},
	{"attribute of a text", inArc("", "<inscription><text value='2'/></inscription>"),
		"holds the attribute value of <text>"},
	{"attribute of a marking", inNet("<place id='p'><initialMarking value='1'/></place>"),
		"<initialMarking> has the attribute value"},
	{"marking in an attribute", inNet("<place id='p' initialMarking='-1'/>"), `is "-1"; it must`},
	{"marking in attribute and child", inNet("<place id='p' initialMarking='1'><initialMarking/>" +
		"</place>"), `place "p" has a second <initialMarking>`},
	{"priorities", inNet("<transition id='t'/>\n<transition id='u'><priority><value>2</value>" +
		"</priority></transition>"),
		`line 2: transition "u" has the priority "2", unlike "1" in line 1; timing and`},
	{"priorities in attributes", inNet("<transition id='t' priority='1'/><transition id='u' " +
		"priority='2'/>"), `transition "u" has the priority "2", unlike "1"`},
	{"timed and not", inNet("<transition id='t'><timed><value>true</value></timed></transition>" +
		"<transition id='u'/>"), `transition "t" has timed="true", which is timing`},
	{"two priorities", inNet("<transition id='t'><priority><text>1</text><text>2</text>" +
		"</priority></transition>"), "<priority> holds more than one <text>"},
	{"attribute of a priority", inNet("<transition id='t'><priority value='2'/></transition>"),
		"<priority> has the attribute value"},
	{"type of another kind", "<pnml>\n<net id='n' type='http://www.yasper.org/specs/workflow'/>" +
		"</pnml>", `workflow" is not a place/transition net (ptnet); if the net has plain places`},
}

// inArc puts attributes and children into an arc.
func inArc(attributes, children string) string {
	return inNet(twoNodes + "<arc source='p' target='t' " + attributes + ">" + children + "</arc>")
}

func marking(text string) string {
	return inNet("<place id='p'>\n<initialMarking><text>" + text +
		"</text></initialMarking></place>")
}

func weight(text string) string {
	return inNet(twoNodes + "<arc source='p' target='t'>\n<inscription><text>" + text +
		"</text></inscription></arc>")
}

func TestReadBad(t *testing.T) { readBad(t, badFiles) }

func TestReadOthers(t *testing.T) { readBad(t, otherFiles) }

func readBad(t *testing.T, files []struct{ name, file, want string }) {
	for _, c := range files {
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
