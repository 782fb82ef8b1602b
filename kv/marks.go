package kv

import (
	"github.com/farhash/farhash/internal/mark"
	"github.com/farhash/farhash/internal/mutant"
)

// Rare branches that tests must reach.
var (
	recycled = mark.New("kv: an item has been used again by the time it is read")
	stranger = mark.New("kv: another key with the same fingerprint")
	lost     = mark.New("kv: a compare-and-swap loses")
	staled   = mark.New("kv: the copy in a slot is not that of its word")
	swept    = mark.New("kv: an item that another rank has marked is found")
)

// Wrong versions that tests must catch.
var (
	unsealed     = mutant.New("kv: an item is taken as it is read")
	unsealedCopy = mutant.New("kv: a copy is taken as it is read")
	unkeyed      = mutant.New("kv: equal fingerprints make equal keys")
	empties      = mutant.New("kv: a deleted key leaves an empty slot")
	freesDeleted = mutant.New("kv: the item of a deleted key is free")
	unversioned  = mutant.New("kv: an item has the same word whenever it is used")
	tooEarly     = mutant.New("kv: a slot refers to an item before it is written")
)
