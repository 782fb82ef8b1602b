package nessie

import (
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/mutant"
)

// Rare branches that tests must reach.
var (
	markFound   = mark.New("nessie: an item that another rank has marked is found")
	torn        = mark.New("nessie: an item does not fit its hash")
	unpublished = mark.New("nessie: an item is not valid")
	undone      = mark.New("nessie: a swap is taken back")
	overtaken   = mark.New("nessie: a swap cannot be taken back")
	reused      = mark.New("nessie: an empty slot has a version")
	twice       = mark.New("nessie: a key is cleared from its secondary slot")
	chained     = mark.New("nessie: a chain of keys is moved")
)

// Wrong versions that tests must catch.
var (
	noVersion = mutant.New("nessie: an item has the same word whenever it is used")
	noFlag    = mutant.New("nessie: items are valid from the beginning")
	noCheck   = mutant.New("nessie: finish does not check")
	noHash    = mutant.New("nessie: an item is taken as it is read")
)
