package main

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// The naive search gives the counts.
func TestWindow(t *testing.T) {
	statespace.Holds(t, window("alternating bit", 1, 2, 6), 790)
	statespace.Holds(t, window("window", 2, 3, 6), 5378)
}

func TestWindowWrong(t *testing.T) {
	statespace.Fails(t, window("numbers modulo 1", 1, 1, 6), "in order", 5)
	statespace.Fails(t, window("numbers modulo 2", 2, 2, 6), "in order", 7)
}
