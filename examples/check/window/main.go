// Command window checks a sliding window (go-back-N): messages arrive once and in order though
// channels lose messages. With a window of 1 it is the alternating bit protocol.
package main

import "github.com/farhash/farhash/statespace/check"

func main() {
	check.Main(window("window-2", 2, 3, 6), window("alternating-bit", 1, 2, 6),
		window("window-4", 4, 5, 8), window("wrong", 2, 2, 6))
}
