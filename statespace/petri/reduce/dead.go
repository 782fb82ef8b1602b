package reduce

// dropDead drops transitions that never fire.
//
// Suppose that tokens are never used up, and that a place to which a transition adds tokens has
// any number. What cannot fire then never fires: of the transitions that do, the first one to need
// more tokens than its places have had would contradict it. A place to which nothing adds tokens
// never has more than at the beginning.
func (n *net) dropDead() bool {
	missing := make([]int, len(n.transitions)) // arcs
	var ready []int
	for i := range n.transitions {
		t := &n.transitions[i]
		if t.gone {
			missing[i] = -1
			continue
		}
		for _, a := range t.arcs {
			if a.in > n.tokens[a.place] {
				missing[i]++
			}
		}
		if missing[i] == 0 {
			ready = append(ready, i)
		}
	}
	grows := make([]bool, len(n.tokens))
	for len(ready) > 0 {
		t := &n.transitions[ready[len(ready)-1]]
		ready = ready[:len(ready)-1]
		for _, a := range t.arcs {
			if a.effect() <= 0 || grows[a.place] {
				continue
			}
			grows[a.place] = true
			for _, user := range n.usersOf(a.place) {
				if n.transitions[user].at(a.place).in > n.tokens[a.place] {
					if missing[user]--; missing[user] == 0 {
						ready = append(ready, user)
					}
				}
			}
		}
	}
	changed := false
	for i, arcs := range missing {
		if arcs > 0 {
			n.drop(i)
			changed = true
		}
	}
	return changed
}
