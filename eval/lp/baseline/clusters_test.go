package baseline

import (
	"math/rand/v2"
	"testing"
)

// TestClusters notes searches on a row of slots and compares what the list then says with
// the slots themselves.
func TestClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		const slots = 300
		taken := make([]bool, slots+1)
		for i := range slots {
			taken[i] = rng.IntN(10) < 8
		}
		c := newClusters(1 + rng.IntN(20))
		for range 100 {
			from := rng.IntN(slots)
			end := from
			for taken[end] {
				end++
			}
			c.note(0, from, end)
			if rng.IntN(5) == 0 {
				c.update()
			}
			if len(c.list) > c.maxKnown {
				t.Fatalf("%d clusters, at most %d are wanted", len(c.list), c.maxKnown)
			}
			slot := rng.IntN(slots)
			distance, length := c.hint(slot)
			if length == 0 {
				continue
			}
			for i := slot + distance; i < slot+distance+length; i++ {
				if !taken[i] {
					t.Fatalf("slot %d: hint %d, %d, and slot %d is empty", slot, distance,
						length, i)
				}
			}
			if end := slot + distance + length; taken[end] || end < slot {
				t.Fatalf("slot %d: hint %d, %d ends at a slot that is taken, or before it",
					slot, distance, length)
			}
		}
	}
}

// TestClustersKeepTheLargest: of many clusters the longest stay.
func TestClustersKeepTheLargest(t *testing.T) {
	c := newClusters(5)
	for _, i := range rand.New(rand.NewPCG(7, 8)).Perm(40) {
		c.note(0, i*100, i*100+i+1)
		c.update()
	}
	for _, known := range c.list {
		if known.length() <= 35 {
			t.Errorf("a cluster of %d is among the 5 largest of 1 to 40: %v", known.length(),
				c.list)
		}
	}
	if len(c.list) != 5 {
		t.Errorf("%d clusters, want 5", len(c.list))
	}
}
