package kv

import (
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/mutant"
)

// Rare branches that tests must reach. In a normal build a hit compiles to nothing; the marks and
// their names remain.
var (
	recycled             = mark.New("kv: an item has been used again by the time it is read")
	fingerprintCollision = mark.New("kv: another key with the same fingerprint")
	lostSwap             = mark.New("kv: a compare-and-swap loses")
	staleCopy            = mark.New("kv: the copy in a slot is not that of its word")
	collected            = mark.New("kv: an item that another rank has marked is found")
	followedMove         = mark.New("kv: a key is searched for in the next table")
	staleTable           = mark.New("kv: a table has moved on by the time it is read")
	foundFrozen          = mark.New("kv: a write finds its key frozen")
	changesArrived       = mark.New("kv: a write changes a key that has just arrived")
	keyChanged           = mark.New("kv: a slot has another key when it is read again")
	copiedTwice          = mark.New("kv: a slot has been copied by the time it is to be")
	lateMove             = mark.New("kv: a slot is to move when all have")
	recovered            = mark.New("kv: an item without a mark is found")
	directRead           = mark.New("kv: a direct call has begun to read an item")
	directSwap           = mark.New("kv: a direct write is about to swap its slot")
	directSwapped        = mark.New("kv: a direct write has swapped its slot")
	closesOldTable       = mark.New("kv: a write closes the old table behind a slot that has moved")
)

// Wrong versions that tests must catch. In a normal build none of them can be switched on; their
// names remain.
var (
	unsealed           = mutant.New("kv: an item is taken as it is read")
	unsealedCopy       = mutant.New("kv: a copy is taken as it is read")
	unkeyed            = mutant.New("kv: equal fingerprints make equal keys")
	emptiesDeleted     = mutant.New("kv: a deleted key leaves an empty slot")
	freesDeleted       = mutant.New("kv: the item of a deleted key is free")
	unversioned        = mutant.New("kv: an item has the same word whenever it is used")
	unfrozen           = mutant.New("kv: a slot is copied without being frozen")
	unclosed           = mutant.New("kv: a write in the next table leaves the old one open")
	endsAtEmpty        = mutant.New("kv: a search ends at an empty slot, though others have moved")
	copiesOver         = mutant.New("kv: what moves replaces what the next table has")
	thawsEarly         = mutant.New("kv: what moves may be changed before its old slot has moved")
	untagged           = mutant.New("kv: a frozen slot lacks the generation that it moves from")
	endsWalk           = mutant.New("kv: a walk ends with the table that it has begun with")
	skipsTable         = mutant.New("kv: an old table leads behind the one that moves")
	skipsStateCheck    = mutant.New("kv: a late mover empties the slots of removed keys")
	ignoresChange      = mutant.New("kv: a search goes on behind a slot whose key has changed")
	movesFirst         = mutant.New("kv: a slot has moved before it is copied")
	tooEarly           = mutant.New("kv: a slot refers to an item before it is written")
	useSticks          = mutant.New("kv: an item has the same word from its eighth use on")
	takesMovedForEmpty = mutant.New("kv: a direct get takes a slot that has moved for an empty one")
	passesFrozen       = mutant.New("kv: a direct get skips a frozen slot")
	takesTorn          = mutant.New("kv: a direct get takes an item as it is read")
	takesReused        = mutant.New("kv: a direct get takes an item whose use has come again")
	ignoresLost        = mutant.New("kv: a direct write takes a swap that it has lost for its own")
	writesLate         = mutant.New("kv: a direct write swaps its slot before its item is written")
	anyMark            = mutant.New("kv: a mark of an earlier use frees an item")
	givesTwice         = mutant.New("kv: an item is taken back though that is known")
	revives            = mutant.New("kv: an item is in the table though its use has ended")
	keepsUse           = mutant.New("kv: an item whose copy may be in a slot keeps its use")
	sweepsUsed         = mutant.New("kv: a sweep takes an item that has been used again")
	sweepsHeld         = mutant.New("kv: a sweep takes items that calls hold")
	passesLostSwap     = mutant.New("kv: a mover that loses its swap goes on behind the slot")
	partDone           = mutant.New("kv: a part that a mover has left counts as moved")
)
