package symbolic

import (
	"github.com/farhash/farhash/set"
)

// Node names a set of vectors: the first node of a list, or one of the two sets without a node. Two
// sets of a store are equal exactly where their nodes are.
type Node uint64

const (
	// Empty is the set of no vectors.
	Empty Node = 0
	// Unit is the set of the vector of length 0: what follows the last entry.
	Unit Node = 1

	// firstNode is what the node has whose pair has the reference 0.
	firstNode = 2
)

// A node is a pair of words:
//
//	| value, low bits (28)  | down (36)  |    | value, high bits (4) | right (36) |
//	 63                   36 35         0      39                  36 35         0
const (
	nodeBits = 36
	nodeMask = 1<<nodeBits - 1
	lowBits  = 64 - nodeBits

	// maxNodes is how many nodes can be named.
	maxNodes = 1<<nodeBits - firstNode
)

// node is the list that begins with an entry and continues as right does. Values ascend along a
// list, and down is never Empty: there is one list for each set. What down and right name need not
// be reachable from a root.
func (w *worker) node(value uint32, down, right Node) Node {
	if down == Empty {
		return right
	}
	if w.left <= 0 {
		w.count(down, right)
	}
	first := uint64(down) | uint64(value)<<nodeBits
	second := uint64(right) | uint64(value>>lowBits)<<nodeBits
	ref, r, err := w.pairs.FindOrPut(first, second)
	if err != nil {
		ref, r = w.full(first, second, err)
	}
	if r == set.Inserted {
		w.left--
		w.made++
		w.last = max(w.last, ref)
	}
	return Node(ref) + firstNode
}

// at is the first entry of a list, which is neither Empty nor Unit.
func (w *worker) at(n Node) (value uint32, down, right Node) {
	first, second := w.pairs.At(set.Ref(n - firstNode))
	return uint32(first>>nodeBits) | uint32(second>>nodeBits)<<lowBits, Node(first & nodeMask),
		Node(second & nodeMask)
}

func (s *Store) at(n Node) (value uint32, down, right Node) { return s.workers[0].at(n) }
