package diagram

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Order is in which order the places of a net are levels of a diagram.
type Order struct {
	Name   string // of how it was found
	Places []int  // by level
}

// The sizes up to which orders are tried that take time.
const (
	forceRounds  = 200        // of FORCE at most
	forcePatient = 10         // rounds without a better order
	widest       = 60         // places of a transition that makes neighbours of all its places
	greedySteps  = 30_000_000 // places times places and arcs
)

// Orders are the orders of a net that are tried: as the file has them; reverse Cuthill-McKee
// (Cuthill and McKee 1969, for nets Meijer and van de Pol, NFM 2016); Noack (1999), who
// adds the place next that is closest to the ones before it; and each improved by FORCE (Aloul,
// Markov and Sakallah, GLSVLSI 2003). Each is tried from both ends.
func Orders(net *petri.Net) []Order { return orders(net, func() bool { return true }) }

// orders finds orders as long as more is true, which is asked often.
func orders(net *petri.Net, more func() bool) []Order {
	places := make([]int, len(net.Places))
	for i := range places {
		places[i] = i
	}
	touched := touchedBy(net)
	arcs := 0
	for _, places := range touched {
		arcs += len(places)
	}
	starts := []Order{{"file", places}, {"cuthill-mckee", cuthillMcKee(touched, len(places))}}
	if len(places)*(len(places)+arcs) <= greedySteps {
		starts = append(starts, Order{"noack", noack(net, more)})
	}
	var all []Order
	for _, o := range starts {
		all = append(all, o, Order{o.Name + ", FORCE", force(touched, o.Places, more)})
	}
	for _, o := range slices.Clone(all) {
		all = append(all, o.reversed())
	}
	return all
}

// reversed is the order from the other end.
func (o Order) reversed() Order {
	const reversed = ", reversed"
	places := slices.Clone(o.Places)
	slices.Reverse(places)
	name, already := strings.CutSuffix(o.Name, reversed)
	if !already {
		name += reversed
	}
	return Order{name, places}
}

// racing is the order that a strategy takes beside others, which tell it one that seems good. The
// span says little of its two ends, which may differ by 70 times: Saturation begins at the other
// one.
func (o Order) racing(strategy symbolic.Strategy) Order {
	if strategy == symbolic.Saturation {
		return o.reversed()
	}
	return o
}

// Choose is the order of the least weighted span: the sum over all transitions of how many levels
// they extend over, where levels near the first count up to twice.
func Choose(net *petri.Net) Order {
	return choose(net, func() bool { return true })
}

// choose chooses one of the orders that were found as long as more is true.
func choose(net *petri.Net, more func() bool) Order {
	touched := touchedBy(net)
	return slices.MinFunc(orders(net, more), func(a, b Order) int {
		return cmp.Compare(span(touched, inverse(a.Places)), span(touched, inverse(b.Places)))
	})
}

// touchedBy is the places of each transition.
func touchedBy(net *petri.Net) [][]int {
	all := make([][]int, len(net.Transitions))
	for i := range net.Transitions {
		t, places := &net.Transitions[i], []int(nil)
		for _, arcs := range [][]petri.Arc{t.In, t.Out, t.Inhibitors} {
			for _, a := range arcs {
				places = append(places, a.Place)
			}
		}
		places = append(places, t.Resets...)
		slices.Sort(places)
		all[i] = slices.Compact(places)
	}
	return all
}

// inverse is the levels of places, or the places of levels.
func inverse(order []int) []int {
	levels := make([]int, len(order))
	for level, place := range order {
		levels[place] = level
	}
	return levels
}

func span(touched [][]int, levels []int) (sum float64) {
	n := float64(len(levels))
	for _, places := range touched {
		first, last := math.MaxInt, -1
		for _, p := range places {
			first, last = min(first, levels[p]), max(last, levels[p])
		}
		if last >= 0 {
			sum += float64(last-first+1) * (2 - float64(first)/n)
		}
	}
	return sum
}

