package main

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// The naive search gives the counts.
func TestBakery(t *testing.T) {
	statespace.Holds(t, bakery[[2]process]("2", 4, true), 559)
	statespace.Holds(t, bakery[[3]process]("3", 3, true), 15664)
}

func TestBakeryWrong(t *testing.T) {
	statespace.Fails(t, bakery[[2]process]("wrong", 4, false), "mutual exclusion", 18)
}
