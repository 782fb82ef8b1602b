package index

import "github.com/farhash/farhash/internal/testkit/mutant"

// Wrong versions of what the table cannot do without. The lab catches each of them.
var (
	borderLate  = mutant.New("index: the guide gets a home of two parts after records of it")
	borderTwice = mutant.New("index: the guide gets a home of two parts twice")
	overflows   = mutant.New("index: a border of 255 bounds searches")
	boundsOwn   = mutant.New("index: a mark bounds the search of its own home")
	startsLate  = mutant.New("index: a search begins at the border behind its home")
	exactly     = mutant.New("index: a displacement of 255 gives the home")
	mixesRanks  = mutant.New("index: clusters of a rank are taken for those of another")
	learnsVague = mutant.New("index: a search that does not know all homes notes clusters")
	endsNear    = mutant.New("index: a search in direct memory ends where it would be guided")
	seesTwice   = mutant.New("index: a guided search in direct memory has slots twice")
	oneMatch    = mutant.New("index: a batch in direct memory has the first record of a key alone")
	lastKeyOnly = mutant.New("index: records of a batch are compared with the last key of a block")
	onceOnly    = mutant.New("index: a key of a cuckoo table is taken to stand there once")
	unseen      = mutant.New("index: no key is found to have two records")
	halfRead    = mutant.New("index: the rest of a long record is not waited for")
)
