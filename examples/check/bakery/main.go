// Command bakery checks Lamport's bakery lock, at the granularity of single reads and writes of
// shared memory.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	check.Main(bakery[[3]process]("bakery-3", 4, true), bakery[[2]process]("bakery-2", 4, true),
		bakery[[4]process]("bakery-4", 3, true), bakery[[2]process]("wrong", 4, false))
}
