package reduce

import "slices"

// The limits of what agglomeration makes.
const (
	// mostPairs transitions may replace more than one producer and more than one consumer.
	mostPairs = 24
	// mostFirings is how many firings a transition stands for, or fire at the beginning at once.
	mostFirings = 1 << 12
)

// A path from producers of a place through it to its consumers becomes one step: each pair of a
// producer and a consumer one transition, and the place is removed. Three rules say when. They
// have in common that the question does not name the place, that no transition both takes tokens
// from it and puts them there, and that all its arcs have the same weight w. A number of tokens
// below w never matters then, since all firings change it by w.
//
// The nets that they leave have only runs of the given net, without the markings between. The
// rules are Berthelot's; the free one and the conditions are Thierry-Mieg's (Structural Reductions
// Revisited, 2020), and the direction of what a question wants weakens them here.

// agglomerate applies the rules to each place.
func (n *net) agglomerate() bool {
	changed := false
	for place := range n.tokens {
		if n.steps <= 0 {
			break
		}
		if n.removed[place] || n.wants(place) {
			continue
		}
		producers, consumers, weight := n.through(place)
		if len(producers) == 0 || len(consumers) == 0 || weight == 0 ||
			min(len(producers), len(consumers)) > 1 && len(producers)*len(consumers) > mostPairs {
			continue
		}
		first := n.tokens[place] / weight // as often a consumer can fire at the beginning
		switch {
		case n.post(place, consumers) && (first == 0 || len(consumers) == 1):
			changed = n.join(place, producers, consumers, first) || changed
		case first > 0 || !n.free(place, producers):
		case !n.deadlock:
			changed = n.join(place, producers, consumers, 0) || changed
		case n.persistent(producers) && n.join(place, producers, consumers, 0):
			changed = true
			for _, t := range producers {
				n.ends = append(n.ends, n.transitions[t].firings)
			}
		}
	}
	return changed
}

// through are the producers and consumers of a place, and the weight of its arcs; 0 if they have
// several, or a transition is both.
func (n *net) through(place int) (producers, consumers []int, weight int64) {
	for _, t := range n.usersOf(place) {
		a := n.transitions[t].at(place)
		if weight == 0 {
			weight = a.in + a.out
		}
		if a.in > 0 && a.out > 0 || a.in+a.out != weight {
			return nil, nil, 0
		}
		if a.in > 0 {
			consumers = append(consumers, t)
		} else {
			producers = append(producers, t)
		}
	}
	return producers, consumers, weight
}

// post is the condition of post-agglomeration: consumers need nothing but the place, and undo no
// answer. A place with tokens at the beginning has one consumer.
//
// In a run to an answer, each consumer moves to directly behind the producer of its tokens, or to
// the beginning: it is enabled there, and what it produces earlier does no harm. What is left in
// the place at the end is consumed, which leaves an answer one. In a deadlock nothing is left.
// After the rule, a pair is enabled where its producer was, so that deadlocks are deadlocks.
func (n *net) post(place int, consumers []int) bool {
	for _, t := range consumers {
		at := &n.transitions[t]
		if n.hurts(at) || slices.ContainsFunc(at.arcs, func(a arc) bool {
			return a.in > 0 && a.place != place
		}) {
			return false
		}
	}
	return true
}

// free is the condition of free agglomeration: producers put tokens nowhere but into the place,
// which is empty at the beginning, and bring no answer nearer.
//
// In a run to an answer, each producer moves to directly before the consumer of its tokens, or out
// of the run, if there is none. Until then only its own input has more tokens and the place fewer;
// so what fires in the meantime is enabled, and so is the producer when it fires.
func (n *net) free(place int, producers []int) bool {
	for _, t := range producers {
		at := &n.transitions[t]
		if n.helps(at) || slices.ContainsFunc(at.arcs, func(a arc) bool {
			return a.out > 0 && a.place != place
		}) {
			return false
		}
	}
	return true
}

// persistent is the condition of pre-agglomeration, which is free agglomeration that keeps
// deadlocks: each producer needs tokens, and no other transition needs tokens of the same places.
//
// A marking without a firing from which producers are moved out enables them again, and nothing
// else; no consumer is enabled, with the place or without it, as none needs the tokens of a
// producer. So it is a deadlock of pairs. From such a deadlock producers can fire, only as often as
// their tokens last. Then nothing is enabled: a trace ends with these firings.
func (n *net) persistent(producers []int) bool {
	for _, t := range producers {
		needs := false
		for _, a := range n.transitions[t].arcs {
			if a.in == 0 {
				continue
			}
			needs = true
			for _, user := range n.usersOf(a.place) {
				if user != t && n.transitions[user].at(a.place).in > 0 {
					return false
				}
			}
		}
		if !needs {
			return false
		}
	}
	return true
}

// join replaces the transitions of a place by their pairs, after the only consumer has fired first
// times. It does nothing if that makes too large a net.
func (n *net) join(place int, producers, consumers []int, first int64) bool {
	var pairs []transition
	for _, h := range producers {
		for _, f := range consumers {
			pair, ok := after(&n.transitions[h], &n.transitions[f])
			if !ok {
				return false
			}
			n.steps -= len(pair.arcs)
			pairs = append(pairs, pair)
		}
	}
	if !n.fireFirst(&n.transitions[consumers[0]], first) {
		return false
	}
	for _, t := range slices.Concat(producers, consumers) {
		n.drop(t)
	}
	n.remove(place)
	for _, pair := range pairs {
		n.add(pair)
	}
	return true
}

// after is the transition that fires h and then f. It needs what h needs, and what f needs and h
// does not make.
func after(h, f *transition) (pair transition, ok bool) {
	if len(h.firings)+len(f.firings) > mostFirings {
		return pair, false
	}
	pair.firings = slices.Concat(h.firings, f.firings)
	first, second := h.arcs, f.arcs
	for len(first)+len(second) > 0 {
		var a, b arc
		if len(second) == 0 || len(first) > 0 && first[0].place <= second[0].place {
			a, first = first[0], first[1:]
			b.place = a.place
		} else {
			a.place = second[0].place
		}
		if len(second) > 0 && second[0].place == a.place {
			b, second = second[0], second[1:]
		}
		both := arc{a.place, a.in + max(0, b.in-a.out), b.out + max(0, a.out-b.in)}
		if both.in > most || both.out > most {
			return pair, false
		}
		if both.in+both.out > 0 {
			pair.arcs = append(pair.arcs, both)
		}
	}
	return pair, true
}

// fireFirst fires a transition so many times at the beginning. It does nothing, and reports false,
// if that is too often, or puts too many tokens into a place.
func (n *net) fireFirst(t *transition, times int64) bool {
	if times*int64(len(t.firings)) > mostFirings {
		return false
	}
	for _, a := range t.arcs {
		if n.tokens[a.place]+times*a.effect() > most {
			return false
		}
	}
	for _, a := range t.arcs {
		n.tokens[a.place] += times * a.effect()
	}
	for range times {
		n.begin = append(n.begin, t.firings...)
	}
	return true
}
