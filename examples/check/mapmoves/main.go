// Command mapmoves checks how tables of the map, package kv, follow each other in the same memory,
// while clients sleep for as long as they like, and die. It is spec/mapmoves.pml in Go. The names
// are those of the code (areas.go, grow.go). A table has one slot. Nobody writes its key.
//
// Argument "wrong" is the protocol without holds, which loses the key.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	check.Main(moves[[2]client]("2-clients", usual),
		moves[[3]client]("3-clients", config{areas: 3, tables: 4, rounds: 2, deaths: 1}),
		moves[[2]client]("wrong", config{areas: 2, tables: 3, rounds: 3, mutant: noHold}))
}
