package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// letterBox is a net with inhibitor, read and reset arcs: a box takes up to 4 letters, and somebody
// who is busy may empty it. Nobody rests while there is a letter.
const letterBox = `<pnml><net id="special"><page id="g">
<place id="box"/><place id="busy"/><place id="idle" initialMarking="1"/>
<transition id="post"/><transition id="flush"/><transition id="work"/><transition id="rest"/>
<arc source="box" target="post" weight="4"><type value="inhibitor"/></arc>
<arc source="post" target="box"/>
<arc source="box" target="flush"><type value="reset"/></arc>
<arc source="busy" target="flush"><type value="read"/></arc>
<arc source="idle" target="work"/><arc source="work" target="busy"/>
<arc source="busy" target="rest"/><arc source="rest" target="idle"/>
<arc source="box" target="rest"><type value="inhibitor"/></arc></page></net></pnml>`

// All engines answer all kinds of questions about a net with inhibitor, read and reset arcs.
func TestSpecialArcs(t *testing.T) {
	net := try.File(t, "special.pnml", letterBox)
	for _, engine := range engines {
		args := []string{"explore", net, "--engine", engine, "-q"}
		o := try.ObjectHere(t, 0, append(args, "--json")...)
		if o["states"] != 10.0 || o["arcs"] != 19.0 || o["deadlocks"] != 0.0 {
			t.Errorf("%s: %v", engine, o)
		}
		questions, want := slices.Clone(args), []string{}
		for _, q := range []struct{ kind, text, answer string }{
			{"bound", "tokens(box)", "4"},
			{"always", "tokens(box) <= 3", "false"},
			{"sometimes", "tokens(box) >= 1 and enabled(rest)", "false"},
			{"sometimes", "tokens(box) = 4 and enabled(flush)", "true"},
			{"always", "tokens(box) <= 3 or not enabled(post)", "true"},
			{"examination", "Liveness", "true"},
			{"examination", "StableMarking", "false"},
			{"ctl", "AG EF enabled(post)", "true"},
			{"ctl", "AG(tokens(box) >= 1 => AX tokens(box) = 0)", "false"},
			{"ctl", "E[(enabled(post)) U tokens(box) = 4]", "true"},
			{"ctl", "EF(tokens(box) = 4 and EX tokens(box) = 0)", "true"},
			{"ctl", "AG(tokens(box) = 3 => not EX tokens(box) = 0)", "false"},
		} {
			name := strings.TrimPrefix(q.kind+" "+q.text, "examination ")
			questions = append(questions, "--"+q.kind, q.text)
			want = append(want, fmt.Sprintf("%-49s  %s", name, q.answer))
		}
		try.Here(t, questions...).Has(t, 0, want...)
		try.Here(t, append(args, "--trace", "witness", "--sometimes",
			"tokens(box) = 4 and enabled(flush)")...).Has(t, 0, "5 firings:", "end  box=4 busy=1")
	}
	try.Here(t, "explore", net, "-q", "-n", "1", "--ltl",
		"G(enabled(flush) => F tokens(box) = 0)").Has(t, 0, "  true")
}

// A place that an inhibitor arc bounds is not said to grow, and one beside it that nothing bounds
// is.
func TestSpecialArcsUnbounded(t *testing.T) {
	const begin = `<pnml><net id="n"><place id="p"/><place id="q"/><transition id="t"/>
		<arc source="t" target="p"/>`
	bounded := try.File(t, "bounded.pnml", begin+
		`<arc source="p" target="t" type="inhibitor" weight="300"/></net></pnml>`)
	grows := try.File(t, "grows.pnml", begin+`<arc source="t" target="q"/>
		<arc source="p" target="t" type="reset"/></net></pnml>`)
	for _, engine := range engines {
		try.Here(t, "explore", bounded, "-q", "--engine", engine).Has(t, 0,
			"states                   301", "!UNBOUNDED")
		try.Here(t, "explore", grows, "-q", "--engine", engine).Has(t, cli.ExitUnbounded,
			"place q grows by firing t again and again, after t")
	}
}
