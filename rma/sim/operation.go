package sim

import (
	"fmt"

	"github.com/farhash/farhash/rma"
)

type opKind uint8

const (
	get opKind = iota
	put
	compareAndSwap
	fetchAdd
)

var opNames = [...]string{"get", "put", "compare-and-swap", "fetch-and-add"}

type opState uint8

const (
	posted opState = iota
	flying
	done
)

// place is the words that an operation works on.
type place struct {
	w      *segments
	target int
	off    int
	words  int
	kind   opKind
}

func (p place) String() string {
	return fmt.Sprintf("a %s of %d words at %d of rank %d in window %q",
		opNames[p.kind], p.words, p.off, p.target, p.w.name)
}

// operation is one operation of a queue, from its posting until its result is taken.
type operation struct {
	place
	origin *rank
	q      *queue
	state  opState

	buf    rma.Buf // get and put
	old    uint64  // what a compare-and-swap expects, and in the end what was seen
	word   uint64  // new word, or delta and then the sum
	writes bool    // an atomic stores word
	err    error

	joined  bool    // a get that the message of the one before it asks for
	leaves  instant // when its last message leaves
	payload int     // of that message, in bytes
	pieces  int     // of its words that are still to be read or written
	cuts    []int   // where each piece begins, and the end of the last

	// Operations of one queue on the same words take effect in order.
	before     int          // earlier ones that have not
	after      []*operation // later ones that wait for this one
	arrived    bool         // at its target, where it waits for earlier ones
	ended      bool         // it has taken effect, or never will
	prev, succ *operation   // in its lane
}

// identity goes into the hash of a run.
func (op *operation) identity() uint64 {
	return uint64(op.kind)<<56 ^ uint64(op.origin.id)<<40 ^ uint64(op.target)<<24 ^ uint64(op.off)
}

func (op *operation) overlaps(other *operation) bool {
	return op.target == other.target && op.w == other.w &&
		op.off < other.off+other.words && other.off < op.off+op.words
}

// segment is the words that the operation works on.
func (op *operation) segment() []uint64 {
	return op.w.of(op.target)[op.off : op.off+op.words]
}

// newOperation takes an operation from the pool.
func (c *cluster) newOperation() *operation {
	if n := len(c.pool); n > 0 {
		op := c.pool[n-1]
		c.pool = c.pool[:n-1]
		return op
	}
	return &operation{}
}

// recycle puts an operation back that no event and no handle refers to.
func (c *cluster) recycle(op *operation) {
	if op.before > 0 {
		return // an earlier one still knows it
	}
	*op = operation{after: op.after[:0], cuts: op.cuts[:0]}
	c.pool = append(c.pool, op)
}

// gatherBytes is what a request has for each get beyond the first: an address and a length.
const gatherBytes = 16

// start sends the request of an operation that its rank has submitted.
func (c *cluster) start(op *operation) {
	op.state = flying
	op.q.line(op)
	bytes := 0
	switch op.kind {
	case put:
		bytes = 8 * op.words
	case compareAndSwap:
		bytes = 16
	case fetchAdd:
		bytes = 8
	case get:
		if op.joined {
			bytes = gatherBytes
		}
		for i := range op.buf { // so that a read before the end is noticed
			op.buf[i] = 0xbadbadbadbadbad
		}
	}
	c.send(op, op.origin.id, op.target, bytes, request)
}

// LostError says that an operation got no answer. Whether it has taken effect, its
// origin cannot know. Where the rank of the memory has died, errors.As finds an
// [rma.RankError] in it.
type LostError struct {
	Operation string // such as: a get of 8 words at 16 of rank 3 in window "set: buckets"
	Rank      int    // whose memory it was for
	Died      bool   // that rank has; false: the link was cut for too long
}

func (e *LostError) Error() string {
	why := "the link was cut for longer than the card tries"
	if e.Died {
		why = fmt.Sprintf("rank %d has died", e.Rank)
	}
	return fmt.Sprintf("sim: %s got no answer, %s; it may have taken effect or not",
		e.Operation, why)
}

// Unwrap is the death of the rank, if that is the reason.
func (e *LostError) Unwrap() error {
	if e.Died {
		return &rma.RankError{Rank: e.Rank}
	}
	return nil
}
