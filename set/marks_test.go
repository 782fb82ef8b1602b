package set

import "github.com/farhash/farhash/internal/testkit/mark"

// The marks of the package: rare branches that tests must reach.
var (
	probeLoses      = mark.Named("set: probe loses a compare-and-swap")
	chunkInPieces   = mark.Named("set: probe requests a chunk in two pieces")
	unneededChunk   = mark.Named("set: probe waits for a chunk of the search before")
	otherCompared   = mark.Named("set: probe compares another element of equal fingerprint")
	noFreeBucket    = mark.Named("set: probe finds no free bucket within its limit")
	noSlotLeft      = mark.Named("set: no arena has a slot for an element")
	slotComesBack   = mark.Named("set: a slot whose element lost its bucket is taken back")
	stringComesBack = mark.Named("set: a string that lost its bucket gives its slot back")
	noRoomLeft      = mark.Named("set: no arena has room for a string")
	shorterAtEnd    = mark.Named("set: probe comes to a shorter string at the end of an arena")
	claimsWord      = mark.Named("set: search is about to claim a bucket")
	wordLoses       = mark.Named("set: search loses its bucket")
	claimsElement   = mark.Named("set: elementSearch is about to claim a bucket")
	elementLoses    = mark.Named("set: elementSearch loses its bucket")
	runIsRead       = mark.Named("set: takeRun is about to move the counter")
	freedIsRead     = mark.Named("set: takeFreed knows what follows a slot")
	closesBucket    = mark.Named("set: a bucket is about to be closed")
	bucketsClosed   = mark.Named("set: buckets are closed and are about to be copied")
	pieceCopied     = mark.Named("set: a piece has been copied and is about to be marked")
	closesQueued    = mark.Named("set: buckets are about to be closed through a queue")
	allMoved        = mark.Named("set: all pieces have moved")
	claimsPair      = mark.Named("set: Pairs is about to claim a bucket")
	pairLoses       = mark.Named("set: Pairs loses its bucket")
	lostCannotMove  = mark.Named("set: what a lost rank has of a table cannot move")
	lineIsRead      = mark.Named("set: compareLine is about to read a bucket")
)
