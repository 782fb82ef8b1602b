package model

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// file is the bytes of a model that a test writes.
type file struct{ bytes.Buffer }

func (f *file) int(values ...int) {
	for _, v := range values {
		f.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
}

func (f *file) word(values ...uint64) {
	for _, v := range values {
		f.Write(binary.LittleEndian.AppendUint64(nil, v))
	}
}

// entry is an entry of a vector of a relation in a .ldd file.
type entry struct {
	copy  bool
	value uint32
}

// lddWriter writes diagrams as LTSmin and Sylvan do.
type lddWriter struct {
	file
	numbers map[[2]uint64]uint64
	written int
	nodes   [][2]uint64
}

// diagram writes the set of vectors, which are sorted: copies come first.
func (f *lddWriter) diagram(vectors [][]entry) {
	root := f.list(vectors)
	f.word(uint64(len(f.nodes) - f.written))
	for _, n := range f.nodes[f.written:] {
		f.word(n[0], n[1])
	}
	f.written = len(f.nodes)
	f.word(root)
}

func (f *lddWriter) list(vectors [][]entry) uint64 {
	if len(vectors) == 0 {
		return noVectors
	}
	if len(vectors[0]) == 0 {
		return noEntries
	}
	first := vectors[0][0]
	rest := slices.IndexFunc(vectors, func(v []entry) bool { return v[0] != first })
	if rest < 0 {
		rest = len(vectors)
	}
	var below [][]entry
	for _, v := range vectors[:rest] {
		below = append(below, v[1:])
	}
	right, down := f.list(vectors[rest:]), f.list(below)
	n := [2]uint64{right<<1 | uint64(first.value)<<48, down<<17 | uint64(first.value>>16)}
	if first.copy {
		n[1] |= 1 << 16
	}
	if number, ok := f.numbers[n]; ok {
		return number
	}
	if f.numbers == nil {
		f.numbers = map[[2]uint64]uint64{}
	}
	f.nodes = append(f.nodes, n)
	f.numbers[n] = uint64(len(f.nodes) + 1)
	return f.numbers[n]
}

// bddWriter writes diagrams as the models of DistBDD have them.
type bddWriter struct {
	file
	numbers map[bddNode]edge
	written int
	nodes   []bddNode
}

// diagrams writes roots after their nodes.
func (f *bddWriter) diagrams(roots ...edge) {
	f.word(uint64(len(f.nodes) - f.written))
	for _, n := range f.nodes[f.written:] {
		f.word(uint64(n.high), uint64(n.low)|uint64(n.variable)<<40)
	}
	f.written = len(f.nodes)
	for _, r := range roots {
		f.word(uint64(r))
	}
}

// set is the diagram of assignments to variables.
func (f *bddWriter) set(variables []uint32, assignments [][]bool) edge {
	if len(assignments) == 0 {
		return isFalse
	}
	if len(variables) == 0 {
		return isTrue
	}
	var parts [2][][]bool
	for _, a := range assignments {
		if a[0] {
			parts[1] = append(parts[1], a[1:])
		} else {
			parts[0] = append(parts[0], a[1:])
		}
	}
	low, high := f.set(variables[1:], parts[0]), f.set(variables[1:], parts[1])
	return f.node(variables[0], low, high)
}

// node is reduced, and its low edge is no complement.
func (f *bddWriter) node(variable uint32, low, high edge) edge {
	if low == high {
		return low
	}
	if low&complement != 0 {
		return f.node(variable, low^complement, high^complement) ^ complement
	}
	n := bddNode{variable, low, high}
	if e, ok := f.numbers[n]; ok {
		return e
	}
	if f.numbers == nil {
		f.numbers = map[bddNode]edge{}
	}
	f.nodes = append(f.nodes, n)
	f.numbers[n] = edge(len(f.nodes))
	return f.numbers[n]
}

// all is the conjunction of variables.
func (f *bddWriter) all(variables []uint32) edge {
	e := isTrue
	for _, v := range slices.Backward(variables) {
		e = f.node(v, isFalse, e)
	}
	return e
}
