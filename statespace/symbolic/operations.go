package symbolic

// The operations on sets. A caller keeps what it passes reachable from a root, from the stack, from
// an open row or from a call that is due; what it has from one call and needs after the next one it
// pushes. Results are reachable from nothing.
//
// Each operation has four parts, in this order: terminal answers without the cache, cache looks the
// result up, recurse calls the operation for smaller lists, store keeps the result.

func (w *worker) union(a, b Node) Node {
	// terminal
	switch {
	case a == b || b == Empty:
		return a
	case a == Empty:
		return b
	case a > b:
		a, b = b, a
	}
	// cache
	k := keyOf(opUnion, a, uint64(b), 0)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	valueA, downA, rightA := w.at(a)
	valueB, downB, rightB := w.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = w.node(valueA, downA, w.union(rightA, b))
	case valueA > valueB:
		n = w.node(valueB, downB, w.union(a, rightB))
	case w.mirrored:
		below, rest := w.both(call{opUnion, 0, downA, uint64(downB), 0},
			call{opUnion, 0, rightA, uint64(rightB), 0})
		n = w.node(valueA, below, rest)
	default:
		forked := w.fork(opUnion, downA, uint64(downB), 0, 0)
		w.push(w.union(rightA, rightB))
		below, ok := w.join(forked)
		if !ok {
			below = w.union(downA, downB)
		}
		n = w.node(valueA, below, w.pop())
	}
	// store
	return w.end(&k, n)
}

func (w *worker) intersect(a, b Node) Node {
	// terminal
	switch {
	case a == b:
		return a
	case a == Empty || b == Empty:
		return Empty
	case a > b:
		a, b = b, a
	}
	// cache
	k := keyOf(opIntersect, a, uint64(b), 0)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	valueA, downA, rightA := w.at(a)
	valueB, downB, rightB := w.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = w.intersect(rightA, b)
	case valueA > valueB:
		n = w.intersect(a, rightB)
	default:
		forked := w.fork(opIntersect, downA, uint64(downB), 0, 0)
		w.push(w.intersect(rightA, rightB))
		below, ok := w.join(forked)
		if !ok {
			below = w.intersect(downA, downB)
		}
		n = w.node(valueA, below, w.pop())
	}
	// store
	return w.end(&k, n)
}

func (w *worker) minus(a, b Node) Node {
	// terminal
	switch {
	case a == b || a == Empty:
		return Empty
	case b == Empty:
		return a
	}
	// cache
	k := keyOf(opMinus, a, uint64(b), 0)
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	valueA, downA, rightA := w.at(a)
	valueB, downB, rightB := w.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = w.node(valueA, downA, w.minus(rightA, b))
	case valueA > valueB:
		n = w.minus(a, rightB)
	default:
		forked := w.fork(opMinus, downA, uint64(downB), 0, 0)
		w.push(w.minus(rightA, rightB))
		below, ok := w.join(forked)
		if !ok {
			below = w.minus(downA, downB)
		}
		n = w.node(valueA, below, w.pop())
	}
	// store
	return w.end(&k, n)
}
