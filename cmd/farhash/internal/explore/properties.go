package explore

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/report"
)

// asked is what the flags of explore ask about a net.
type asked struct {
	files, always, sometimes, bounds, examinations []string
	formulaFiles, ltl, ctl                         []string
}

func (a *asked) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&a.files, "properties", nil,
		"answer the properties in a `FILE` of the Model Checking Contest")
	flags.StringArrayVar(&a.formulaFiles, "formulas", nil, "answer the properties in a `FILE` of "+
		"lines such as always FORMULA, sometimes FORMULA, NAME: bound SUM, ltl FORMULA")
	flags.StringArrayVar(&a.always, "always", nil,
		"answer whether a `FORMULA` holds in all reachable markings")
	flags.StringArrayVar(&a.sometimes, "sometimes", nil,
		"answer whether a `FORMULA` holds in one reachable marking at least")
	flags.StringArrayVar(&a.ltl, "ltl", nil, "answer whether a `FORMULA` of LTL holds on all "+
		"paths")
	flags.StringArrayVar(&a.ctl, "ctl", nil, "answer whether a `FORMULA` of CTL, or of CTL*, "+
		"holds initially")
	flags.StringArrayVar(&a.bounds, "bound", nil, "find the largest value of a `SUM` of tokens")
	flags.StringArrayVar(&a.examinations, "examination", nil, "answer the examination `NAME` of "+
		"the contest: ReachabilityDeadlock, OneSafe, StableMarking, QuasiLiveness or Liveness; "+
		"or Soundness, of a workflow net")
}

// formulas reports whether there may be properties that a marking shows.
func (a *asked) formulas() bool {
	return len(a.files)+len(a.formulaFiles)+len(a.always)+len(a.sometimes)+len(a.ltl)+len(a.ctl)+
		len(a.examinations) > 0
}

// read reads the properties for a net. No two have the same name: their answers could not be told
// apart.
func (a *asked) read(net *petri.Net) ([]property.Property, error) {
	var all []property.Property
	for _, path := range a.files {
		some, err := property.ReadFile(net, path)
		if err != nil {
			return nil, fmt.Errorf("--properties: %w", err)
		}
		all = append(all, some...)
	}
	for _, path := range a.formulaFiles {
		some, err := property.ReadFormulas(net, path)
		if err != nil {
			return nil, fmt.Errorf("--formulas: %w", err)
		}
		all = append(all, some...)
	}
	for _, name := range a.examinations {
		if name == "Soundness" {
			some, err := property.Soundness(net)
			if err != nil {
				return nil, cli.Usage(fmt.Errorf("--examination Soundness: %w", err))
			}
			all = append(all, some...)
			continue
		}
		p, err := property.Examination(net, name)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--examination: %w", err))
		}
		all = append(all, p)
	}
	for _, asked := range []struct {
		flag  string
		texts []string
	}{{"always", a.always}, {"sometimes", a.sometimes}, {"ltl", a.ltl}, {"ctl", a.ctl},
		{"bound", a.bounds}} {
		for _, text := range asked.texts {
			p, err := property.Parse(net, asked.flag, text)
			if err != nil {
				return nil, cli.Usage(fmt.Errorf("--%s: %w", asked.flag, err))
			}
			p.Name = asked.flag + " " + text
			all = append(all, p)
		}
	}
	named := make(map[string]bool, len(all))
	for _, p := range all {
		if named[p.Name] {
			return nil,
				cli.Usage(fmt.Errorf("two properties have the name %s: ask for one, or give "+
					"the other another id", report.Printable(p.Name)))
		}
		named[p.Name] = true
	}
	return all, nil
}

// propertyAnswer is an answer as it is printed. The fields are named as in --json.
type propertyAnswer struct {
	Name string `json:"name"`
	// Answer is true, false or a number, or "+inf" for a sum without a largest value; null where
	// it is unknown.
	Answer json.RawMessage `json:"answer"`
	// AtLeast is the largest value found so far, where a bound is unknown.
	AtLeast *int64 `json:"atLeast,omitempty"`
	// Structural: the structure of the net gave the answer, not its markings.
	Structural bool `json:"structural,omitempty"`
	// ByWalk: a random walk found it.
	ByWalk bool `json:"byWalk,omitempty"`
	// Reduced is the size of the net that gave the answer, where that was reduced.
	Reduced *netSize `json:"reduced,omitempty"`
	// Transition can not fire any more, or not at all, so that the net is not live.
	Transition string `json:"transition,omitempty"`
	// Reason says why liveness is unknown after a complete search.
	Reason string `json:"reason,omitempty"`
}

// isFalse reports whether the answer is false.
func (p propertyAnswer) isFalse() bool { return string(p.Answer) == "false" }

func newPropertyAnswer(net *petri.Net, a property.Answer) propertyAnswer {
	p := propertyAnswer{Name: a.Property.Name, Structural: a.Structural, Reason: a.Reason,
		ByWalk: a.ByWalk, Answer: json.RawMessage("null")}
	if a.Transition >= 0 {
		p.Transition = net.Transitions[a.Transition].ID
	}
	switch {
	case a.Property.Kind == property.Bound && a.Exact:
		p.Answer = strconv.AppendInt(nil, a.Value, 10)
	case a.Property.Kind == property.Bound:
		p.AtLeast = &a.Value
	case a.Verdict != logic.Unknown:
		p.Answer = strconv.AppendBool(nil, a.Verdict == logic.True)
	}
	return p
}

// known reports whether there is an answer.
func (p *propertyAnswer) known() bool { return string(p.Answer) != "null" }

// printProperties prints a table of the answers.
func printProperties(w io.Writer, properties []propertyAnswer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range properties {
		text, note := properties[i].text()
		if note != "" {
			text += "\t" + note
		}
		fmt.Fprintf(t, "%s\t%s\n", report.Printable(properties[i].Name), text)
	}
	_ = t.Flush()
}

// text is an answer as text, and what is to be said about it.
func (p *propertyAnswer) text() (answer, note string) {
	answer = strings.Trim(string(p.Answer), `"`)
	switch {
	case p.AtLeast != nil:
		answer, note = "unknown", fmt.Sprintf("at least %d", *p.AtLeast)
	case !p.known():
		answer, note = "unknown", p.Reason
	case p.Structural:
		note = "by structure"
	case p.ByWalk:
		note = "by a random walk"
	}
	if p.Reduced != nil {
		note = strings.TrimPrefix(note+"\t"+p.Reduced.String(), "\t")
	}
	if p.Transition != "" {
		note = strings.TrimPrefix(note+"\t"+report.Printable(p.Transition)+
			" never fires, or not again", "\t")
	}
	return answer, note
}

// printFormulas prints the contest's lines for properties.
func printFormulas(w io.Writer, properties []propertyAnswer, techniques string) {
	for i := range properties {
		p := &properties[i]
		text := strings.ToUpper(string(p.Answer)) + " " + techniques
		switch {
		case string(p.Answer) == infinite:
			text = "+inf " + techniques
		case !p.known():
			text = "CANNOT_COMPUTE"
		case p.Structural:
			text = strings.ToUpper(string(p.Answer)) + " TECHNIQUES TOPOLOGICAL"
		}
		if p.Reduced != nil {
			text += " STRUCTURAL_REDUCTION"
		}
		fmt.Fprintf(w, "FORMULA %s %s\n", report.Printable(p.Name), text)
	}
}
