package index

import (
	"math/rand/v2"
	"testing"
)

// The comparison in assembly finds the same slots as the one in Go: where signature and
// displacement are equal, whatever offsets say.
func TestFitting(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	found := 0
	for n := range 20000 {
		var g farGroup
		for i := range g {
			g[i] = byte(rng.Uint32())
		}
		signature := byte(1 + rng.IntN(255))
		want := uint32(0)
		for slot := range farSlots {
			at := slot * farSlotBytes
			if rng.IntN(3) == 0 {
				g[at] = signature
			}
			if rng.IntN(2) == 0 {
				g[at+signatureBytes] = byte(slot)
			}
			if g[at] == signature && g[at+signatureBytes] == byte(slot) {
				want |= 1 << (slotWords * slot)
				found++
			}
		}
		is := uint32(signature)
		if got, portable := fitting(&g, is), g.fitting(is); got != want || portable != want {
			t.Fatalf("group %d, %x: slots %x; fitting %x, portable %x", n, g, want, got, portable)
		}
		for slots := want; slots != 0; slots &= slots - 1 {
			slot := 0
			for slots>>(slotWords*slot)&1 == 0 {
				slot++
			}
			at := slot*farSlotBytes + signatureBytes + displacementBytes
			offset := uint32(g[at]) | uint32(g[at+1])<<8 | uint32(g[at+2])<<16 | uint32(g[at+3])<<24
			if got := g.offset(slots); got != offset {
				t.Fatalf("slot %d of %x has offset %x, not %x", slot, g, got, offset)
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d slots fit in all", found)
	}
}
