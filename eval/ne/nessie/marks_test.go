package nessie

import "github.com/farhash/farhash/internal/testkit/mark"

// Rare branches that tests must reach.
var (
	markFound   = mark.Named("nessie: an item that another rank has marked is found")
	torn        = mark.Named("nessie: an item does not fit its hash")
	unpublished = mark.Named("nessie: an item is not valid")
	undone      = mark.Named("nessie: a swap is taken back")
	overtaken   = mark.Named("nessie: a swap cannot be taken back")
	reused      = mark.Named("nessie: an empty slot has a version")
	twice       = mark.Named("nessie: a key is cleared from its secondary slot")
	chained     = mark.Named("nessie: a chain of keys is moved")
)
