// Command setgrowth checks the growth of a set of words, "Growth" of set/DESIGN.md. It is the model
// spec/setgrowth.pml in Go, whose terms and names it has; spec/README.md maps them to the code.
// Argument "wrong" is a version that marks a piece before it copies it.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	two, tables, three, wrong := usual, usual, usual, usual
	two.calls, two.deaths, two.sizes[0] = []int{2, 2}, 1, 3
	tables.calls, tables.deaths, tables.tables = []int{3, 2}, 1, 3
	three.calls, three.deaths = []int{2, 1, 1}, 1
	wrong.mutant = markFirst
	check.Main(growth[[2]rank]("growth", two), growth[[2]rank]("3-tables", tables),
		growth[[3]rank]("3-ranks", three), growth[[2]rank]("wrong", wrong))
}
