package set

import (
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/mutant"
)

// Branches that are rare, each claimed by a test that gets there. Without assertions
// they are nothing.
var (
	lostToEqual = mark.New("set: probe loses a compare-and-swap to what it searches for")
	lostToOther = mark.New("set: probe loses a compare-and-swap to something else")
	chunkWraps  = mark.New("set: probe asks for a chunk around the end of the table")
	chunkSplits = mark.New("set: probe asks for a chunk of two owners")
	unneeded    = mark.New("set: probe waits for a chunk that the search before did not need")
	stranger    = mark.New("set: probe compares an element that has the fingerprint alone")
	reachIsFull = mark.New("set: probe finds no free bucket in reach")
	noSlotLeft  = mark.New("set: no arena has a slot for an element")
	slotReused  = mark.New("set: a slot whose element lost its bucket is used again")
	twins       = mark.New("set: an element is inserted and found by the same batch")

	claimsWord        = mark.New("set: findOrPut is about to claim a bucket")
	wordLosesEqual    = mark.New("set: findOrPut loses its bucket to the same word")
	wordLosesOther    = mark.New("set: findOrPut loses its bucket to another word")
	claimsElement     = mark.New("set: elementSearch is about to claim a bucket")
	elementLosesEqual = mark.New("set: elementSearch loses its bucket to the same element")
	elementLosesOther = mark.New("set: elementSearch loses its bucket to another element")
	runIsSeen         = mark.New("set: takeRun is about to move the counter")
	lineIsRead        = mark.New("set: compareLine is about to read a bucket")
)

// Wrong versions of the protocol, each of which the lab or a script has to notice.
var (
	looksAway     = mutant.New("set: what won a compare-and-swap is not examined")
	trustsWinner  = mutant.New("set: what won a compare-and-swap is taken for the element")
	trustsLine    = mutant.New("set: a torn line is taken for one that was there as a whole")
	halfCompared  = mutant.New("set: half of an element is compared")
	unCompared    = mutant.New("set: a fingerprint is taken for the element")
	endsAtEnd     = mutant.New("set: a search ends where the table does")
	tooEarly      = mutant.New("set: a bucket refers to an element before that is written")
	keepsUsedSlot = mutant.New("set: a slot is used again though a bucket refers to it")
	losesLast     = mutant.New("set: a last run of one bucket does not move")
	claimsBlindly = mutant.New("set: findOrPut goes on behind what won a compare-and-swap")
	passesEqual   = mutant.New("set: elementSearch goes on behind what won a compare-and-swap")
	endsAtSeen    = mutant.New("set: a word behind what is seen is not looked for")
	staysInSeen   = mutant.New("set: an insertion over memory goes around in what is seen")
	countsTaken   = mutant.New("set: the buckets taken in a line are counted, gaps or not")
	skipsTaken    = mutant.New("set: behind a fingerprint that fits another element all is skipped")
	leaksSlot     = mutant.New("set: a slot whose element lost its bucket is not kept")
	sharesRun     = mutant.New("set: a run of slots is taken though another rank has it")
	sameHead      = mutant.New("set: the head of a chain has no version")
	dropsChain    = mutant.New("set: what is freed replaces the chain of what was free")
	freesEarly    = mutant.New("set: slots are freed before the rest has moved")
	namesLost     = mutant.New("set: a batch over the memory of a host gives no names")
)

// noteTwins marks a batch in which something was inserted and found.
func noteTwins[T comparable](results []Result, at func(i int) T) {
	inserted := map[T]bool{}
	for i, r := range results {
		if r == Inserted {
			inserted[at(i)] = true
		}
	}
	for i, r := range results {
		if r == Found && inserted[at(i)] {
			twins.Hit()
		}
	}
}

// trustLine is what trustsLine makes of a line: as it fills in order, the bucket to
// claim would be the one whose number is how many are taken.
func (p *probe) trustLine(c *chunkRequest) {
	if p.t.unit != lineBuckets || c.length != lineBuckets || p.next > 0 {
		return
	}
	taken := 0
	for _, bucket := range c.buf {
		if bucket != 0 && bucket&p.mask == p.key {
			return
		}
		if bucket != 0 {
			taken++
		}
	}
	p.next = taken
}
