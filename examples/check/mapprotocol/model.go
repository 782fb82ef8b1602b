package main

import (
	"sync"

	"github.com/farhash/farhash/statespace/check"
)

const (
	slots      = 2 // of a table
	ownItems   = 4 // of a client; the first ones of clients 0 and 1 are there at first
	maxClients = 3
	values     = 5 // 0 is none

	keyA = 1
	keyB = 2
)

// What a client can call.
const (
	readA = iota
	writeA
	removeA
	ifNoneA // PutIfAbsent
	ifSameA // CompareAndPut, of the value that is there in the beginning
	writeB
	removeB
	move // the whole table
	allCalls
)

// What is there in the beginning.
const (
	hasA = 1 << iota
	removedA
	hasB
	removedB
)

// calls is a number for each client.
type calls [maxClients]int

// config has the parameters of spec/nessie.sh.
type config struct {
	ops, menu calls // how many calls each client makes, and which
	start     int
	deaths    int
	copies    bool // slots have copies of small pairs
	direct    bool // calls work directly on memory
	mutant    int
	reach     int // a mark that is to be refuted
	history   func() *histories
}

// The phases of a client: what it accesses next.
const (
	idle = iota
	take
	store
	fetch // words of a chunk
	readPair
	readSeal
	readItem
	swap
	copyFirst // the seal of a copy whose pair is written
	swapAfterCopy
	copySeal
	copyPair
	closeTable
	readMover // the slot that moves
	freezeMover
	markFirst
	readMoverItem
	copyMover
	copyOver
	markMover
	directSlot
	directKey
	directValue
	directAgain
	answer
	ended // dead, or without anything to do
)

// item is one of a client.
type item struct {
	Key         uint8 `bits:"2"`
	Value       uint8 `bits:"3"`
	Use         uint8 `bits:"4"`
	Torn, Taken bool
}

// client is what a client knows, and its items.
type client struct {
	Item   [ownItems]item
	Phase  uint8         `bits:"5"`
	Call   uint8         `bits:"3"`
	Left   uint8         `bits:"3"` // calls to make
	Value  uint8         `bits:"3"` // that is put, or was read
	New    uint16        `bits:"8"` // the word of the new item
	Table  uint8         `bits:"1"` // a search: where,
	At     uint8         `bits:"2"` // at which slot
	Buf    [slots]uint16 `bits:"11"`
	Pair   uint8         `bits:"5"` // of a copy
	Moved  bool          // a slot has moved
	Same   bool          // the item has the key
	Direct bool          // the call works directly on memory
	Moving bool          // the search is a mover's,
	Sought uint8         `bits:"2"`  // for this key
	From   uint8         `bits:"1"`  // the slot that is moved,
	Mover  uint16        `bits:"11"` // its word
}

// copied is the copy in a slot.
type copied struct {
	Pair uint8  `bits:"5"`
	Seal uint16 `bits:"14"`
}

// clients are that many of them.
type clients interface{ [2]client | [3]client }

// state is the state of the memory and of all clients.
type state[C clients] struct {
	Client C
	Slot   [2 * slots]uint16 `bits:"11"` // of both tables
	Copy   [2 * slots]copied

	// What no client reads: it serves the claims.
	History uint32 `bits:"20"` // of the calls of A
	Deaths  uint8  `bits:"2"`
	Broken  uint8  `bits:"5"` // the claim that is broken, or the mark that was reached
}

// The claims, and then the marks, from firstMark on.
const (
	linearizable = 1 + iota
	wholeItem
	keyOnce
	hasRoom
	hasItem
	firstMark
)

var claims = []string{linearizable: "the history is linearizable",
	wholeItem: "an item in use is whole", keyOnce: "no key twice in a table",
	hasRoom: "there is room", hasItem: "an item is free"}

// markClaim is what a mark refutes.
const markClaim = "the mark is never reached"

// The marks: what must be able to happen.
const (
	lost     = 1 + iota // a compare-and-swap loses to the same key
	recycled            // an item has been used again by the time it is read
	helped              // a write moves the slot
	closed              // a write closes the old table
	oldValue            // a value is read in a frozen slot
	fromCopy
	staleCopy
	diedMoving // dead, the slot frozen
	diedIn     // dead, the write has taken effect, and no answer
	revived    // a removed key is put again
	twice      // two movers copy the same slot
	crossed    // a copy and its seal are from two writers
	reread     // a direct call finds another word when it reads the slot again
	marks
)

// The wrong versions; spec/nessie-default.pml says what they do.
const (
	mutantNoVersion = 1 + iota
	mutantNoSeal
	mutantNoKey
	mutantNoCopySeal
	mutantEarly
	mutantBlind
	mutantEmptied
	mutantFreed
	mutantNoFreeze
	mutantNoClose
	mutantCopyOver
	mutantMarkFirst
	mutantUnmarked
	mutantSkips
	mutantTakesTorn
	mutantRecurs
)

// mapProtocol is the protocol. A deadlock is a client that waits for ever.
func mapProtocol[C clients](name string, c config) check.Model[state[C]] {
	c.history = sync.OnceValue(func() *histories { return newHistories(&c) })
	m := check.Model[state[C]]{Name: name, Init: []state[C]{first[C](&c)},
		Next: func(s state[C], emit func(string, state[C])) {
			if s.Broken != 0 {
				emit("stays broken", s)
				return
			}
			over := machine[C]{config: &c, state: s}
			if over.end() {
				emit("all have ended", over.state)
			}
			for id := range len(s.Client) {
				next(machine[C]{config: &c, id: id, state: s}, emit)
			}
		}}
	for i, claim := range claims[1:] {
		m.Properties = append(m.Properties, check.Always(claim,
			func(s state[C]) bool { return int(s.Broken) != 1+i }))
	}
	if c.reach > 0 {
		m.Properties = append(m.Properties, check.Always(markClaim,
			func(s state[C]) bool { return s.Broken < firstMark }))
	}
	return m
}

// first is the initial state.
func first[C clients](c *config) state[C] {
	m := machine[C]{config: c, state: state[C]{History: firstHistory}}
	at := 0
	put := func(number int, key uint8, isRemoved bool) {
		*m.itemOf(number) = item{Key: key, Value: 1, Use: 1, Taken: true}
		m.Slot[at] = m.word(number)
		if isRemoved {
			m.Slot[at] |= removed
		}
		at++
	}
	if c.start&(hasB|removedB) != 0 {
		put(0, keyB, c.start&removedB != 0)
	}
	if c.start&(hasA|removedA) != 0 {
		put(ownItems, keyA, c.start&removedA != 0)
	}
	for i := range len(m.Client) {
		m.Client[i].Left = uint8(c.ops[i])
	}
	return m.state
}
