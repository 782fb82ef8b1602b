package set

import (
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/mutant"
)

// Rare branches that tests must reach. Without assertions a hit compiles to nothing; the
// marks and their names remain.
var (
	lostToEqual          = mark.New("set: probe loses a compare-and-swap to what it searches for")
	lostToOther          = mark.New("set: probe loses a compare-and-swap to something else")
	chunkWraps           = mark.New("set: probe requests a chunk around the end of the table")
	chunkSplits          = mark.New("set: probe requests a chunk of two owners")
	unneededChunk        = mark.New("set: probe waits for a chunk of the search before")
	fingerprintCollision = mark.New("set: probe compares another element of equal fingerprint")
	noFreeBucket         = mark.New("set: probe finds no free bucket within its limit")
	noSlotLeft           = mark.New("set: no arena has a slot for an element")
	slotReused           = mark.New("set: a slot whose element lost its bucket is used again")
	duplicateInBatch     = mark.New("set: an element is inserted and found by the same batch")

	claimsWord        = mark.New("set: search is about to claim a bucket")
	wordLosesEqual    = mark.New("set: search loses its bucket to the same word")
	wordLosesOther    = mark.New("set: search loses its bucket to another word")
	claimsElement     = mark.New("set: elementSearch is about to claim a bucket")
	elementLosesEqual = mark.New("set: elementSearch loses its bucket to the same element")
	elementLosesOther = mark.New("set: elementSearch loses its bucket to another element")
	runIsRead         = mark.New("set: takeRun is about to move the counter")
	lineIsRead        = mark.New("set: compareLine is about to read a bucket")
)

// Wrong versions of the protocol, each of which the lab or a script must catch. In a normal
// build none of them can be switched on; their names remain.
var (
	ignoresWinner       = mutant.New("set: what won a compare-and-swap is not examined")
	trustsWinner        = mutant.New("set: what won a compare-and-swap is taken for the element")
	trustsLine          = mutant.New("set: a torn line is taken for a whole one")
	halfCompared        = mutant.New("set: half of an element is compared")
	uncompared          = mutant.New("set: a fingerprint is taken for the element")
	endsAtEnd           = mutant.New("set: a search ends where the table does")
	tooEarly            = mutant.New("set: a bucket refers to an element before that is written")
	keepsUsedSlot       = mutant.New("set: a slot is used again though a bucket refers to it")
	losesLast           = mutant.New("set: a last run of one bucket does not move")
	skipsWinningWord    = mutant.New("set: search skips the word that won a compare-and-swap")
	trustsWinningWord   = mutant.New("set: what won a bucket in assembly is taken for the word")
	skipsWinningElement = mutant.New("set: elementSearch skips what won a compare-and-swap")
	endsAtSpan          = mutant.New("set: a search for a word ends at the end of its span")
	wrapsInSpan         = mutant.New("set: an insertion goes around the end of its span")
	countsTaken         = mutant.New("set: the occupied buckets of a line are counted, gaps or not")
	skipsTaken          = mutant.New("set: buckets behind a fingerprint collision are skipped")
	leaksSlot           = mutant.New("set: a slot whose element lost its bucket is not kept")
	sharesRun           = mutant.New("set: a run of slots is taken though another rank has it")
	unversionedHead     = mutant.New("set: the head of a chain has no version")
	dropsChain          = mutant.New("set: what is freed replaces the chain of what was free")
	freesEarly          = mutant.New("set: slots are freed before the rest has moved")
	losesRefs           = mutant.New("set: a batch over the memory of a host gives no references")
)

// markDuplicates marks a batch in which something was inserted and found.
func (b *batch) markDuplicates() {
	inserted := map[string]bool{}
	for i, r := range b.results {
		if r == Inserted {
			inserted[string(bytesOf(b.item(i)))] = true
		}
	}
	for i, r := range b.results {
		if r == Found && inserted[string(bytesOf(b.item(i)))] {
			duplicateInBatch.Hit()
		}
	}
}

// trustLine is the mistake of trustsLine: as a line fills in order, the number of occupied
// buckets is taken for the index of the first empty one.
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
