package explore

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// An answer that does not arrive is an error, in every form.
func TestExploreAnswerLost(t *testing.T) {
	path := family(t, "philosophers", "3")
	reader, closedPipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closedPipe.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, form := range []string{"--check", "--json", "--mcc", "--trace=deadlock"} {
		for _, way := range []struct {
			stdout  *os.File // nil: closed
			message string
		}{
			{nil, "standard output is closed"}, {full, "no space left"},
			{closedPipe, "broken pipe"}, {null, "open for reading as well"},
		} {
			c := try.New(t, "explore", path, "-q", "-n", "2", form)
			if way.stdout != nil {
				c.Cmd.Stdout = way.stdout
			} else {
				c.Path = "/bin/sh"
				c.Args = slices.Concat([]string{"sh", "-c", `exec "$0" "$@" >&-`}, c.Args)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			c.Finish()
			if text := c.Errors.String(); c.Code() != 1 || !strings.Contains(text, way.message) ||
				!strings.HasPrefix(text, "farhash: printing the answer: ") {
				t.Errorf("%s, want %q: exit code %d, %q", form, way.message, c.Code(), text)
			}
		}
	}
	// What discards the answer on purpose is well.
	for _, both := range []bool{false, true} {
		c := try.New(t, "explore", path, "-q")
		if c.Cmd.Stdout = nil; both {
			c.Cmd.Stdout, c.Cmd.Stderr = null, null
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if c.Finish(); c.Code() != 0 {
			t.Errorf("discarded with stderr: %v: exit code %d", both, c.Code())
		}
	}
}

// At its limit a search says that the net is unbounded if walks have shown it. If they have not, it
// says that the net may be unbounded, unless the structure of the net bounds every place.
func TestUnboundedNetSaysSo(t *testing.T) {
	const endless = `<pnml><net id="n"><place id="a"/><place id="b"><initialMarking><text>1</text>
</initialMarking></place><transition id="t"/><arc source="b" target="t"/>
<arc source="t" target="b"/><arc source="t" target="a"/></net></pnml>`
	const stuck = `<pnml><net id="n"><place id="a"/><place id="b"><initialMarking><text>1</text>
</initialMarking></place><place id="c"><initialMarking><text>1</text></initialMarking></place>
<transition id="s"/><arc source="c" target="s"/>
<transition id="t"/><arc source="b" target="t"/><arc source="t" target="a"/>
<transition id="u"/><arc source="a" target="u"><inscription><text>2</text></inscription></arc>
<arc source="u" target="a"><inscription><text>3</text></inscription></arc></net></pnml>`
	for net, says := range map[string]string{endless: "the net is unbounded: place a grows by " +
		"firing t again and again", stuck: "the net may be unbounded: nothing in its " +
		"structure bounds place a, and a place has held ", twoAtATime: "!unbounded"} {
		try.Here(t, "explore", try.File(t, "net.pnml", net), "-n", "1", "-q", "--engine",
			"explicit",
			"--max-states", "2").Has(t, cli.ExitIncomplete, says)
	}
}
