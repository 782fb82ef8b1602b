package main

import "github.com/farhash/farhash/statespace/check"

const (
	maxTables = 3
	width     = 4 // buckets that a table has at most

	empty  = 0 // a bucket: empty, closed, or one of the words 2, 3 and 4
	closed = 1
	first  = 2
)

// config has the parameters of spec/run. All ranks make all kinds of calls.
type config struct {
	calls         []int // of each rank
	words, tables int
	sizes         [maxTables]int // buckets of each table
	limit         int            // buckets that are examined in one
	piece         int            // buckets of a piece
	deaths        int
	mutant        int
	reach         int // a mark that is to be refuted
}

// usual are the parameters where nothing else is said.
var usual = config{calls: []int{2, 1}, words: 2, tables: 2, sizes: [...]int{2, 3, 3}, limit: 4,
	piece: 1}

// The phases of a rank.
const (
	idle = iota
	examine
	claim
	answer
	scan
	closing
	shut
	mark
	tell
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
	Phase  uint8 `bits:"4"`
	Result uint8 `bits:"3"`
	Oldest uint8 `bits:"2"` // table at which its searches begin
	Left   uint8 `bits:"3"` // calls to do

	Word        uint8 `bits:"3"` // that is searched
	Insert, Was bool  // find-or-put, or find; the word was in the set at the call
	Table       uint8 `bits:"2"`
	Distance    uint8 `bits:"3"` // from the home there
	Expected    uint8 `bits:"3"` // by the compare-and-swap: empty

	Moving bool
	From   uint8 `bits:"2"` // table that moves,
	Piece  uint8 `bits:"3"` // piece of it, in the order of this rank,
	At     uint8 `bits:"3"` // and bucket of that
	Taken  uint8 `bits:"4"` // buckets of the piece that have words: a mask
}

// ranks are that many of them.
type ranks interface{ [2]rank | [3]rank }

// state is the state of the memory and of all ranks. Sets of words are masks.
type state[R ranks] struct {
	Rank       R
	Bucket     [maxTables][width]uint8 `bits:"3"`
	Moved      [width]uint8            `bits:"2"` // of a piece: all tables before it has moved in
	OldestCell uint8                   `bits:"2"` // all tables before this one have moved

	// What no rank reads: it serves the claims.
	InSet  uint8 `bits:"5"` // words whose compare-and-swap has won
	Acked  uint8 `bits:"5"` // words with an answer Inserted
	Deaths uint8 `bits:"2"`
	Broken uint8 `bits:"5"` // the claim that is broken, or the mark that was reached
}

// The claims, and then the marks, from firstMark on.
const (
	changesOnce = 1 + iota
	noWordTwice
	oneInserted
	foundInSet
	inSetFound
	fullNotInSet
	fullOfLast
	absentPut
	lastStays
	movedLater
	nothingLost
	oneInsertedEach
	firstMark
)

var claims = []string{changesOnce: "a bucket changes once",
	noWordTwice: "no word twice in a table",
	oneInserted: "one answer alone is Inserted", foundInSet: "what is found is in the set",
	inSetFound:   "what was in the set is found",
	fullNotInSet: "Full only of what is not in the set",
	fullOfLast:   "Full only of the last table", absentPut: "what is not found is put",
	lastStays:   "the last table does not move",
	movedLater:  "what a marked piece holds is in a later table",
	nothingLost: "nothing lost, nothing else", oneInsertedEach: "one Inserted of each"}

// markClaim is what a mark refutes.
const markClaim = "the mark is never reached"

// The marks: what must be able to happen; spec/setgrowth.pml says what they are.
const (
	lostClose = 1 + iota
	lostClaim
	lostCopy
	forward
	foundLater
	staleStart
	again
	rescued
	passedLimit
	third
	fullAnswer
	stuck
	diedIn
	wonByCopy
)

// The wrong versions; spec/setgrowth.pml says what they do.
const (
	beginsEarly = 1 + iota
	markFirst
	closedEmpty
	closedOther
	noClose
	copyTells
	storeClosed
	loserLeaves
	copyBlind
	limitFull
	noReturn
	movesNext
	wait
)

// growth is the protocol. A deadlock is a rank that waits for ever.
func growth[R ranks](name string, c config) check.Model[state[R]] {
	var begin state[R]
	for i := range len(begin.Rank) {
		begin.Rank[i].Left = uint8(c.calls[i])
	}
	m := check.Model[state[R]]{Name: name, Init: []state[R]{begin},
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
