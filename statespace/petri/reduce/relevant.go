package reduce

// dropIrrelevant drops transitions that no answer needs. It is not for deadlocks.
//
// A transition is relevant if it adds tokens to a place of which the question wants more, or that
// a relevant transition needs, or if it takes tokens from a place of which the question wants
// fewer. Take a run to an answer, and leave out all firings that are not relevant. After each
// firing of what is left, the places that relevant transitions need have at least as many tokens
// as in the run, since what was left out added none. So each firing is possible. The places of
// which the question wants more have no fewer tokens, those of which it wants fewer no more, and
// so the marking that is reached is an answer. This extends the cone of influence, by which a
// transition that only takes tokens from the cone is relevant too.
func (n *net) dropIrrelevant() bool {
	if n.deadlock {
		return false
	}
	adds := make([]bool, len(n.tokens)) // what adds tokens there is relevant
	var todo []int                      // places
	see := func(place int) {
		if !adds[place] {
			adds[place] = true
			todo = append(todo, place)
		}
	}
	relevant := make([]bool, len(n.transitions))
	note := func(t int) {
		if relevant[t] {
			return
		}
		relevant[t] = true
		for _, a := range n.transitions[t].arcs {
			if a.in > 0 {
				see(a.place)
			}
		}
	}
	for place := range n.tokens {
		if n.up[place] {
			see(place)
		}
		if !n.down[place] {
			continue
		}
		for _, t := range n.usersOf(place) {
			if n.transitions[t].at(place).effect() < 0 {
				note(t)
			}
		}
	}
	for len(todo) > 0 {
		place := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, t := range n.usersOf(place) {
			if n.transitions[t].at(place).effect() > 0 {
				note(t)
			}
		}
	}
	changed := false
	for t := range n.transitions {
		if !n.transitions[t].gone && !relevant[t] {
			n.drop(t)
			changed = true
		}
	}
	return changed
}
