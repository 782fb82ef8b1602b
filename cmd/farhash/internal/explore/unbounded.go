package explore

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/petri/randomwalk"
	"github.com/farhash/farhash/statespace/report"
)

// growth shows that a net is unbounded, by the ids of its place and transitions. The fields are
// named as in --json.
type growth struct {
	Place string   `json:"place"`
	After []string `json:"after"` // firings from the initial marking on
	Cycle []string `json:"cycle"` // and those that can be repeated for ever
}

// unboundedReason is the reason why there are no counts.
const unboundedReason = "unbounded"

func newGrowth(net *petri.Net, g *randomwalk.Growth) *growth {
	ids := func(transitions []int) []string {
		all := make([]string, len(transitions))
		for i, t := range transitions {
			all[i] = net.Transitions[t].ID
		}
		return all
	}
	return &growth{net.Places[g.Place].ID, ids(g.After), ids(g.Cycle)}
}

// String is a part of a sentence, with the first firings of long sequences.
func (g *growth) String() string {
	const most = 12
	list := func(ids []string) string {
		if len(ids) <= most {
			return report.Printable(strings.Join(ids, ", "))
		}
		return fmt.Sprintf("%s, ... (%d firings; --json has all)",
			report.Printable(strings.Join(ids[:most], ", ")), len(ids))
	}
	text := fmt.Sprintf("place %s grows by firing %s again and again",
		report.Printable(g.Place), list(g.Cycle))
	if len(g.After) > 0 {
		text += ", after " + list(g.After)
	}
	return text
}

// infinite is the answer to a sum of tokens that has no largest value.
const infinite = `"+inf"`

// newUnbounded is the answer for an unbounded net, of whose properties all are sums that grow.
func newUnbounded(net *petri.Net, g *randomwalk.Growth, properties []property.Property) answer {
	a := answer{Model: net.Name, Places: len(net.Places), Transitions: len(net.Transitions),
		Engine: engineExplicit, Reason: unboundedReason, Unbounded: newGrowth(net, g)}
	for _, p := range properties {
		a.Properties = append(a.Properties, propertyAnswer{Name: p.Name, ByWalk: true,
			Answer: json.RawMessage(infinite)})
	}
	return a
}

// endless reports whether an unbounded net is searched all the same, because that may answer what
// is asked for, until memory is full or a limit is reached.
func (f *exploreFlags) endless() bool {
	return f.trace != "" || f.extent.Depth > 0 || f.extent.States > 0 ||
		f.coverage || f.html != "" || f.itf != "" || f.export.Path != "" || f.check ||
		f.checkpoint != "" || f.resume != ""
}

// unbounded has rank 0 pass on the answer for an unbounded net. All ranks end with its exit code.
func (f *exploreFlags) unbounded(job rma.Job, a answer, pass func(answer) error) error {
	if job.Rank() == 0 {
		if err := pass(a); err != nil {
			return err
		}
	}
	return &cli.ExitError{Code: cli.ExitUnbounded}
}
