package petri_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

// dialects are files as tools write them, with the reachable markings of the nets, the ids of their
// nodes, and what they say of timing and priorities, in order.
var dialects = []struct {
	file     string
	markings int
	ids      string
	leftOut  []string
}{
	{"pm4py.pnml", 3, "source sink a", nil},
	{"yasper.pnml", 2, "p1 p2 t1", nil},
	{"woped.pnml", 3, "p1 p2 p3 t1_op_1 t1_op_2", nil},
	{"snoopy.pnml", 3, "p0 p1 t0", nil},
	{"pipe.xml", 4, "P0 T0", nil},
	{"pipe-timed.xml", 3, "P0 P1 P2 T0 T1", []string{
		`line 6: transition "T0" has rate="2.5", which is timing`,
		`line 7: transition "T0" has timed="true", which is timing`,
		`line 8: transition "T0" has infiniteServer="true", which is timing`,
		`line 11: transition "T1" has the priority "2", unlike "1" in line 5`,
	}},
	{"tapaal-engine.xml", 3, "P0 P1 T0", nil},
	// 4 markings before Send, which adds 2 to the 0 to 3 tokens of Medium, and 6 after it.
	{"components.tapn", 10, "Medium Sender.P Receiver.P Send Receiver.T", nil},
	{"dots.tapn", 3, "P0 T0", nil},
	{"timed.tapn", 2, "Buffer P Write Wait", []string{
		`line 3: shared-place "Buffer" has invariant="<= limit", which is timing`,
		`line 4: shared-transition "Write" has urgent="true", which is timing`,
		`line 7: place "Buffer" has invariant="<= limit", which is timing`,
		`line 8: place "P" has invariant="< 3", which is timing`,
		`line 9: place "P" has <initialMarkingAge>, which is timing`,
		`line 11: transition "Write" has distribution="uniform", which is timing`,
		`line 11: transition "Write" has urgent="true", which is timing`,
		`line 11: transition "Write" has weight="7.0", which is timing`,
		`line 12: the arc from "P" to "Write" has the interval "[limit,inf)", which is timing`,
		`line 14: transition "Wait" has distribution="exponential", which is timing`,
	}},
}

// TestDialects: a file is the net that the tool means. Timing and priorities are an error, or are
// left out if the caller asks for it, and the caller gets to know each.
func TestDialects(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.file, func(t *testing.T) {
			path := filepath.Join("testdata", "dialects", d.file)
			n, err := petri.ReadFile(path)
			if len(d.leftOut) > 0 {
				var bad *petri.SyntaxError
				if n != nil || !errors.As(err, &bad) || bad.Error() != d.leftOut[0]+"; timing and "+
					"priorities are not supported; farhash explore --untimed leaves them out "+
					"(Options.LeaveOut)" {
					t.Errorf("with timing: got %v, %v", n, err)
				}
			} else if err != nil {
				t.Error(err)
			}
			var leftOut []string
			opts := petri.Options{LeaveOut: func(err *petri.SyntaxError) {
				leftOut = append(leftOut, err.Error())
			}}
			if n, err = opts.ReadFile(path); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(leftOut, d.leftOut) {
				t.Errorf("left out\n%s\nwant\n%s", strings.Join(leftOut, "\n"),
					strings.Join(d.leftOut, "\n"))
			}
			var ids []string
			for _, p := range n.Places {
				ids = append(ids, p.ID)
			}
			for _, t := range n.Transitions {
				ids = append(ids, t.ID)
			}
			if got := strings.Join(ids, " "); got != d.ids {
				t.Errorf("got the nodes %s, want %s", got, d.ids)
			}
			if r, err := naive.Explore(n, 1000); err != nil || r.States != d.markings {
				t.Errorf("%d markings, want %d (%v)", r.States, d.markings, err)
			}
		})
	}
}
