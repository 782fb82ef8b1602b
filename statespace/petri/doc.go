// Package petri holds place/transition nets: it reads and writes them as PNML
// and makes nets of some well known families.
//
// # Nets
//
// A net has places and transitions. A marking puts a number of tokens, 0 or
// more, on each place. An arc connects a place with a transition and carries a
// weight of at least 1.
//
// A transition is enabled in a marking if each place in its In list holds at
// least the weight of the arc, and each place in its Inhibitors list less than
// the weight. An enabled transition may fire: it takes the weights of In from
// their places, empties the places of Resets, and adds the weights of Out to
// their places. A place in both lists needs the tokens of In before it gets the
// tokens of Out. See [Transition.Enabled] and [Transition.Fire].
//
// A read arc needs tokens and leaves them there. It is an arc of In and one of
// Out with the same weight, which has the same firings.
//
// A place has no capacity. A net may be unbounded, that is, reach markings with
// any number of tokens.
//
// # Invariants
//
// [Net.Check] verifies these. [Read] and the families return only nets that
// pass; a net made by hand should be checked.
//
//   - Ids are not empty and differ, over places and transitions together.
//   - Names are not empty, except the name of the net.
//   - Ids and names are text that XML can carry, without white space around.
//   - Initial markings are 0 to [MaxTokens].
//   - In, Out, Inhibitors and Resets are sorted by place, name a place once and
//     lead to places of the net; weights are 1 to [MaxTokens].
//
// A net without places, without transitions or without both is a net.
//
// # PNML
//
// [Read] takes place/transition nets of ISO/IEC 15909-2:
//
//   - The type of the net ends in a segment that begins with ptnet, "PT net" or
//     "P/T", in upper or lower case. Older types like .../ptNetb are among them.
//     A net without a type counts as one too, and one of type pnmlcoremodel or
//     EPNML, as ProM, pm4py and Yasper write.
//   - The name of a net is its id, or its <name> if it has no id.
//   - Pages may be nested or left out.
//   - referencePlace and referenceTransition stand for the node that they lead
//     to, over any number of references.
//   - An arc may stand before its nodes. Arcs between the same two nodes in the
//     same direction become one, with the sum of the weights.
//   - An initial marking left out is 0, a weight left out is 1. Empty text
//     counts as left out.
//   - Label text stands in <text>, or in <value> as the first standards had it.
//   - toolspecific and graphics are skipped with all that they hold: by the
//     standard they do not change a net. Comments, queries and what PIPE and TAPAAL
//     note of drawing are skipped too.
//   - finalmarkings of a net are Net.Final.
//   - Attributes may stand for labels: name and initialMarking of a place, name of
//     a transition, inscription or weight of an arc.
//   - inputArc, outputArc and inhibitorArc of TAPAAL's engine are arcs, and so are
//     those of type timed. The inscription "[0,inf)" takes tokens of any age.
//   - The type of an arc is "normal", "regular", "timed", "inhibitor", "tapnInhibitor",
//     "reset", "read" or "test", as an attribute, a type element or an arctype element;
//     <inhibitor/>, <reset/>, <read/> and <test/> do as well. Inhibitor and reset
//     arcs lead from a place to a transition, read arcs in any direction. Each read
//     and inhibitor arc is a condition of its own: if there are several, the
//     strictest decides.
//   - Components of TAPAAL, which are nets with the attribute active, become one
//     net. A place or transition that the file declares as shared is one node; the
//     ids of the others begin with their component, as in Sender.P0. Components
//     that are not active are left out. The weight of an arc may be a constant.
//   - Elements of coloured nets may stand in files of TAPAAL, if the only colour is
//     the dot.
//   - The tokens of PIPE are "Default,3" or 3.
//   - Namespaces are ignored. Attributes with another prefix than their element
//     are skipped.
//   - Any declared character set is read, and UTF-8, UTF-16 and UTF-32 with a
//     byte order mark whatever is declared. Lines are counted after decoding.
//
// [Read] refuses, with the line, all that would change the meaning of a net:
//
//   - coloured and high-level nets: another type, or any of hlinitialMarking,
//     hlinscription, declaration, structure, condition, or a type of a place;
//   - transport arcs, and arcs of any other type;
//   - arcs with two types that differ, and reset arcs with a weight other than 1;
//   - places with a capacity, except 0, which some editors write for none;
//   - elements and attributes that are named neither in the standard nor above,
//     because nobody here knows whether they change the net;
//   - timing: intervals other than [0,inf), invariants, ages, urgent and timed
//     transitions, rates, servers, distributions; and priorities, unless those of
//     all transitions are alike. [Options] can leave these out;
//   - an arc whose name is a number other than its weight;
//   - nodes and pages without an id, or with one that is taken;
//   - arcs and references to what is not in the file, or is of the wrong sort,
//     and references that lead in a circle;
//   - initial markings that are not whole numbers from 0 to [MaxTokens], and
//     weights, also summed ones, that are not from 1 to [MaxTokens];
//   - nodes, arcs, initial markings and weights where they do not belong, and text
//     between elements;
//   - two arcs with one id between the same nodes in the same direction;
//   - no net, a second net that is no component, XML that is not well-formed or ends
//     early.
//
// Arcs need no id, and otherwise their ids may repeat.
//
// # Limits
//
// Elements nest at most 1000 deep. Entities other than the five of XML are
// refused, so a file cannot expand beyond its size. Memory grows with the
// number of nodes and arcs; the text of a file is not kept. [Options] bound the
// length of a file, 1 GiB unless another is given, and of what is between two
// tags, 16 MiB. [ReadFile] does not wait for a pipe to be opened.
package petri
