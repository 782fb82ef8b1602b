package kv

import (
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/testkit/guard"
)

// The assembly finds what the portable loop does, and reads no more than the line.
func TestKernel(t *testing.T) {
	if !hasKernel {
		t.Skip("there is no assembly for this machine")
	}
	rng := rand.New(rand.NewPCG(1, 0))
	line := (*[lineSlots]uint64)(guard.Slice[uint64](t, lineSlots))
	var ends [lineSlots + 1]int
	for range 200000 {
		want := matchWord(rng.Uint64())
		for i := range line {
			line[i] = rng.Uint64() | occupied
			switch rng.IntN(20) {
			case 0:
				line[i] = 0
			case 1:
				line[i] = movedWord(rng.Uint64N(1<<40), shape(rng.Uint64N(64)))
			case 2:
				line[i] |= frozen
			case 3:
				line[i] = line[i]&^(matchMask|frozen) | want
			default:
				line[i] &^= frozen
			}
		}
		got, expected := kernelOthersIn(line, want), portableOthersIn(line, want)
		if got != expected {
			t.Fatalf("it is %d in place of %d for %x in %x", got, expected, want, line)
		}
		ends[got]++
	}
	for n, times := range ends {
		if times == 0 {
			t.Errorf("no line had %d others", n)
		}
	}
}
