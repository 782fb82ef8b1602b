package diagram

import (
	"context"
	"fmt"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
)

// BenchmarkSlices divides the reachable markings of nets into four parts by tokens of places, and
// reports how large the largest of them is: the part of a diagram that each of four ranks would
// have at least. Each division takes the place and the number that give the smallest larger half.
func BenchmarkSlices(b *testing.B) {
	for _, f := range []struct {
		name string
		n    int
	}{{"kanban", 20}, {"dekker", 15}, {"philosophers", 20}, {"walker", 14}} {
		net, err := petri.Family(f.name, f.n)
		must(b, err)
		b.Run(fmt.Sprintf("%s-%d", f.name, f.n), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(largestSlice(b, net), "of-the-whole")
			}
		})
	}
}

func largestSlice(b *testing.B, net *petri.Net) float64 {
	order := Choose(net)
	s, err := symbolic.New(context.Background(), symbolic.Config{Levels: len(net.Places)})
	must(b, err)
	defer s.Close()
	x := &explorer{net: net, s: s, places: order.Places, levels: inverse(order.Places)}
	must(b, x.reach(symbolic.Loops))
	largest := 0
	for _, half := range halves(b, s, x.all) {
		for _, quarter := range halves(b, s, half) {
			largest = max(largest, sizeOf(b, s, quarter))
		}
	}
	return float64(largest) / float64(sizeOf(b, s, x.all))
}

// halves are the best two halves of a set. They are held.
func halves(b *testing.B, s *symbolic.Store, n symbolic.Node) (best [2]symbolic.Node) {
	low, high, err := s.Extremes(n)
	must(b, err)
	best = [2]symbolic.Node{n, symbolic.Empty}
	s.Hold(n)
	least := sizeOf(b, s, n)
	for level := range low {
		for first, last := low[level], high[level]; first < last; {
			middle := (first + last) / 2
			parts := divide(b, s, n, level, middle)
			below, above := sizeOf(b, s, parts[0]), sizeOf(b, s, parts[1])
			if larger := max(below, above); larger < least {
				best, parts, least = parts, best, larger
			}
			s.Release(parts[0])
			s.Release(parts[1])
			if below < above {
				first = middle + 1
			} else {
				last = middle
			}
		}
	}
	return best
}

// divide is the vectors with at most so much at a level, and the others. They are held.
func divide(b *testing.B, s *symbolic.Store, n symbolic.Node, level int,
	most uint32) (parts [2]symbolic.Node) {
	var err error
	parts[0], err = s.AtMost(n, map[int]int64{level: 1}, int64(most))
	must(b, err)
	s.Hold(parts[0])
	parts[1], err = s.Minus(n, parts[0])
	must(b, err)
	s.Hold(parts[1])
	return parts
}

func sizeOf(b *testing.B, s *symbolic.Store, n symbolic.Node) int {
	size, err := s.Size(n)
	must(b, err)
	return size
}
