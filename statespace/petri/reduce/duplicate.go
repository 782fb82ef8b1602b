package reduce

import (
	"encoding/binary"
)

// mostCompared is how many transitions of equal effect one is compared with.
const mostCompared = 64

// dropDuplicates drops a transition if another one has the same effect and needs no more. That one
// can fire instead of it. One without effect is dropped as well, unless the question is whether
// there is a deadlock: its firing leads nowhere, but where it is enabled is no deadlock. (Murata,
// Petri Nets: Properties, Analysis and Applications, 1989.)
func (n *net) dropDuplicates() bool {
	changed := false
	kept := map[string][]int{} // by effect
	for i := range n.transitions {
		t := &n.transitions[i]
		if t.gone {
			continue
		}
		n.steps -= len(t.arcs) + 1
		key := effectKey(t)
		if key == "" && !n.deadlock {
			n.drop(i)
			changed = true
			continue
		}
		if n.replaced(i, kept[key]) {
			changed = true
		} else {
			kept[key] = append(kept[key], i)
		}
	}
	return changed
}

// replaced drops transition t or one of all, which has the same effect, if the other one can fire
// instead; all[...] is then the one that stays. If both can, the one for fewer firings stays.
func (n *net) replaced(t int, all []int) bool {
	at := &n.transitions[t]
	for i, j := range all[:min(len(all), mostCompared)] {
		n.steps -= len(at.arcs)
		other := &n.transitions[j]
		less, more := needsAtMost(other, at), needsAtMost(at, other)
		switch {
		case less && (!more || len(other.firings) <= len(at.firings)):
			n.drop(t)
			return true
		case more:
			n.drop(j)
			all[i] = t
			return true
		}
	}
	return false
}

// effectKey tells transitions of different effects; it is empty if there is none.
func effectKey(t *transition) string {
	var key []byte
	for _, a := range t.arcs {
		if effect := a.effect(); effect != 0 {
			key = binary.AppendUvarint(key, uint64(a.place))
			key = binary.AppendVarint(key, effect)
		}
	}
	return string(key)
}

// needsAtMost reports whether t is enabled wherever u is.
func needsAtMost(t, u *transition) bool {
	for _, a := range t.arcs {
		if a.in > u.at(a.place).in {
			return false
		}
	}
	return true
}
