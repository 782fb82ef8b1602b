package cache

import (
	"github.com/farhash/farhash/internal/mutant"
)

// Wrong versions of the protocol, each of which a test has to notice.
var (
	noChecksum   = mutant.New("cache: no checksum is verified")
	sealOfValue  = mutant.New("cache: the checksum is over the value alone")
	keyForgotten = mutant.New("cache: the key of a bucket is not compared")
	copiesStay   = mutant.New("cache: a put leaves further copies of its key")
	stopsAtMark  = mutant.New("cache: a search ends at an invalid bucket")
	takesFirst   = mutant.New("cache: a put takes an invalid bucket before it has looked further")
	neverBreaks  = mutant.New("cache: the lock of a dead rank stays")
)
