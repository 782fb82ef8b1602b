package explore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// visited is the set of states found. A state is named by one word, which is its task but where it
// does not give the state back.
type visited interface {
	// insert puts len(results) packed states and stores the name of each that is
	// Inserted.
	insert(states []uint64, results []set.Result, names []uint64) error
	// names stores the names of states that are in the set.
	names(states, names []uint64) error
	// load stores the packed states of tasks, one after the other.
	load(ctx context.Context, tasks, states []uint64) error
	// each calls use with the packed states in this rank's part, or their fingerprints,
	// little-endian.
	each(ctx context.Context, use func(state []byte) error) error
	check(ctx context.Context) error
	// access is how the set is reached where its memory is not addressable.
	access() rma.AccessChoice
	close() error

	// buckets is how many the table of states has, as far as this rank knows.
	buckets() uint64
	// leave has this rank give back the memory of tables that have moved.
	leave(ctx context.Context) error
}

// Encoding says how the visited set keeps states.
type Encoding string

const (
	// EncodingAuto takes words where the states fit, else trees where they do, else elements.
	EncodingAuto Encoding = ""
	// EncodingWord keeps a state in the bucket itself: up to 63 bits.
	EncodingWord Encoding = "word"
	// EncodingElement keeps states of any length in arenas.
	EncodingElement Encoding = "element"
	// EncodingTree keeps parts of states in arenas, equal ones once, and in the bucket a pair of
	// references: states of up to 64 words, and any of a Padded model.
	EncodingTree Encoding = "tree"
	// EncodingFingerprint keeps 63 bits of a hash of each state that is longer than they are, so
	// that a state may be missed: Result.Missed. Shorter ones are kept as words.
	EncodingFingerprint Encoding = "fingerprint"
)

// maxWordBits is the size of a state that fits in a bucket.
const maxWordBits = 63

// choose settles on an encoding for states of so many bits and words, which may end in zeros.
func (e Encoding) choose(stateBits, words int, padded bool) (Encoding, error) {
	fits, fitsTree := stateBits <= maxWordBits, words <= maxTreeWords || padded
	switch {
	case (e == EncodingAuto || e == EncodingFingerprint) && fits:
		return EncodingWord, nil
	case (e == EncodingAuto || e == EncodingTree) && fitsTree:
		return EncodingTree, nil
	case e == EncodingFingerprint:
		return e, nil
	case e == EncodingAuto, e == EncodingElement:
		return EncodingElement, nil
	case e == EncodingTree:
		return "", fmt.Errorf("explore: a state has %s and a tree holds %d; "+
			"use encoding %q", plural.Of(words, "word"), maxTreeWords, EncodingElement)
	case e == EncodingWord && fits:
		return EncodingWord, nil
	case e == EncodingWord:
		return "", fmt.Errorf("explore: a state has %s and a word holds %d; "+
			"use encoding %q", plural.Of(stateBits, "bit"), maxWordBits, EncodingElement)
	}
	return "", fmt.Errorf("explore: encoding %q is unknown; use %q, %q, %q or %q", string(e),
		EncodingWord, EncodingTree, EncodingElement, EncodingFingerprint)
}

// fingerprints reports whether the visited set keeps fingerprints of states.
func (s *search) fingerprints() bool { return s.encoding == EncodingFingerprint }

// leastBytes is the least memory of a set.
func (e Encoding) leastBytes(words, ranks int) uint64 {
	bytes := e.listBytes(words, ranks)
	switch e {
	case EncodingElement:
		return bytes + tableBytes(minBuckets, words)
	case EncodingTree:
		bytes += tableBytes(minBuckets, 1)
	}
	return bytes + tableBytes(minBuckets, 0)
}

// listBytes is the memory of the ranks beside the tables: lists of trees, and free slots.
func (e Encoding) listBytes(words, ranks int) uint64 {
	switch e {
	case EncodingElement:
		return uint64(ranks*spareSlots*words) * 8
	case EncodingTree:
		return uint64(ranks) * (treeBytes + spareSlots*8)
	}
	return 0
}

