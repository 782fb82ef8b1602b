// Command mapprotocol checks the protocol of the map, package kv. It is spec/nessie-default.pml in
// Go, and has its terms and names; spec/README.md maps them to the code.
// Argument "wrong" is a version in which the word of an item comes again while a call reads it.
package main

import "github.com/farhash/farhash/statespace/check"

// Parts of a menu.
const (
	callsOfA = 1<<readA | 1<<writeA | 1<<removeA | 1<<ifNoneA | 1<<ifSameA
	callsOfB = 1<<writeB | 1<<removeB
	writes   = 1<<writeA | 1<<writeB
	moves    = 1 << move
)

var (
	twoCalls = config{ops: calls{1, 1}, menu: calls{callsOfA, callsOfA}, start: hasA, deaths: 1}
	moving   = config{ops: calls{1, 1}, menu: calls{callsOfA, moves}, start: hasA | hasB, deaths: 1}
	direct   = config{ops: calls{1, 3}, menu: calls{callsOfA, callsOfA | callsOfB},
		start: hasA | hasB, deaths: 1, direct: true}
	threeClients = config{ops: calls{1, 1, 1},
		menu: calls{callsOfA, callsOfA, 1<<readA | 1<<writeA | 1<<removeA}, start: hasA}
	twoMovers = config{ops: calls{1, 1, 1}, menu: calls{callsOfA &^ (1 << ifSameA), moves, moves},
		start: hasA, deaths: 2}
	everyCall = config{ops: calls{1, 1, 1}, menu: calls{callsOfA, moves, callsOfA},
		start: hasA | hasB}
	fourCalls = config{ops: calls{2, 1, 1}, menu: calls{callsOfA, callsOfA | moves, callsOfA},
		start: hasA | hasB}
	recurs = config{ops: calls{1, 5}, menu: calls{1 << readA, writes}, start: hasA, direct: true,
		mutant: mutantRecurs}
)

func main() {
	check.Main(mapProtocol[[2]client]("calls", twoCalls),
		mapProtocol[[2]client]("moving", moving), mapProtocol[[2]client]("direct", direct),
		mapProtocol[[3]client]("3-clients", threeClients),
		mapProtocol[[3]client]("movers", twoMovers),
		mapProtocol[[3]client]("every-call", everyCall),
		mapProtocol[[3]client]("4-calls", fourCalls), mapProtocol[[2]client]("wrong", recurs))
}
