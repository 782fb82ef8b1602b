package cache

import (
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/mutant"
)

// Wrong versions of the protocol, each of which a test has to notice.
var (
	noChecksum   = mutant.New("cache: no checksum is verified")
	sealOfValue  = mutant.New("cache: the checksum is over the value alone")
	keyForgotten = mutant.New("cache: the key of a bucket is not compared")
	copiesStay   = mutant.New("cache: a put leaves further copies of its key")
	stopsAtMark  = mutant.New("cache: a search ends at an invalid bucket")
	takesFirst   = mutant.New("cache: a put takes an invalid bucket before it has searched on")
	goesBlindly  = mutant.New("cache: a put goes back to a bucket without reading it again")
	marksBlindly = mutant.New("cache: a bucket is marked invalid whatever is in it by then")
	neverLocks   = mutant.New("cache: a writer does not wait for other writers")
	neverDrains  = mutant.New("cache: a writer does not wait for readers")
	neverBreaks  = mutant.New("cache: the lock of a dead rank stays")
	breaksLiving = mutant.New("cache: a lock is broken while its owner lives")
	lostIsDone   = mutant.New("cache: a release that got no answer is not repeated")
	lostJoin     = mutant.New("cache: a lock that may have been taken is forgotten")
	goesUnlocked = mutant.New("cache: a put goes back to an earlier group without its lock")
	appliesLate  = mutant.New("cache: the effects are applied after the lock is released")
	putsUnlocked = mutant.New("cache: a put of a batch takes no lock")
	putsFirst    = mutant.New("cache: a put of a batch updates the first copy and leaves others")
	endsAtHole   = mutant.New("cache: a put of a batch takes an invalid bucket at once")
)

// Branches that are rarely taken.
var (
	torn          = mark.New("cache: a reader finds a bucket that fails its checksum")
	tornAgain     = mark.New("cache: a bucket fails its checksum each time")
	markTooLate   = mark.New("cache: a bucket has changed before it is marked invalid")
	copied        = mark.New("cache: a put finds its key twice")
	lateWrite     = mark.New("cache: a put goes back to an earlier group")
	lateFree      = mark.New("cache: a put that goes back to a bucket is about to write")
	groupExamined = mark.New("cache: the effects of a search over memory are about to be applied")
	nearExamined  = mark.New("cache: a put of a batch over memory is about to write")
	lateTaken     = mark.New("cache: a put goes back to a bucket that is taken by then")
	readerBack    = mark.New("cache: a reader finds an owner and takes back its 1")
	lockBroken    = mark.New("cache: the lock of a dead owner is broken")
	expelled      = mark.New("cache: readers that do not go away are taken for dead")
	takenAway     = mark.New("cache: somebody has broken the lock of this rank")
	lockInDoubt   = mark.New("cache: a request on a lock gets no answer")
	repairLeft    = mark.New("cache: a lock is left to the next call of this rank")
	lockRepaired  = mark.New("cache: a lock that this rank may have is given back")
)