// newVisited makes the set of an encoding, for states of so many words and bits, which may end in
// zeros, with tables of states and of nodes. Collective.
func newVisited(ctx context.Context, job rma.Job, e Encoding, words, stateBits int, padded bool,
	states, nodes set.Config) (visited, error) {
	switch e {
	case EncodingWord:
		s, err := set.New(ctx, job, states)
		return &wordSet{s}, err
	case EncodingFingerprint:
		s, err := set.New(ctx, job, states)
		return &fingerprintSet{wordSet{s}, words}, err
	case EncodingTree:
		v, err := newTreeSet(ctx, job, states, nodes, words, stateBits)
		if err == nil && padded && words > 1 {
			v.padded, v.atOnce = true, treePiece/8
		}
		return v, err
	}
	s, err := set.NewBytes(ctx, job, set.BytesConfig{Config: states, ElementBytes: words * 8})
	return &elementSet{s}, err
}

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
	nodes   *set.Bytes

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

	// Of states that end in zeros; see padded.go.
	padded              bool
	zeros               []uint64 // by level from the parts on: the node with zeros alone below it
	lengths             []int    // nodes of each state of a piece at a level
	places, placesBelow []int32  // of nodes: the first of their parts, of all states
	atOnce              int      // how many states are read together
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

// newTreeSet makes a set of trees. Collective.
func newTreeSet(ctx context.Context, job rma.Job, roots, nodes set.Config, words, stateBits int) (
	*treeSet, error) {
	parts := max(2, 1<<bits.Len(uint(words-1)))
	v := &treeSet{words: words, parts: parts, partBits: 64 * words / parts,
		known: make([]knownNode, knownNodes), spaces: make([]uint64, treePiece),
		misses: make([]uint64, 0, treePiece), at: make([]int, 0, treePiece),
		refs: make([]set.Ref, treePiece), found: make([]set.Result, treePiece)}
	v.mask = ^uint64(0) >> (64 - v.partBits)
	// Half of the bits that are used are in each half of the tree: the others are divided between
	// its two ends.
	v.first = 64*words - (64*words-stateBits)/2
	var err error
	if v.s, err = set.New(ctx, job, roots); err != nil {
		return nil, err
	}
	v.nodes, err = set.NewBytes(ctx, job, set.BytesConfig{Config: nodes, ElementBytes: 8})
	if err != nil {
		return nil, errors.Join(err, v.s.Close())
	}
	return v, nil
}

