package main

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/statespace"
)

// The naive search gives the counts.
func TestPaxos(t *testing.T) {
	statespace.Holds(t, paxos[[2]acceptor]("2", true), 145)
	statespace.Holds(t, paxos[[3]acceptor]("3", true), 3921)
}

func TestPaxosWrong(t *testing.T) {
	statespace.Fails(t, paxos[[3]acceptor]("wrong", false), "agreement", 12)
}
