package explore

import (
	"math/bits"

	"github.com/farhash/farhash/set"
)

// The tree of a state that ends in zeros has a part for each word, and only as many levels as these
// need, or one more. Nodes with nothing but zeros below them have one reference at each level,
// which a rank finds out once. So only the words that a state needs are put into the set, and read.
// The root says how many levels there are:
//
//	| how often it is shorter by two levels (2) | reference of the left node (30) | right (31) |

const (
	paddedRight    = 31 // bits of the right reference
	paddedShorter  = 61 // bit where it says how often the tree is shorter by two levels
	maxShorter     = 3
	maxPaddedNodes = 1 << 30
)

// significant is how many of the words of a state are to be kept, an even number: all after them
// are zero.
func significant(state []uint64) int {
	n := len(state)
	for n > 2 && state[n-1] == 0 {
		n--
	}
	return n + n&1
}

// shorter is how often the tree of so many words is shorter by two levels.
func (v *treeSet) shorter(words int) int {
	return min(maxShorter, (len(v.zeros)-bits.Len(uint(words-1)))/2)
}

// piece is how many of these states are worked on together: at least one.
func (v *treeSet) piece(states []uint64) int {
	most := len(states) / v.words
	if !v.padded {
		return min(most, treePiece/v.parts)
	}
	v.lengths = v.lengths[:0]
	for nodes := 0; len(v.lengths) < most; {
		n := significant(states[len(v.lengths)*v.words:][:v.words])
		if nodes += n; nodes > treePiece {
			break
		}
		v.lengths = append(v.lengths, n)
	}
	return len(v.lengths)
}

// findZeros finds out the references of nodes with nothing but zeros below them.
func (v *treeSet) findZeros() error {
	if v.zeros != nil {
		return nil
	}
	var zeros []uint64
	node := []uint64{0}
	for parts := v.parts; parts > 1; parts /= 2 {
		if err := v.intern(node); err != nil {
			return err
		}
		zeros = append(zeros, node[0])
		node[0] |= node[0] << nodeBits
	}
	v.zeros = zeros
	return nil
}

// paddedRoots is roots of the states of which piece has found the lengths.
func (v *treeSet) paddedRoots(states, roots []uint64) error {
	if err := v.findZeros(); err != nil {
		return err
	}
	nodes := v.spaces[:0]
	for i, n := range v.lengths {
		state := states[i*v.words:][:v.words]
		nodes = append(nodes, state[:min(n, v.words)]...)
		if n > v.words {
			nodes = append(nodes, 0)
		}
		roots[i] = uint64(v.shorter(n)) << paddedShorter
	}
	for level := 0; len(nodes) > 0; level++ {
		if err := v.intern(nodes); err != nil {
			return err
		}
		nodes = v.pair(nodes, roots, level)
	}
	return nil
}

// pair replaces references of nodes of a level by the contents of the nodes above them, or
// completes roots.
func (v *treeSet) pair(nodes, roots []uint64, level int) []uint64 {
	from, to := 0, 0
	for i, n := range v.lengths {
		if n == 0 {
			continue
		}
		if level+1 == v.levels(roots[i]) {
			roots[i] |= nodes[from]<<paddedRight | nodes[from+1]
			v.lengths[i], from = 0, from+2
			continue
		}
		for end := from + n; from < end; from += 2 {
			nodes[to] = nodes[from]<<nodeBits | nodes[from+1]
			to++
		}
		if n /= 2; n%2 == 1 {
			nodes[to] = v.zeros[level]<<nodeBits | v.zeros[level]
			n, to = n+1, to+1
		}
		v.lengths[i] = n
	}
	return nodes[:to]
}

// levels is how many levels the tree with a root has below it.
func (v *treeSet) levels(root uint64) int { return len(v.zeros) - 2*int(root>>paddedShorter) }

// loadPadded stores the states of the first tasks, and returns of how many.
func (v *treeSet) loadPadded(tasks, states []uint64) (int, error) {
	if err := v.findZeros(); err != nil {
		return 0, err
	}
	for {
		n := min(len(tasks), v.atOnce)
		clear(states[:n*v.words])
		fit, err := v.readPadded(tasks[:n], states)
		if fit || err != nil {
			return n, err
		}
		v.atOnce = max(1, n/2)
	}
}

// readPadded stores the states of tasks, which are zeros, unless they have more nodes than fit in a
// piece. It reads their trees level by level, and of each level what has not zeros alone below it.
func (v *treeSet) readPadded(tasks, states []uint64) (fit bool, err error) {
	nodes := v.spaces[:0]
	v.places = v.places[:0]
	for level := len(v.zeros) - 1; level >= 0; level-- {
		for i, root := range tasks {
			if v.levels(root) == level+1 {
				left, right := root>>paddedRight&(maxPaddedNodes-1), root&(1<<paddedRight-1)
				nodes = append(nodes, left<<nodeBits|right)
				v.places = append(v.places, int32(i*v.parts))
			}
		}
		refs, places := v.refs[:0], v.placesBelow[:0]
		for i, pair := range nodes {
			for side, ref := range [2]uint64{pair >> nodeBits, pair & (1<<nodeBits - 1)} {
				if ref != v.zeros[level] {
					refs = append(refs, set.Ref(ref))
					places = append(places, v.places[i]+int32(side<<level))
				}
			}
		}
		v.placesBelow, v.places = v.places, places
		if len(refs)+len(tasks) > treePiece {
			return false, nil
		}
		nodes = v.spaces[:len(refs)]
		if err := v.nodes.GetPacked(refs, bytesOf(nodes)); err != nil {
			return false, err
		}
	}
	for i, word := range nodes {
		at := int(v.places[i])
		states[at/v.parts*v.words+at%v.parts] = word
	}
	return true, nil
}
