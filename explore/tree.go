package explore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/ship"
)

// treeSet keeps each state as a binary tree. The leaves are parts of the state, a power of two
// of them. A part, and a pair of references to two nodes of one level, is an element of nodes, in
// which equal ones are stored once. The root is a word of a set of words:
//
//	| reference of the left node (31) | reference of the right node (32) |
//
// Two states are equal exactly where their roots are. A task is the root. States of a model mostly
// differ in few parts from one another, so that there are far fewer nodes than states: a state
// takes little more than the bucket of its root.
type treeSet struct {
	wordSet // the roots
	nodes   nodeTable

	words    int    // of a state
	parts    int    // of a state
	partBits int    // 64*words/parts
	first    int    // bit of the state at which part 0 begins
	mask     uint64 // of a part

	known  []knownNode // by a hash of the content: nodes that this rank has met
	spaces []uint64    // contents and then references of the nodes of a piece
	misses []uint64    // contents of nodes that are not known
	at     []int       // where their references go
	refs   []set.Ref
	found  []set.Result
}

// knownNode is a node whose reference is known.
type knownNode struct {
	content uint64
	ref     uint64 // and 1; 0: none
}

const (
	// maxTreeWords is the length of the longest states that are kept as trees.
	maxTreeWords = 64
	// treePiece is how many nodes of a level are worked on together.
	treePiece = 1 << 12
	// knownNodes is how many nodes a rank keeps at hand.
	knownNodes = 1 << knownBits
	knownBits  = 14

	// nodeShare is how many times fewer buckets the table of nodes begins with.
	nodeShare = 8
	nodeBits  = 32
	maxNodes  = 1 << (nodeBits - 1)

	// treeBytes is the memory of a rank's lists: for a node of a piece its content, and a place
	// in each list of those that are not known.
	treeBytes = knownNodes*16 + treePiece*(8+8+8+8+1)
)

// newTreeSet makes a set of trees with so many buckets for roots. Collective.
func newTreeSet(ctx context.Context, job rma.Job, cfg set.Config, words, stateBits int) (*treeSet,
	error) {
	parts := max(2, 1<<bits.Len(uint(words-1)))
	v := &treeSet{words: words, parts: parts, partBits: 64 * words / parts,
		known: make([]knownNode, knownNodes), spaces: make([]uint64, treePiece),
		misses: make([]uint64, 0, treePiece), at: make([]int, 0, treePiece),
		refs: make([]set.Ref, treePiece), found: make([]set.Result, treePiece)}
	v.mask = ^uint64(0) >> (64 - v.partBits)
	// Half of the bits that are used lie in each half of the tree: the others are divided between
	// its two ends.
	v.first = 64*words - (64*words-stateBits)/2
	var err error
	if v.s, err = set.New(ctx, job, cfg); err != nil {
		return nil, err
	}
	cfg.Buckets = firstNodes(cfg.Buckets)
	v.nodes = nodeTable{tree: v, ranks: job.Size()}
	v.nodes.s, err = set.NewElements(ctx, job, set.ElementsConfig{Config: cfg, ElementBytes: 8,
		Capacity: arenaFor(cfg.Buckets)})
	if err != nil {
		return nil, errors.Join(err, v.s.Close())
	}
	return v, nil
}

// firstNodes is the number of buckets for nodes that a set of trees begins with.
func firstNodes(buckets uint64) uint64 { return max(minBuckets, buckets/nodeShare) }

// firstTreeBytes is the memory of a new set of trees.
func firstTreeBytes(buckets uint64, ranks int) uint64 {
	return wordBytes(buckets) + elementBytes(firstNodes(buckets), 1, ranks) +
		uint64(ranks)*treeBytes
}

func (v *treeSet) insert(states []uint64, results []set.Result, tasks []uint64) error {
	for i := range results {
		results[i] = set.Full
	}
	step := treePiece / v.parts
	for at := 0; at < len(results); at += step {
		end := min(at+step, len(results))
		if err := v.roots(states[at*v.words:end*v.words], tasks[at:end]); err != nil {
			return err
		}
		if err := v.s.FindOrPutBatch(tasks[at:end], results[at:end]); err != nil {
			return err
		}
	}
	return nil
}

func (v *treeSet) names(states, tasks []uint64) error {
	step := treePiece / v.parts
	for at := 0; at < len(tasks); at += step {
		end := min(at+step, len(tasks))
		if err := v.roots(states[at*v.words:end*v.words], tasks[at:end]); err != nil {
			return err
		}
	}
	return nil
}

// roots stores the roots of states.
func (v *treeSet) roots(states, roots []uint64) error {
	nodes := v.spaces[:len(roots)*v.parts]
	for i := range roots {
		v.split(states[i*v.words:][:v.words], nodes[i*v.parts:][:v.parts])
	}
	for {
		if err := v.intern(nodes); err != nil {
			return err
		}
		pairs := nodes[:len(nodes)/2]
		for i := range pairs {
			pairs[i] = nodes[2*i]<<nodeBits | nodes[2*i+1]
		}
		if nodes = pairs; len(nodes) == len(roots) {
			copy(roots, nodes)
			return nil
		}
	}
}

// mostNodes is how many nodes a state has beside its root.
func (v *treeSet) mostNodes() uint64 { return uint64(2*v.parts - 2) }

// split stores the parts of a state.
func (v *treeSet) split(state, parts []uint64) {
	at := v.first
	for i := range parts {
		word, shift := at/64%len(state), at%64
		next := word + 1
		if next == len(state) {
			next = 0
		}
		parts[i] = (state[word]>>shift | state[next]<<(64-shift)) & v.mask
		at += v.partBits
	}
}

