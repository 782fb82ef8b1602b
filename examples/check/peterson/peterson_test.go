package main

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// The naive search gives the counts.
func TestPeterson(t *testing.T) {
	statespace.Holds(t, peterson[[2]process]("2", true), 36)
	statespace.Holds(t, peterson[[3]process]("3", true), 1570)
}

func TestPetersonWrong(t *testing.T) {
	statespace.Fails(t, peterson[[2]process]("wrong", false), "mutual exclusion", 8)
}
