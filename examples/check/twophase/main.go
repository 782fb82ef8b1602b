// Command twophase checks two-phase commit: resource managers agree to commit a transaction or to
// abort it. It follows Leslie Lamport's specification TwoPhase.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	check.Main(twoPhase[[7]manager]("twophase-7", true), twoPhase[[3]manager]("twophase-3", true),
		twoPhase[[5]manager]("twophase-5", true), twoPhase[[8]manager]("twophase-8", true),
		twoPhase[[9]manager]("twophase-9", true), twoPhase[[3]manager]("wrong", false))
}
