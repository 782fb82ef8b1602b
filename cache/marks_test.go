package cache

import "github.com/farhash/farhash/internal/testkit/mark"

// Branches that are rarely taken.
var (
	torn          = mark.Named("cache: a reader finds a bucket that fails its checksum")
	tornAgain     = mark.Named("cache: a bucket fails its checksum each time")
	markTooLate   = mark.Named("cache: a bucket has changed before it is marked invalid")
	getExpired    = mark.Named("cache: a get finds its key expired")
	putExpired    = mark.Named("cache: a put may take an expired pair")
	copied        = mark.Named("cache: a put finds its key twice")
	lateWrite     = mark.Named("cache: a put goes back to an earlier group")
	lateFree      = mark.Named("cache: a put that goes back to a bucket is about to write")
	groupExamined = mark.Named("cache: the effects of a search over memory are about to be applied")
	lateTaken     = mark.Named("cache: a put goes back to a bucket that is taken by then")
	readerBack    = mark.Named("cache: a reader finds an owner and takes back its 1")
	lockBroken    = mark.Named("cache: the lock of a dead owner is broken")
	expelled      = mark.Named("cache: readers that do not go away are taken for dead")
	takenAway     = mark.Named("cache: somebody has broken the lock of this rank")
	lockInDoubt   = mark.Named("cache: a request on a lock gets no answer")
	repairLeft    = mark.Named("cache: a lock is left to the next call of this rank")
	lockRepaired  = mark.Named("cache: a lock that this rank may have is given back")
)
