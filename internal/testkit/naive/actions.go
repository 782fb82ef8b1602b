package naive

// Action is how often an action was taken.
type Action struct {
	Arcs   uint64
	States uint64 // that it was the first to lead to, breadth first
}

// Actions searches breadth first, and expands no states that are deeper than the last level. It
// returns how often each action was taken, and how many states there are.
func Actions[S comparable](initial []S, next func(s S, emit func(action string, to S)),
	last uint64) (all map[string]Action, states uint64) {
	all = map[string]Action{}
	seen := map[S]bool{}
	for _, s := range initial {
		seen[s] = true
	}
	level := initial
	for depth := uint64(0); len(level) > 0 && depth <= last; depth++ {
		var found []S
		for _, s := range level {
			next(s, func(action string, to S) {
				a := all[action]
				a.Arcs++
				if !seen[to] {
					a.States++
					seen[to], found = true, append(found, to)
				}
				all[action] = a
			})
		}
		level = found
	}
	return all, uint64(len(seen))
}
