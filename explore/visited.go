package explore

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/ship"
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
	access() ship.Choice
	close() error

	growable // the table of the states
	// tables are all tables that grow, that of the states first.
	tables() []growable
	// full is the number of the table that had no room for states that were Full.
	full() int
}

// growable is a table of a visited set.
type growable interface {
	grow(ctx context.Context, buckets uint64) error
	buckets() uint64
	// bytesFor is the memory of the visited set in all ranks, if this table has that many
	// buckets.
	bytesFor(buckets uint64) uint64
	// keptBytes is the part of the present memory that growth of this table keeps in place.
	keptBytes() uint64
	// loaded reports whether the table is as full as it should become, where the visited set
	// has so many states.
	loaded(ctx context.Context, states uint64) (bool, error)
}

// loadedBy reports whether so many states are as many as a table should come to hold.
func loadedBy(states, buckets uint64) bool { return float64(states) >= growLoad*float64(buckets) }

// Encoding says how states lie in the visited set.
type Encoding string

const (
	// EncodingAuto takes words where the states fit, else trees of up to 64 words a state, else
	// elements.
	EncodingAuto Encoding = ""
	// EncodingWord keeps a state in the bucket itself: up to 63 bits.
	EncodingWord Encoding = "word"
	// EncodingElement keeps states of any length in arenas.
	EncodingElement Encoding = "element"
	// EncodingTree keeps parts of states in arenas, equal ones once, and in the bucket a pair of
	// references: states of up to 64 words.
	EncodingTree Encoding = "tree"
	// EncodingFingerprint keeps 63 bits of a hash of each state that is longer than they are, so
	// that a state may be missed: Result.Missed. Shorter ones are kept as words.
	EncodingFingerprint Encoding = "fingerprint"
)

// maxWordBits is the size of a state that fits in a bucket.
const maxWordBits = 63

// choose settles on an encoding for states of so many bits and words.
func (e Encoding) choose(stateBits, words int) (Encoding, error) {
	fits, fitsTree := stateBits <= maxWordBits, words <= maxTreeWords
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

// newVisited makes the set of an encoding, for states of so many bits. Collective.
func newVisited(ctx context.Context, job rma.Job, e Encoding, words, stateBits int, b *budget,
	access ship.Access) (visited, error) {
	ranks := job.Size()
	buckets, err := b.firstTable(func(buckets uint64) uint64 {
		switch e {
		case EncodingWord, EncodingFingerprint:
			return wordBytes(buckets)
		case EncodingTree:
			return firstTreeBytes(buckets, ranks)
		}
		return elementBytes(buckets, words, ranks)
	})
	if err != nil {
		return nil, err
	}
	cfg := set.Config{Buckets: buckets, Access: access}
	switch e {
	case EncodingWord:
		s, err := set.New(ctx, job, cfg)
		return &wordSet{s}, err
	case EncodingFingerprint:
		s, err := set.New(ctx, job, cfg)
		return &fingerprintSet{wordSet{s}, words}, err
	case EncodingTree:
		return newTreeSet(ctx, job, cfg, words, stateBits)
	}
	s, err := set.NewElements(ctx, job, set.ElementsConfig{Config: cfg, ElementBytes: words * 8,
		Capacity: arenaFor(buckets)})
	return &elementSet{s, words, ranks}, err
}

// wordBytes is the memory of a set of words.
func wordBytes(buckets uint64) uint64 { return buckets * 8 }

// elementBytes is the memory of a set of elements and of its arenas.
func elementBytes(buckets uint64, words, ranks int) uint64 {
	return buckets*8 + (arenaFor(buckets)+spareSlots*uint64(ranks))*uint64(words)*8
}

// spareSlots is how many slots of each rank an arena has at most beyond those asked
// for.
const spareSlots = 129

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
	for word, err := range v.s.Local(ctx) {
		if err == nil {
			err = use(bytesOf([]uint64{word}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *wordSet) grow(ctx context.Context, buckets uint64) error { return v.s.Grow(ctx, buckets) }
func (v *wordSet) buckets() uint64                                { return v.s.Buckets() }
func (v *wordSet) bytesFor(buckets uint64) uint64                 { return wordBytes(buckets) }
func (v *wordSet) keptBytes() uint64                              { return 0 }
func (v *wordSet) tables() []growable                             { return []growable{v} }
func (v *wordSet) full() int                                      { return 0 }
func (v *wordSet) check(ctx context.Context) error                { return v.s.Check(ctx) }
func (v *wordSet) access() ship.Choice                            { return v.s.Stats().Access }
func (v *wordSet) close() error                                   { return v.s.Close() }
func (v *wordSet) loaded(_ context.Context, states uint64) (bool, error) {
	return loadedBy(states, v.buckets()), nil
}

// elementSet keeps states in arenas: a task is the element's name.
type elementSet struct {
	s     *set.Elements
	words int
	ranks int
}

func (v *elementSet) insert(states []uint64, results []set.Result, tasks []uint64) error {
	// The set stores the names where the tasks are wanted.
	return v.s.FindOrPutRefs(bytesOf(states), results, refsOf(tasks)[:len(results)])
}

func (v *elementSet) names(states, tasks []uint64) error {
	return v.s.FindOrPutRefs(bytesOf(states), make([]set.Result, len(tasks)), refsOf(tasks))
}

func (v *elementSet) load(ctx context.Context, tasks, states []uint64) error {
	return v.s.GetBatch(ctx, refsOf(tasks), bytesOf(states))
}

// refsOf is tasks as names of elements: a name is a word.
func refsOf(tasks []uint64) []set.Ref {
	return unsafe.Slice((*set.Ref)(unsafe.Pointer(unsafe.SliceData(tasks))), len(tasks))
}

func (v *elementSet) each(ctx context.Context, use func(state []byte) error) error {
	for element, err := range v.s.Local(ctx) {
		if err == nil {
			err = use(element)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *elementSet) grow(ctx context.Context, buckets uint64) error {
	return v.s.Grow(ctx, buckets, arenaFor(buckets))
}
func (v *elementSet) buckets() uint64 { return v.s.Buckets() }
func (v *elementSet) bytesFor(buckets uint64) uint64 {
	return elementBytes(buckets, v.words, v.ranks)
}
func (v *elementSet) keptBytes() uint64 {
	return v.s.Capacity() * uint64(v.words) * 8
}
func (v *elementSet) check(ctx context.Context) error { return v.s.Check(ctx) }
func (v *elementSet) access() ship.Choice             { return v.s.Stats().Access }
func (v *elementSet) close() error                    { return v.s.Close() }
func (v *elementSet) tables() []growable              { return []growable{v} }
func (v *elementSet) full() int                       { return 0 }
func (v *elementSet) loaded(_ context.Context, states uint64) (bool, error) {
	return loadedBy(states, v.buckets()), nil
}

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
