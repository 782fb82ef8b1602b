package kv

import "github.com/farhash/farhash/internal/testkit/mark"

// Rare branches that tests must reach.
var (
	recycled             = mark.Named("kv: an item has been used again by the time it is read")
	fingerprintCollision = mark.Named("kv: another key with the same fingerprint")
	lostSwap             = mark.Named("kv: a compare-and-swap loses")
	staleCopy            = mark.Named("kv: the copy in a slot is not that of its word")
	collected            = mark.Named("kv: an item that another rank has marked is found")
	followedMove         = mark.Named("kv: a key is searched for in the next table")
	staleTable           = mark.Named("kv: a table has moved on by the time it is read")
	foundFrozen          = mark.Named("kv: a write finds its key frozen")
	changesArrived       = mark.Named("kv: a write changes a key that has just arrived")
	keyChanged           = mark.Named("kv: a slot has another key when it is read again")
	copiedTwice          = mark.Named("kv: a slot has been copied by the time it is to be")
	lateMove             = mark.Named("kv: a slot is to move when all have")
	recovered            = mark.Named("kv: an item without a mark is found")
	directRead           = mark.Named("kv: a direct call has begun to read an item")
	singleRead           = mark.Named("kv: a single get has begun to read an item")
	directSwap           = mark.Named("kv: a direct write is about to swap its slot")
	directSwapped        = mark.Named("kv: a direct write has swapped its slot")
	moverReads           = mark.Named("kv: a direct mover begins to read a key")
	moverRead            = mark.Named("kv: a direct mover has read a key")
	moverPlaced          = mark.Named("kv: a direct mover has placed a word")
	moverMoved           = mark.Named("kv: a direct mover has moved a slot")
	closesOldTable       = mark.Named(
		"kv: a write closes the old table after a slot that has moved")
	returned = mark.Named(
		"kv: an item that another process has given back is found")
	endNotMoved = mark.Named(
		"kv: another call has taken the next units, and not moved the end")
	otherItem = mark.Named(
		"kv: an Add that has lost its swap takes another item")
	putsEarly = mark.Named(
		"kv: a new key comes into a table while slots still move there")
	lateHold = mark.Named(
		"kv: a table has moved by the time its areas are held")
	ofTwoTables = mark.Named("kv: slots may be of two tables")
	fromReserve = mark.Named("kv: a reserved item is not for a new key")
	allHeld     = mark.Named("kv: all areas are held")
	sameSize    = mark.Named(
		"kv: a table that gets no memory to grow moves to one of its size")
	regrouped = mark.Named(
		"kv: free items of one class become items of another")
	runJoined = mark.Named(
		"kv: the items of a run have become units of its first one")
	runResized = mark.Named(
		"kv: the first item of a run has another class")
	runDivided  = mark.Named("kv: an item is made of units of a run")
	runTaken    = mark.Named("kv: an item of a run was taken meanwhile")
	markedFirst = mark.Named(
		"kv: items that others have marked are used before memory is taken")
)
