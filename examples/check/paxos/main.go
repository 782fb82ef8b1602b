// Command paxos checks Paxos for a single decision. It follows Leslie Lamport's specification
// Paxos: each message that was sent can be received at any time, any number of times, or never.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	check.Main(paxos[[3]acceptor]("paxos-3", true), paxos[[2]acceptor]("paxos-2", true),
		paxos[[3]acceptor]("wrong", false))
}
