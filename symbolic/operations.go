package symbolic

// The operations on sets. A caller keeps what it passes reachable from a root, from the stack or
// from an open row; what it has from one call and needs after the next one it pushes. Results are
// reachable from nothing.

// begin begins an operation that the cache does not have.
func (s *Store) begin() {
	if s.called.Load() {
		s.attend()
	}
	if s.depth++; s.depth > s.deepest {
		panic(stop{errDepth})
	}
}

// end keeps the result of an operation.
func (s *Store) end(k *key, n Node) Node {
	s.depth--
	s.cache.put(k, n)
	return n
}

func (s *Store) union(a, b Node) Node {
	switch {
	case a == b || b == Empty:
		return a
	case a == Empty:
		return b
	case a > b:
		a, b = b, a
	}
	k := keyOf(opUnion, a, uint64(b), 0)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	valueA, downA, rightA := s.at(a)
	valueB, downB, rightB := s.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = s.node(valueA, downA, s.union(rightA, b))
	case valueA > valueB:
		n = s.node(valueB, downB, s.union(a, rightB))
	default:
		right := s.union(rightA, rightB)
		s.push(right)
		down := s.union(downA, downB)
		s.pop()
		n = s.node(valueA, down, right)
	}
	return s.end(&k, n)
}

func (s *Store) intersect(a, b Node) Node {
	switch {
	case a == b:
		return a
	case a == Empty || b == Empty:
		return Empty
	case a > b:
		a, b = b, a
	}
	k := keyOf(opIntersect, a, uint64(b), 0)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	valueA, downA, rightA := s.at(a)
	valueB, downB, rightB := s.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = s.intersect(rightA, b)
	case valueA > valueB:
		n = s.intersect(a, rightB)
	default:
		right := s.intersect(rightA, rightB)
		s.push(right)
		down := s.intersect(downA, downB)
		s.pop()
		n = s.node(valueA, down, right)
	}
	return s.end(&k, n)
}

func (s *Store) minus(a, b Node) Node {
	switch {
	case a == b || a == Empty:
		return Empty
	case b == Empty:
		return a
	}
	k := keyOf(opMinus, a, uint64(b), 0)
	if n, ok := s.cache.get(&k); ok {
		return n
	}
	s.begin()
	valueA, downA, rightA := s.at(a)
	valueB, downB, rightB := s.at(b)
	var n Node
	switch {
	case valueA < valueB:
		n = s.node(valueA, downA, s.minus(rightA, b))
	case valueA > valueB:
		n = s.minus(a, rightB)
	default:
		right := s.minus(rightA, rightB)
		s.push(right)
		down := s.minus(downA, downB)
		s.pop()
		n = s.node(valueA, down, right)
	}
	return s.end(&k, n)
}
