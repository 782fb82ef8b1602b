package symbolic

// The operations on sets. A caller keeps what it passes reachable from a root, from the stack or
// from an open row; what it has from one call and needs after the next one it pushes. Results are
// reachable from nothing.

func (w *worker) union(a, b Node) Node {
	switch {
	case a == b || b == Empty:
		return a
	case a == Empty:
		return b
	case a > b:
		a, b = b, a
	}
	k := keyOf(opUnion, a, uint64(b), 0)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
	valueA, downA, rightA := w.at(a)
	valueB, downB, rightB := w.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = w.node(valueA, downA, w.union(rightA, b))
	case valueA > valueB:
		n = w.node(valueB, downB, w.union(a, rightB))
	case w.mirrored:
		below, rest := w.mirror(call{op: opUnion, a: downA, b: uint64(downB)},
			call{op: opUnion, a: rightA, b: uint64(rightB)})
		n = w.node(valueA, below, rest)
	default:
		forked := w.fork(opUnion, downA, uint64(downB), 0, 0)
		right := w.union(rightA, rightB)
		w.push(right)
		down, ok := w.join(forked)
		if !ok {
			down = w.union(downA, downB)
		}
		w.pop()
		n = w.node(valueA, down, right)
	}
	return w.end(&k, n)
}

func (w *worker) intersect(a, b Node) Node {
	switch {
	case a == b:
		return a
	case a == Empty || b == Empty:
		return Empty
	case a > b:
		a, b = b, a
	}
	k := keyOf(opIntersect, a, uint64(b), 0)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
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
		right := w.intersect(rightA, rightB)
		w.push(right)
		down, ok := w.join(forked)
		if !ok {
			down = w.intersect(downA, downB)
		}
		w.pop()
		n = w.node(valueA, down, right)
	}
	return w.end(&k, n)
}

func (w *worker) minus(a, b Node) Node {
	switch {
	case a == b || a == Empty:
		return Empty
	case b == Empty:
		return a
	}
	k := keyOf(opMinus, a, uint64(b), 0)
	if n, ok := w.get(&k); ok {
		return n
	}
	w.begin()
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
		right := w.minus(rightA, rightB)
		w.push(right)
		down, ok := w.join(forked)
		if !ok {
			down = w.minus(downA, downB)
		}
		w.pop()
		n = w.node(valueA, down, right)
	}
	return w.end(&k, n)
}
