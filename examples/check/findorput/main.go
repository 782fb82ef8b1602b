// Command findorput checks find-or-put with elements, the protocol of package set. It is the model
// spec/findorput.pml in Go, whose terms and names it has; spec/README.md maps them to the code.
// Argument "wrong" is a version that does not examine what a lost compare-and-swap returns.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	two, three, wrong := usual, usual, usual
	two.others, two.deaths = 2, 1
	three.ops, three.deaths, three.limit = 1, 2, 2
	wrong.mutant = mutantSkip
	check.Main(findOrPut[[2]rank]("find-or-put", two), findOrPut[[3]rank]("3-ranks", three),
		findOrPut[[3]rank]("more", usual), findOrPut[[2]rank]("wrong", wrong))
}
