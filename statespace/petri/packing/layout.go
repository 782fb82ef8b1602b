package packing

import (
	"fmt"
	"math/bits"
	"sort"

	"github.com/farhash/farhash/statespace/petri"
)

const (
	maxWords     = 512       // words of a packed marking
	maxGroup     = 1<<16 - 1 // places of a group
	wordBits     = 64
	maxGuessBits = 32
)

// field is a part of a packed marking. It holds the sum of code * m(p) over its
// places: the token count of a single place with code 1, or the code of the
// marked place of a group, which has at most one token in all.
type field struct {
	places []int // the place with code c of a group is places[c-1]
	group  bool
	width  int
	word   int
	shift  int
}

// value returns the value of the field in a packed marking.
func (f *field) value(state []uint64) uint64 {
	return state[f.word] >> f.shift & f.mask()
}

func (f *field) mask() uint64 { return 1<<f.width - 1 }

// setWidths computes, by place, the bits and the largest count it can hold.
func (p *Packing) setWidths(guess int) error {
	p.width = make([]int, len(p.net.Places))
	p.limit = make([]int64, len(p.net.Places))
	for i, bound := range p.s.bound {
		if m0 := p.s.initial[i]; m0 < 0 || m0 > petri.MaxTokens {
			return fmt.Errorf("place %s has %d tokens in the initial marking: "+
				"use a net with 0 to 2^31 tokens in a place", p.net.Places[i].ID, m0)
		}
		if bound != unbounded {
			p.width[i] = bits.Len64(uint64(bound))
			p.limit[i] = bound
			continue
		}
		p.width[i] = max(guess, bits.Len64(uint64(p.s.initial[i])))
		p.limit[i] = min(int64(1)<<p.width[i]-1, petri.MaxTokens)
	}
	return nil
}

// setFields makes the fields of the places that are neither constant nor
// implied.
func (p *Packing) setFields() {
	stored := make([]bool, len(p.net.Places))
	for i := range stored {
		stored[i] = len(p.s.effects[i]) > 0 && p.implied[i] == nil && p.width[i] > 0
	}
	for _, places := range p.groups(stored) {
		p.fields = append(p.fields, field{
			places: places, group: true, width: bits.Len(uint(len(places))),
		})
		for _, place := range places {
			stored[place] = false
		}
	}
	for place, single := range stored {
		if single {
			p.fields = append(p.fields, field{places: []int{place}, width: p.width[place]})
		}
	}
	sort.SliceStable(p.fields, func(i, j int) bool {
		return p.fields[i].places[0] < p.fields[j].places[0]
	})
}

// groups partitions stored places of which an invariant allows one token in
// all. It takes the group that saves most bits first.
func (p *Packing) groups(stored []bool) [][]int {
	free := append([]bool(nil), stored...)
	ranked := make([][]*flow, 2*maxGroup+2)
	for i := range p.s.flows {
		if f := &p.s.flows[i]; f.tokens == 1 {
			_, rank := group(f, free)
			ranked[rank] = append(ranked[rank], f)
		}
	}
	var groups [][]int
	for rank := len(ranked) - 1; rank >= 2; rank-- {
		// The list grows while it is worked through, by what is left of a flow
		// with more places than a group can have.
		for i := 0; i < len(ranked[rank]); i++ {
			f := ranked[rank][i]
			places, now := group(f, free)
			if now < rank {
				ranked[now] = append(ranked[now], f)
				continue
			}
			groups = append(groups, places)
			for _, place := range places {
				free[place] = false
			}
			_, now = group(f, free)
			ranked[min(now, rank)] = append(ranked[min(now, rank)], f)
		}
	}
	return groups
}

// group returns the free places of a flow that make the best group, and its
// rank: twice the bits that it saves, and one more if it takes all free places.
// The latter comes first because it spoils no other group for nothing.
func group(f *flow, free []bool) (places []int, rank int) {
	for _, w := range f.weights {
		if free[w.index] && len(places) < maxGroup {
			places = append(places, w.index)
		}
	}
	n := len(places)
	if n == 0 {
		return nil, 0
	}
	rank = 2*(n-bits.Len(uint(n))) + 1
	if n&(n-1) == 0 {
		places = places[:n-1] // the last one costs a bit with or without it
		rank--
	}
	return places, rank
}

// placeFields gives each field its position.
func (p *Packing) placeFields() error {
	p.bits = 0
	for i := range p.fields {
		p.bits += p.fields[i].width
	}
	used := p.fillInOrder()
	if p.bits > wordBits {
		used = p.firstFit()
	}
	if used > maxWords {
		return fmt.Errorf("a packed marking of net %s needs %d words of 64 bits (%d bits), "+
			"the most is %d words: use a smaller net or bound more of its places",
			p.net.Name, used, p.bits, maxWords)
	}
	p.words = max(used, 1)
	p.bits = max(p.bits, 1)
	return nil
}

// fillInOrder places the fields one after the other in one word.
func (p *Packing) fillInOrder() int {
	shift := 0
	for i := range p.fields {
		p.fields[i].word, p.fields[i].shift = 0, shift
		shift += p.fields[i].width
	}
	return 1
}

// firstFit places the fields, widest first, into the first word with room.
func (p *Packing) firstFit() int {
	order := make([]int, len(p.fields))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		return p.fields[order[i]].width > p.fields[order[j]].width
	})
	var used []int
	full := 0 // words before this one have no free bit
	for _, i := range order {
		f := &p.fields[i]
		f.word = full
		for f.word < len(used) && used[f.word]+f.width > wordBits {
			f.word++
		}
		if f.word == len(used) {
			used = append(used, 0)
		}
		f.shift = used[f.word]
		used[f.word] += f.width
		for full < len(used) && used[full] == wordBits {
			full++
		}
	}
	return len(used)
}

// tokens returns the tokens of one place in a packed marking.
func (p *Packing) tokens(state []uint64, place int) int64 {
	if r := p.implied[place]; r != nil {
		sum := r.constant
		for _, t := range r.terms {
			sum += t.coef * p.tokens(state, t.index)
		}
		return sum / r.divisor
	}
	at := p.where[place].field
	if at < 0 {
		return p.s.initial[place]
	}
	f := &p.fields[at]
	return f.tokens(f.value(state), place)
}

// tokens returns the tokens of one of the places where the field has a value.
func (f *field) tokens(value uint64, place int) int64 {
	if !f.group {
		return int64(value)
	}
	if value > 0 && value <= uint64(len(f.places)) && f.places[value-1] == place {
		return 1
	}
	return 0
}
