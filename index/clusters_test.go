package index

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
		c := newClusters(1+rng.IntN(20), true)
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

// TestClustersKeepTheLargest: of many clusters those stay that are longest.
func TestClustersKeepTheLargest(t *testing.T) {
	for _, linear := range []bool{false, true} {
		c := newClusters(5, linear)
		rng := rand.New(rand.NewPCG(7, 8))
		for _, i := range rng.Perm(40) {
			c.note(0, i*100, i*100+i+1)
			c.update()
		}
		for _, known := range c.list {
			if known.length() <= 35 {
				t.Errorf("linear=%v: a cluster of %d is among the 5 largest of 1 to 40: %v", linear,
					known.length(), c.list)
			}
		}
		if len(c.list) != 5 {
			t.Errorf("linear=%v: %d clusters, want 5", linear, len(c.list))
		}
	}
}

// TestBetween compares what an ordered table's searches have shown with the table itself.
func TestBetween(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		const homes = 200
		ends := make([]int, homes) // the slot at which a search ends
		starts := make([]int, homes)
		free := 0
		for home := range homes {
			free = max(free, home)
			starts[home] = free
			if rng.IntN(2) == 0 {
				free += rng.IntN(5)
			}
			ends[home] = free
		}
		c := newClusters(1+rng.IntN(30), false)
		for range 100 {
			if home := rng.IntN(homes); ends[home] > home {
				c.note(1000, home, ends[home])
			}
			c.update()
			home := rng.IntN(homes)
			start, end, exact := c.between(1000+home, 1000+homes*9)
			if start-1000 > starts[home] || end-1000 < ends[home] ||
				exact && end-1000 != ends[home] {
				t.Fatalf("home %d: [%d, %d) exact=%v, and records lie in [%d, %d)", home,
					start-1000, end-1000, exact, starts[home], ends[home])
			}
		}
	}
}

// TestClustersSaveRequests: looked up again and again, keys in long runs take one request.
func TestClustersSaveRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, layout := range []Layout{Ordered, Linear} {
		cfg := Config{KeySize: 4, ValueSize: 4, Layout: layout, Load: 0.5}
		all := records(rng, cfg, 1000, 1)
		for i := range 20 {
			for range 200 {
				all = append(all, Record{all[i*40].Key, all[i].Value})
			}
		}
		x := built(t, cfg, all)
		r, err := x.NewReader(Lookups{Policy: Adaptive, OneSided: true})
		must(t, err)
		var requests [2]float64
		for round := range requests {
			r.ResetStats()
			for range 20 {
				for i := range 20 {
					must(t, r.LookupBatch(all[i*40].Key, func(int, Value) {}))
				}
				if round == 0 {
					break
				}
			}
			s := r.Stats()
			requests[round], _, _ = s.PerLookup()
		}
		if requests[0] < 1.5 || requests[1] > 1.01 {
			t.Errorf("%v: first %.2f requests, then %.2f; want more than 1.5, then 1", layout,
				requests[0], requests[1])
		}
	}
}

// TestLongSearch: the reads of a search that is longer than the load explains grow, so that
// a key with very many records takes few.
func TestLongSearch(t *testing.T) {
	for _, layout := range []Layout{Ordered, Linear} {
		cfg := Config{KeySize: 4, ValueSize: 4, Layout: layout, Load: 0.5}
		var all []Record
		for range 5000 {
			all = append(all, Record{[]byte("same"), []byte("also")})
		}
		x := built(t, cfg, all)
		r, err := x.NewReader(Lookups{Policy: Adaptive, OneSided: true, Clusters: -1})
		must(t, err)
		matches := 0
		must(t, r.LookupBatch([]byte("same"), func(int, Value) { matches++ }))
		if s := r.Stats(); matches != 5000 || s.Requests > 20 || s.Slots > 10000 {
			t.Errorf("%v: %d matches with %+v", layout, matches, s)
		}
	}
}
