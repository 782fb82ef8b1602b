package main

import "github.com/farhash/farhash/statespace/check"

const (
	maxBuckets = 4
	maxSlots   = 8
	maxChunk   = 2

	occupied = 128 // a bucket: | 1 | fingerprint (2) | reference (5) |
	keyMask  = 128 + 64 + 32
	refMask  = 31
	both     = 3 // the mask of the two words of an element
	inFlight = 1 // in a buffer: a word that has not arrived yet
	past     = 2 // in a buffer: beyond the limit, not requested
)

// config has the parameters of spec/run.
type config struct {
	ops, others     int // searches of rank 0 and of the others
	buckets, chunk  int
	limit           int // buckets that are examined before Full
	home3, distinct int // home of element 3; the element with another fingerprint
	deaths          int
	memory          bool // the loops over memory
	mutant          int
	reach           int // a mark that is to be refuted
}

// usual are the parameters where nothing else is said.
var usual = config{ops: 2, others: 1, buckets: 3, chunk: 1, limit: 3, home3: 2, distinct: 3}

// The phases of a rank.
const (
	idle = iota
	examine
	match
	store
	swap
	done
	ended // dead, or without anything to do
)

// The results of a search.
const (
	none = iota
	inserted
	found
	notFound
	full
)

// rank is what a rank knows.
type rank struct {
	Phase       uint8 `bits:"3"`
	Result      uint8 `bits:"3"`
	Element     uint8 `bits:"2"` // that is searched: 1, 2 or 3
	Insert, Was bool  // find-or-put, or find; the element was in the set at the call
	Staged      bool  // the buffer is the line of a batch over memory
	Begin       uint8 `bits:"3"` // distance of the chunk from home
	Next        uint8 `bits:"2"` // bucket in it
	Buf         [2 * maxChunk]uint8
	Fetched     uint8 `bits:"2"` // words of the other element that have arrived,
	Same        bool  // and those are the ones of the own element
	Stored      uint8 `bits:"2"` // words of the own element
	Mine        uint8 `bits:"4"` // 1 + slot that is kept, 0 without one
	Taken       uint8 `bits:"3"` // slots used up
	Left        uint8 `bits:"3"` // searches to do
}

// ranks are that many of them.
type ranks interface{ [2]rank | [3]rank }

// state is the state of the memory and of all ranks. Sets of elements and of slots are masks.
type state[R ranks] struct {
	Rank   R
	Bucket [maxBuckets]uint8
	Arena  [maxSlots][2]uint8 `bits:"2"`

	// What no rank reads: it serves the claims.
	InSet  uint8 `bits:"4"` // elements whose compare-and-swap has won
	Acked  uint8 `bits:"4"` // elements with an answer Inserted
	Whole  uint8 // slots written to the last word
	Shown  uint8 // slots that a bucket refers to
	Deaths uint8 `bits:"2"`
	Broken uint8 `bits:"5"` // the claim that is broken, or the mark that was reached
}

// The claims, and then the marks, from firstMark on.
const (
	noElementTwice = 1 + iota
	noGap
	foundInSet
	inSetFound
	oneInserted
	fullWithoutRoom
	fullNotInSet
	absentPut
	shownUnchanged
	wholeRead
	nothingLost
	oneInsertedEach
	firstMark
)

var claims = []string{noElementTwice: "no element twice",
	noGap: "no gap before an element", foundInSet: "what is found is in the set",
	inSetFound: "what was in the set is found", oneInserted: "one answer alone is Inserted",
	fullWithoutRoom: "Full only without room in reach",
	fullNotInSet:    "Full only of what is not in the set", absentPut: "what is not found is put",
	shownUnchanged: "a slot referred to does not change",
	wholeRead:      "no read of an unwritten element",
	nothingLost:    "nothing lost, nothing twice", oneInsertedEach: "one Inserted of each"}

// markClaim is what a mark refutes.
const markClaim = "the mark is never reached"

// The marks: what must be able to happen.
const (
	wrapped     = 1 + iota // an element goes around the end of the table
	lostEqual              // a compare-and-swap loses to the same element
	lostSimilar            // to another one with the same fingerprint
	lostOther              // to another fingerprint
	stale                  // a bucket read as empty is taken when examined
	reused                 // a slot that was kept is overwritten
	fullAnswer
	fullEarly  // Full, and a bucket beyond the limit is empty
	absentFull // NotFound, and no bucket in reach is empty
	diedIn     // dead, the element in the set, and no answer
	diedTorn   // dead with half an element written
	diedOut    // dead with the element written and not in the set
)

// The wrong versions; spec/findorput.pml says what they do.
const (
	mutantSkip = 1 + iota
	mutantTrust
	mutantPut
	mutantNoAwait
	mutantNoWrap
	mutantRetry // has an error in cycles only
	mutantFingerprint
	mutantHalf
	mutantKeep
	mutantEarly
	mutantWait
	mutantCount
)

// findOrPut is the protocol. A deadlock is a rank that waits for ever.
func findOrPut[R ranks](name string, c config) check.Model[state[R]] {
	var first state[R]
	for i := range len(first.Rank) {
		first.Rank[i] = rank{Same: true, Left: uint8(c.others)}
	}
	first.Rank[0].Left = uint8(c.ops)
	m := check.Model[state[R]]{Name: name, Init: []state[R]{first},
		Next: func(s state[R], emit func(string, state[R])) {
			if s.Broken != 0 {
				emit("stays broken", s)
				return
			}
			over := machine[R]{config: &c, state: s}
			if over.end() {
				emit("all have ended", over.state)
			}
			for id := range len(s.Rank) {
				next(machine[R]{config: &c, id: id, state: s}, emit)
			}
		}}
	for i, claim := range claims[1:] {
		m.Properties = append(m.Properties, check.Always(claim,
			func(s state[R]) bool { return int(s.Broken) != 1+i }))
	}
	if c.reach > 0 {
		m.Properties = append(m.Properties, check.Always(markClaim,
			func(s state[R]) bool { return s.Broken < firstMark }))
	}
	return m
}