// force moves each place to the middle of its transitions, and these to the middle of their places,
// as long as that gives a better order.
func force(touched [][]int, order []int, more func() bool) []int {
	levels := inverse(order)
	best, least := levels, span(touched, levels)
	for round, since := 0, 0; round < forceRounds && since < forcePatient && more(); round++ {
		sum, n := make([]float64, len(levels)), make([]float64, len(levels))
		for _, places := range touched {
			middle := 0.0
			for _, p := range places {
				middle += float64(levels[p]) / float64(len(places))
			}
			for _, p := range places {
				sum[p] += middle
				n[p]++
			}
		}
		next := inverse(levels)
		for p := range sum {
			if sum[p] /= n[p]; n[p] == 0 {
				sum[p] = float64(levels[p])
			}
		}
		slices.SortStableFunc(next, func(a, b int) int { return cmp.Compare(sum[a], sum[b]) })
		levels = inverse(next)
		since++
		if s := span(touched, levels); s < least {
			best, least, since = levels, s, 0
		}
	}
	return inverse(best)
}

// cuthillMcKee numbers places that have a transition in common one after the other, from a place at
// the rim of the net, and reverses the order.
func cuthillMcKee(touched [][]int, n int) []int {
	next := make([][]int, n)
	for _, places := range touched {
		for _, p := range places {
			if len(places) <= widest {
				next[p] = append(next[p], places...)
			}
		}
	}
	for p := range next {
		slices.Sort(next[p])
		next[p] = slices.Compact(next[p])
	}
	for p := range next {
		slices.SortStableFunc(next[p], func(a, b int) int {
			return cmp.Compare(len(next[a]), len(next[b]))
		})
	}
	var order []int
	seen := make([]bool, n)
	for p := range n {
		if seen[p] {
			continue
		}
		for range 4 { // the last place is far from the first
			reached := outward(next, p, slices.Clone(seen))
			p = reached[len(reached)-1]
		}
		order = append(order, outward(next, p, seen)...)
	}
	slices.Reverse(order)
	return order
}

// outward is what is reached from a place, the nearest first, except for what was seen.
func outward(next [][]int, from int, seen []bool) []int {
	reached := []int{from}
	seen[from] = true
	for i := 0; i < len(reached); i++ {
		for _, p := range next[reached[i]] {
			if !seen[p] {
				seen[p] = true
				reached = append(reached, p)
			}
		}
	}
	return reached
}

// noack adds, one after the other, the place whose transitions have most of their places in the
// order already. Places that a transition takes from and places that it adds to attract each other.
func noack(net *petri.Net, more func() bool) []int {
	taking, adding := make([][]int, len(net.Places)), make([][]int, len(net.Places))
	for i := range net.Transitions {
		for _, a := range net.Transitions[i].In {
			taking[a.Place] = append(taking[a.Place], i)
		}
		for _, a := range net.Transitions[i].Inhibitors {
			taking[a.Place] = append(taking[a.Place], i)
		}
		for _, place := range net.Transitions[i].Resets {
			taking[place] = append(taking[place], i)
		}
		for _, a := range net.Transitions[i].Out {
			adding[a.Place] = append(adding[a.Place], i)
		}
	}
	in, out := make([]float64, len(net.Transitions)), make([]float64, len(net.Transitions))
	share := func(n float64, arcs []petri.Arc) float64 { return n / max(1, float64(len(arcs))) }
	var order []int
	used := make([]bool, len(net.Places))
	for range net.Places {
		if !more() {
			break
		}
		best, most := -1, -1.0
		for p := range net.Places {
			if used[p] {
				continue
			}
			score := 0.0
			for _, i := range taking[p] {
				t := &net.Transitions[i]
				score += share(in[i]+.1, t.In) + 2*share(out[i], t.Out)
			}
			for _, i := range adding[p] {
				t := &net.Transitions[i]
				score += share(out[i]+.2, t.Out) + 2*share(in[i], t.In)
			}
			score /= max(1, float64(len(taking[p])+len(adding[p])))
			if score > most {
				best, most = p, score
			}
		}
		used[best] = true
		order = append(order, best)
		for _, i := range taking[best] {
			in[i]++
		}
		for _, i := range adding[best] {
			out[i]++
		}
	}
	for p := range net.Places { // where it was to end
		if !used[p] {
			order = append(order, p)
		}
	}
	return order
}