func (v *treeSet) insert(states []uint64, results []set.Result, tasks []uint64) error {
	for i := range results {
		results[i] = set.Full
	}
	for at, end := 0, 0; at < len(results); at = end {
		end = at + v.piece(states[at*v.words:len(results)*v.words])
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
	for at, end := 0, 0; at < len(tasks); at = end {
		end = at + v.piece(states[at*v.words:len(tasks)*v.words])
		if err := v.roots(states[at*v.words:end*v.words], tasks[at:end]); err != nil {
			return err
		}
	}
	return nil
}

// roots stores the roots of states, a piece.
func (v *treeSet) roots(states, roots []uint64) error {
	if v.padded {
		return v.paddedRoots(states, roots)
	}
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
	if err := v.nodes.FindOrPutPacked(bytesOf(v.misses), v.found[:n], v.refs[:n]); err != nil {
		return err
	}
	for i, content := range v.misses {
		ref := uint64(v.refs[i])
		if ref >= maxNodes || v.padded && ref >= maxPaddedNodes {
			return fmt.Errorf("explore: the parts of the states are more than a tree can name; "+
				"use encoding %q", EncodingElement)
		}
		nodes[v.at[i]] = ref
		v.known[hashNode(content)] = knownNode{content, ref + 1}
	}
	return nil
}

func (v *treeSet) load(ctx context.Context, tasks, states []uint64) error {
	for v.padded && len(tasks) > 0 {
		n, err := v.loadPadded(tasks, states)
		if err != nil {
			return err
		}
		tasks, states = tasks[n:], states[n*v.words:]
	}
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
			if err := v.nodes.GetPacked(refs, bytesOf(nodes)); err != nil {
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

func (v *treeSet) leave(ctx context.Context) error {
	_, err := v.nodes.Used(ctx)
	return errors.Join(err, v.wordSet.leave(ctx))
}

func (v *treeSet) check(ctx context.Context) error {
	return errors.Join(v.s.Check(ctx), v.nodes.Check(ctx))
}

func (v *treeSet) access() rma.AccessChoice { return v.s.Stats().Access }
func (v *treeSet) close() error             { return errors.Join(v.s.Close(), v.nodes.Close()) }

// fingerprintSet keeps of each state a fingerprint, which is its name. As that does not give the
// state back, a task is the state itself.
type fingerprintSet struct {
	wordSet // the fingerprints
	words   int
}

// fingerprint is 63 bits of a hash of a state.
func fingerprint(state []uint64) uint64 {
	return xxh3.Hash(bytesOf(state)) >> 1
}

func (v *fingerprintSet) insert(states []uint64, results []set.Result, names []uint64) error {
	for i := range results {
		names[i] = fingerprint(states[i*v.words:][:v.words])
	}
	return v.s.FindOrPutBatch(names[:len(results)], results)
}

// missed is the probability that a search which found so many states has missed one, if
// fingerprints are random. It is at most the probability that two states have equal fingerprints,
// of which there are 2^63. And it is at most the probability of an equal one to any of the states
// that were generated and taken for known ones: TLC prints as much, of 2^64.
func missed(states, generated uint64) float64 {
	if states == 0 {
		return 0
	}
	n, known := float64(states), float64(generated-min(states, generated))
	return min(1, n*min((n-1)/2, known)/(1<<63))
}

// elementSet keeps states in arenas: a task is the element's name.
type elementSet struct{ s *set.Bytes }

func (v *elementSet) insert(states []uint64, results []set.Result, tasks []uint64) error {
	// The set stores the names where the tasks are wanted.
	return v.s.FindOrPutPacked(bytesOf(states), results, refsOf(tasks)[:len(results)])
}

func (v *elementSet) names(states, tasks []uint64) error {
	return v.s.FindOrPutPacked(bytesOf(states), make([]set.Result, len(tasks)), refsOf(tasks))
}

func (v *elementSet) load(ctx context.Context, tasks, states []uint64) error {
	return v.s.GetPacked(refsOf(tasks), bytesOf(states))
}

// refsOf is tasks as names of elements: a name is a word.
func refsOf(tasks []uint64) []set.Ref {
	return unsafe.Slice((*set.Ref)(unsafe.Pointer(unsafe.SliceData(tasks))), len(tasks))
}

func (v *elementSet) each(ctx context.Context, use func(state []byte) error) error {
	return useEach(v.s.Local(ctx), use)
}

// useEach calls use until there is an error.
func useEach[T any](all iter.Seq2[T, error], use func(T) error) error {
	for state, err := range all {
		if err == nil {
			err = use(state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *elementSet) leave(ctx context.Context) error {
	_, err := v.s.Used(ctx)
	return err
}

func (v *elementSet) buckets() uint64                 { return v.s.Config().Buckets }
func (v *elementSet) check(ctx context.Context) error { return v.s.Check(ctx) }
func (v *elementSet) access() rma.AccessChoice        { return v.s.Stats().Access }
func (v *elementSet) close() error                    { return v.s.Close() }

// wordSet keeps states in the buckets: a task is the state.
type wordSet struct{ s *set.Set }

func (v *wordSet) insert(states []uint64, results []set.Result, tasks []uint64) error {
	copy(tasks, states)
	return v.s.FindOrPutBatch(states, results)
}

func (v *wordSet) names(states, tasks []uint64) error {
	copy(tasks, states)
	return nil
}

func (v *wordSet) load(_ context.Context, tasks, states []uint64) error {
	copy(states, tasks)
	return nil
}

func (v *wordSet) each(ctx context.Context, use func(state []byte) error) error {
	return useEach(v.s.Local(ctx), func(word uint64) error { return use(bytesOf([]uint64{word})) })
}

func (v *wordSet) leave(ctx context.Context) error {
	_, err := v.s.Used(ctx)
	return err
}

func (v *wordSet) buckets() uint64                 { return v.s.Config().Buckets }
func (v *wordSet) check(ctx context.Context) error { return v.s.Check(ctx) }
func (v *wordSet) access() rma.AccessChoice        { return v.s.Stats().Access }
func (v *wordSet) close() error                    { return v.s.Close() }

// tableBytes is the memory of a set of elements of so many words, or, without any, of words.
func tableBytes(buckets uint64, words int) uint64 {
	cfg := set.Config{Buckets: buckets}
	if words == 0 {
		return cfg.Bytes()
	}
	return set.BytesConfig{Config: cfg, ElementBytes: words * 8}.Bytes()
}

// spareSlots is how many slots of each rank an arena has at most beyond its capacity.
const spareSlots = 385

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
