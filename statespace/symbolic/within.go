package symbolic

// ReachWithin is the vectors that are reachable from a set by firings that do not leave another
// one, within, which has the set. It saturates within a constraint (Zhao and Ciardo, Symbolic CTL
// Model Checking by Constrained Saturation, ATVA 2009).
func (s *Store) ReachWithin(from, within Node, transitions []Transition) (Node, error) {
	s.begun(transitions)
	return s.do(func(w *worker) Node { return w.saturateWithin(from, within, 0) }, from, within)
}

// saturateWithin is what is reachable from n, a part of in, by transitions that begin at a level or
// below it.
func (w *worker) saturateWithin(n, in Node, level int) Node {
	if n <= Unit || n == in {
		return n
	}
	k := keyOf(opSaturateWithin, n, uint64(in), w.run.number)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	r, rest, left := w.openRow(), n, in
	for rest != Empty {
		value, down, right := w.at(rest)
		var below Node
		below, left = w.seek(left, value)
		r.entries = append(r.entries, rowEntry{value, true, w.saturateWithin(down, below, level+1)})
		rest = right
	}
	return w.end(&k, w.completeWithin(r, in, level))
}

// seek is what is below the entry of a list that has a value, Empty if there is none, and the rest
// of the list from there on.
func (w *worker) seek(n Node, value uint32) (down, rest Node) {
	for n != Empty {
		at, down, right := w.at(n)
		if at == value {
			return down, n
		}
		if at > value {
			break
		}
		n = right
	}
	return Empty, n
}

// completeWithin is complete within a constraint.
func (w *worker) completeWithin(r *row, in Node, level int) Node {
	transitions := w.run.at(level)
	for again := len(transitions) > 0; again; {
		again = false
		for i := 0; i < len(r.entries); i++ {
			if r.entries[i].fresh {
				r.entries[i].fresh, again = false, true
				i = w.fireEntryWithin(r, i, transitions, in, level)
			}
		}
	}
	return w.closeRow(r)
}

// fireEntryWithin is fireEntry within a constraint.
func (w *worker) fireEntryWithin(r *row, i int, transitions []Transition, in Node, level int) int {
	value := r.entries[i].value
	for _, t := range transitions {
		st := w.transitions[t].steps[0]
		if value < st.need {
			continue
		}
		after := st.after(value)
		room, _ := w.seek(in, after)
		below := w.fireSaturateWithin(r.entries[i].down, t, room, level+1)
		i = w.addTo(r, i, after, below)
	}
	return i
}

// fireSaturateWithin is saturateWithin of the part of fire that is in a set, of the vectors that
// follow an entry at the level above. What n was saturated within may be another set: where the
// transition has ended it is saturated again.
func (w *worker) fireSaturateWithin(n Node, t Transition, in Node, level int) Node {
	if n == Empty || in == Empty {
		return Empty
	}
	x := &w.transitions[t]
	if level > x.bottom {
		part := w.intersect(n, in)
		w.push(part)
		defer w.pop()
		return w.saturateWithin(part, in, level)
	}
	k := keyOf(opFireSaturateWithin, n, uint64(in), w.run.number<<32|uint64(t))
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	st, r, left := x.step(level), w.openRow(), in
	for rest := n; rest != Empty; {
		value, down, right := w.at(rest)
		if value >= st.need {
			var room Node
			after := st.after(value)
			room, left = w.seek(left, after)
			if below := w.fireSaturateWithin(down, t, room, level+1); below != Empty {
				r.entries = append(r.entries, rowEntry{after, true, below})
			}
		}
		rest = right
	}
	return w.end(&k, w.completeWithin(r, in, level))
}
