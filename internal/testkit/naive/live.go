package naive

import (
	"slices"

	"github.com/farhash/farhash/statespace/petri"
)

// Live says for each transition of n whether it is live: whether from each reachable marking one
// is reached that enables it. ok is false if there are more than limit markings.
func Live(n *petri.Net, limit int) (live []bool, ok bool) {
	markings := []string{encode(n.Initial())}
	number := map[string]int{markings[0]: 0}
	var next, enables [][]int // by marking: markings and transitions
	for i := 0; i < len(markings); i++ {
		next, enables = append(next, nil), append(enables, nil)
		for t := range n.Transitions {
			m := decode(markings[i], len(n.Places))
			if !n.Transitions[t].Enabled(m) {
				continue
			}
			n.Transitions[t].Fire(m)
			key := encode(m)
			if _, old := number[key]; !old {
				number[key] = len(markings)
				markings = append(markings, key)
			}
			next[i], enables[i] = append(next[i], number[key]), append(enables[i], t)
		}
		if len(markings) > limit {
			return nil, false
		}
	}
	for t := range n.Transitions {
		leads := make([]bool, len(markings)) // to a marking that enables it
		for changed := true; changed; {
			changed = false
			for i := range markings {
				if !leads[i] && (slices.Contains(enables[i], t) ||
					slices.ContainsFunc(next[i], func(j int) bool { return leads[j] })) {
					leads[i], changed = true, true
				}
			}
		}
		live = append(live, !slices.Contains(leads, false))
	}
	return live, true
}