// join stores the state that has these parts.
func (v *treeSet) join(parts, state []uint64) {
	clear(state)
	at := v.first
	for _, part := range parts {
		word, shift := at/64%len(state), at%64
		state[word] |= part << shift
		state[(word+1)%len(state)] |= part >> (64 - shift)
		at += v.partBits
	}
}

// hashNode is the place in known of a node with this content.
func hashNode(content uint64) uint64 {
	return (content ^ content>>29) * 0x9E3779B97F4A7C15 >> (64 - knownBits)
}

// intern puts nodes, given by their contents, and stores their references in place of these. The
// error is a *set.FullError if the table of nodes is full.
func (v *treeSet) intern(nodes []uint64) error {
	v.misses, v.at = v.misses[:0], v.at[:0]
	for i, content := range nodes {
		if k := &v.known[hashNode(content)]; k.content == content && k.ref != 0 {
			nodes[i] = k.ref - 1
			continue
		}
		v.misses, v.at = append(v.misses, content), append(v.at, i)
	}
	n := len(v.misses)
	if n == 0 {
		return nil
	}
	err := v.nodes.s.FindOrPutRefs(bytesOf(v.misses), v.found[:n], v.refs[:n])
	if full := (*set.FullError)(nil); errors.As(err, &full) {
		v.nodes.full = true
	}
	if err != nil {
		return err
	}
	for i, content := range v.misses {
		ref := uint64(v.refs[i])
		if ref >= maxNodes {
			return fmt.Errorf("explore: the parts of the states are more than 2^31; "+
				"use encoding %q", EncodingElement)
		}
		if v.found[i] == set.Inserted {
			v.nodes.added++
		}
		nodes[v.at[i]] = ref
		v.known[hashNode(content)] = knownNode{content, ref + 1}
	}
	return nil
}

func (v *treeSet) load(ctx context.Context, tasks, states []uint64) error {
	step := treePiece / v.parts
	for len(tasks) > 0 {
		n := min(step, len(tasks))
		nodes := v.spaces[:n]
		copy(nodes, tasks)
		for len(nodes) < n*v.parts {
			refs := v.refs[:2*len(nodes)]
			for i, pair := range nodes {
				refs[2*i], refs[2*i+1] = set.Ref(pair>>nodeBits), set.Ref(pair&(1<<nodeBits-1))
			}
			nodes = v.spaces[:len(refs)]
			if err := v.nodes.s.GetBatch(ctx, refs, bytesOf(nodes)); err != nil {
				return err
			}
		}
		for i := range n {
			v.join(nodes[i*v.parts:][:v.parts], states[i*v.words:][:v.words])
		}
		tasks, states = tasks[n:], states[n*v.words:]
	}
	return nil
}

func (v *treeSet) each(ctx context.Context, use func(state []byte) error) error {
	state := make([]uint64, v.words)
	return v.wordSet.each(ctx, func(root []byte) error {
		task := *(*uint64)(unsafe.Pointer(unsafe.SliceData(root)))
		if err := v.load(ctx, []uint64{task}, state); err != nil {
			return err
		}
		return use(bytesOf(state))
	})
}

// tables are that of the roots, and that of the nodes.
func (v *treeSet) tables() []growable { return []growable{v, &v.nodes} }

// full is the table that had no room: that of the nodes if its last batch did not find any.
func (v *treeSet) full() int {
	if v.nodes.full {
		return 1
	}
	return 0
}

func (v *treeSet) bytesFor(buckets uint64) uint64 { return wordBytes(buckets) + v.keptBytes() }
func (v *treeSet) keptBytes() uint64              { return v.nodes.bytes() }

func (v *treeSet) check(ctx context.Context) error {
	return errors.Join(v.s.Check(ctx), v.nodes.s.Check(ctx))
}
func (v *treeSet) access() ship.Choice { return v.s.Stats().Access }
func (v *treeSet) close() error        { return errors.Join(v.s.Close(), v.nodes.s.Close()) }

// nodeTable is the nodes of a set of trees.
type nodeTable struct {
	s     *set.Elements
	tree  *treeSet
	ranks int
	added uint64 // by this rank since the load was judged
	full  bool
}

// bytes is its memory, and that of the ranks' lists.
func (n *nodeTable) bytes() uint64 {
	return elementBytes(n.s.Buckets(), 1, n.ranks) + uint64(n.ranks)*treeBytes
}

func (n *nodeTable) buckets() uint64 { return n.s.Buckets() }

func (n *nodeTable) bytesFor(buckets uint64) uint64 {
	return elementBytes(buckets, 1, n.ranks) + n.ownBytes()
}

// ownBytes is the memory that does not depend on the nodes.
func (n *nodeTable) ownBytes() uint64 {
	return wordBytes(n.tree.buckets()) + uint64(n.ranks)*treeBytes
}

func (n *nodeTable) keptBytes() uint64 { return n.s.Capacity()*8 + n.ownBytes() }

// loaded judges the load once in a while: counting nodes takes many reads.
func (n *nodeTable) loaded(ctx context.Context, _ uint64) (bool, error) {
	if n.added*uint64(n.ranks) < n.s.Buckets()/64 {
		return false, nil
	}
	nodes, err := n.s.Len(ctx)
	if float64(nodes) >= growLoad*float64(n.s.Buckets()) {
		return true, err
	}
	n.added = 0
	return false, err
}

func (n *nodeTable) grow(ctx context.Context, buckets uint64) error {
	n.full = false
	return n.s.Grow(ctx, buckets, arenaFor(buckets))
}
