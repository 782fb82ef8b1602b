// Command peterson checks Peterson's lock for two processes and more, at the granularity of single
// reads and writes of shared memory.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	check.Main(peterson[[3]process]("peterson-3", true), peterson[[2]process]("peterson-2", true),
		peterson[[4]process]("peterson-4", true), peterson[[5]process]("peterson-5", true),
		peterson[[2]process]("wrong", false))
}
