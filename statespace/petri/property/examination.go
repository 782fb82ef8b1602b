package property

import (
	"fmt"
	"strings"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
)

// examinations are the names that [Examination] knows: the names of the Model Checking Contest for
// properties that need no file.
func examinations() []string {
	return []string{"ReachabilityDeadlock", "OneSafe", "StableMarking", "QuasiLiveness",
		"Liveness"}
}

// Examination is the property of a net that an examination of the Model Checking Contest
// asks for: that a deadlock can be reached, that no place ever has more than a token, that the
// tokens of some place never change, that each transition can fire, that it can do so again
// whatever has fired.
func Examination(net *petri.Net, name string) (Property, error) {
	p := Property{Name: name}
	switch name {
	case "ReachabilityDeadlock":
		p.Kind, p.Formula = Sometimes, logic.Leaf(Stuck{})
	case "OneSafe":
		p.Kind, p.Formula = Always, logic.Of(logic.And)
		for i := range net.Places {
			p.Formula.Args = append(p.Formula.Args, logic.Leaf(&AtMost{
				Left: Sum{Terms: []Term{{Place: i, Weight: 1}}}, Right: Sum{Constant: 1}}))
		}
	case "StableMarking":
		p.Kind = Stable
	case "QuasiLiveness":
		p.Kind = QuasiLive
	case "Liveness":
		p.Kind = Live
	default:
		return p, fmt.Errorf("examination %q is unknown; use one of %s", name,
			strings.Join(examinations(), ", "))
	}
	return p, nil
}
