package main

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// TLC finds as many states of TwoPhase.
func TestTwoPhase(t *testing.T) {
	statespace.Holds(t, twoPhase[[3]manager]("3", true), 288)
	statespace.Holds(t, twoPhase[[4]manager]("4", true), 1568)
	statespace.Holds(t, twoPhase[[5]manager]("5", true), 8832)
}

func TestTwoPhaseWrong(t *testing.T) {
	statespace.Fails(t, twoPhase[[3]manager]("wrong", false), "consistent", 7)
}
