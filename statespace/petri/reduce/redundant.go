package reduce

// dropRedundant removes places that keep no transition from firing, and that the question does not
// name. Of a place that it names, the arcs no longer ask for tokens.
//
// Both nets have the same runs: each transition is enabled in the same markings after as before.
// This is the redundant place of Berthelot (Transformations and Decompositions of Nets, 1987).
func (n *net) dropRedundant() bool {
	changed := false
	for place := range n.tokens {
		if n.steps <= 0 {
			return changed
		}
		if n.removed[place] {
			continue
		}
		switch {
		case n.enough(place) && !n.wants(place):
			n.remove(place)
			changed = true
		case n.enough(place):
			changed = n.unask(place) || changed
		case !n.wants(place) && n.implied(place):
			n.remove(place)
			changed = true
		}
	}
	return changed
}

// enough reports whether a place has enough tokens at the beginning for each of its transitions,
// and none takes any away. Such are constant places, and those that no transition needs.
func (n *net) enough(place int) bool {
	for _, t := range n.usersOf(place) {
		if a := n.transitions[t].at(place); a.effect() < 0 || a.in > n.tokens[place] {
			return false
		}
	}
	return true
}

// unask has the arcs of a place add tokens, and not ask for any.
func (n *net) unask(place int) bool {
	changed := false
	for _, t := range n.usersOf(place) {
		arcs := n.transitions[t].arcs
		for i, a := range arcs {
			if a.place == place && a.in > 0 {
				arcs[i] = arc{place: place, out: a.effect()}
				changed = true
			}
		}
	}
	return changed
}

// implied reports whether another place has too few tokens whenever this one has.
func (n *net) implied(place int) bool {
	var taker *transition // with few arcs, which takes tokens
	for _, t := range n.usersOf(place) {
		if at := &n.transitions[t]; at.at(place).effect() < 0 &&
			(taker == nil || len(at.arcs) < len(taker.arcs)) {
			taker = at
		}
	}
	if taker == nil {
		return false
	}
	takes := taker.at(place).effect()
	for _, a := range taker.arcs {
		if a.place != place && a.effect() < 0 &&
			n.follows(place, a.place, takes, a.effect()) {
			return true
		}
	}
	return false
}

// follows reports whether place has too few tokens for a transition only when other has, too. It
// compares the tokens that place has and those that other has, k = takes/otherTakes times. Let
// m be the tokens at the beginning.
//
//   - No transition adds less to place than k times what it adds to other. So place always has
//     at least m(place) + k*(tokens(other) - m(other)).
//   - If other has what a transition needs of it, that is at least what it needs of place.
func (n *net) follows(place, other int, takes, otherTakes int64) bool {
	takes, otherTakes = -takes, -otherTakes
	for _, t := range n.usersOf(place) {
		a, b := n.transitions[t].at(place), n.transitions[t].at(other)
		if otherTakes*a.effect() < takes*b.effect() || a.in > 0 &&
			otherTakes*(n.tokens[place]-a.in)+takes*(b.in-n.tokens[other]) < 0 {
			return false
		}
	}
	for _, t := range n.usersOf(other) {
		at := &n.transitions[t]
		if otherTakes*at.at(place).effect() < takes*at.at(other).effect() {
			return false
		}
	}
	return true
}
