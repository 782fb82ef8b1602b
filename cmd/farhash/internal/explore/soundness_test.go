package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// workflowNet is a file of a net that begins in i and ends in o. Its transitions are written as the
// places before and after, as in "i>ab".
func workflowNet(t *testing.T, final string, transitions ...string) string {
	var text strings.Builder
	text.WriteString(`<pnml><net id="n"><place id="i" initialMarking="1"/><place id="a"/>` +
		`<place id="b"/><place id="o"/>`)
	for _, id := range transitions {
		fmt.Fprintf(&text, `<transition id="%s"/>`, id)
		in, out, _ := strings.Cut(id, "&gt;")
		for _, place := range in {
			fmt.Fprintf(&text, `<arc source="%c" target="%s"/>`, place, id)
		}
		for _, place := range out {
			fmt.Fprintf(&text, `<arc source="%s" target="%c"/>`, id, place)
		}
	}
	text.WriteString(final + "</net></pnml>")
	return try.File(t, "workflow.pnml", text.String())
}

// Each of the three properties of a sound net is false of some net, by both engines.
func TestSoundness(t *testing.T) {
	for _, c := range []struct {
		transitions           string
		option, proper, alive bool
	}{
		{"i&gt;ab ab&gt;o", true, true, true},
		{"i&gt;a i&gt;b a&gt;o b&gt;o", true, true, true},
		{"i&gt;a i&gt;b ab&gt;o", false, true, false},              // a choice, then both
		{"i&gt;ab a&gt;o b&gt;o", false, false, true},              // both, then one is enough
		{"i&gt;a a&gt;o a&gt;b b&gt;a ab&gt;o", true, true, false}, // never a token in both
		{"i&gt;a a&gt;b b&gt;a b&gt;b a&gt;o", true, true, true},
	} {
		net := workflowNet(t, "", strings.Fields(c.transitions)...)
		for _, engine := range []string{engineExplicit, engineSymbolic} {
			code := 0
			if !c.option || !c.proper || !c.alive {
				code = cli.ExitFalse
			}
			try.Here(t, "explore", net, "-q", "-n", "1", "--engine", engine, "--exit-code",
				"--examination", "Soundness").Has(t, code,
				fmt.Sprint("Soundness: option to complete   ", c.option),
				fmt.Sprint("Soundness: proper completion    ", c.proper),
				fmt.Sprint("Soundness: no dead transitions  ", c.alive))
		}
	}
}

// A false property is shown, and a file may name the final marking.
func TestSoundnessShown(t *testing.T) {
	args := []string{"-q", "-n", "1", "--examination", "Soundness", "--trace", "witness"}
	explore := func(net string) []string { return append([]string{"explore", net}, args...) }
	try.Here(t, explore(workflowNet(t, "", "i&gt;ab", "a&gt;o", "b&gt;o"))...).Has(t, 0,
		"to a marking that shows Soundness: proper completion, 2 firings:")
	const final = `<finalmarkings><marking><place idref="%s"><text>1</text></place></marking>` +
		`</finalmarkings>`
	try.Here(t, explore(workflowNet(t, fmt.Sprintf(final, "o"), "i&gt;ab", "ab&gt;o"))...).Has(t, 0,
		"Soundness: option to complete   true")
	try.Refused(t, 2, "another final marking than 1 in place o",
		explore(workflowNet(t, fmt.Sprintf(final, "a"), "i&gt;ab", "ab&gt;o"))...)
}
