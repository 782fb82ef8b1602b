package packing

import "math/bits"

// addPeaks adds the lane with the token sum, and a lane for each place that may
// have more tokens than any place has in the initial marking.
func (g *program) addPeaks() {
	p := g.p
	g.sumWord = len(g.bias)
	g.bias = append(g.bias, 0)
	common := p.common()
	for place := range p.net.Places {
		g.addPlace(g.sumWord, 0, place, common)
	}
	used, peak0 := wordBits, p.peak0()
	for place, limit := range p.limit {
		if limit <= peak0 || len(p.s.effects[place]) == 0 {
			continue
		}
		lane := peakLane{divisor: 1, limit: limit}
		if r := p.implied[place]; r != nil {
			lane.divisor = r.divisor
		}
		lane.power = bits.Len64(uint64(lane.divisor * limit))
		if used+lane.power+1 > wordBits {
			g.bias = append(g.bias, 0)
			used = 0
		}
		lane.word, lane.shift = len(g.bias)-1, used
		used += lane.power + 1
		g.addPlace(lane.word, lane.shift, place, lane.divisor)
		g.peaks = append(g.peaks, lane)
	}
}

// common returns the common multiple of the divisors of all relations.
func (p *Packing) common() int64 {
	common := int64(1)
	for _, r := range p.implied {
		if r != nil {
			common = common / gcd(common, r.divisor) * r.divisor
		}
	}
	return common
}

// peak0 returns the most tokens of a place in the initial marking.
func (p *Packing) peak0() int64 {
	var most int64
	for _, tokens := range p.s.initial {
		most = max(most, tokens)
	}
	return most
}

// peaks keeps the largest counts seen by one expander.
type peaks struct {
	g        *program
	common   uint64
	sum      uint64 // the most tokens in a marking, times common
	place    int64  // the most tokens in a place
	expanded bool
	bias     []uint64 // by lane word after sumWord: what tests for more than place
	top      []uint64 // by lane word after sumWord: the top bits of the lanes
}

func newPeaks(g *program) peaks {
	k := peaks{g: g, common: uint64(g.p.common())}
	k.raise(g.p.peak0())
	return k
}

// raise sets the most tokens in a place. Places that cannot have more are not
// examined any longer.
func (k *peaks) raise(place int64) {
	k.place = place
	first := k.g.sumWord + 1
	words := 0
	for _, lane := range k.g.peaks {
		if lane.limit > place {
			words = lane.word - first + 1
		}
	}
	k.bias = make([]uint64, words)
	k.top = make([]uint64, words)
	for _, lane := range k.g.peaks {
		if lane.limit > place {
			bias := uint64(1)<<lane.power - uint64(lane.divisor*(place+1))
			k.bias[lane.word-first] += bias << lane.shift
			k.top[lane.word-first] |= 1 << (lane.shift + lane.power)
		}
	}
}

// update takes a marking into account, given its lane words. It reports whether a count
// may have risen.
func (k *peaks) update(lanes []uint64) (risen bool) {
	risen = !k.expanded || lanes[k.g.sumWord] > k.sum
	k.expanded = true
	k.sum = max(k.sum, lanes[k.g.sumWord])
	tail := lanes[k.g.sumWord+1:]
	for i, top := range k.top {
		if (tail[i]+k.bias[i])&top != 0 {
			k.measure(tail)
			return true
		}
	}
	return risen
}

// measure finds the place with the most tokens.
func (k *peaks) measure(tail []uint64) {
	most := k.place
	for _, lane := range k.g.peaks {
		// Without a bias, a lane holds the count and its top bit is free.
		word := tail[lane.word-k.g.sumWord-1]
		count := word >> lane.shift & (1<<(lane.power+1) - 1)
		most = max(most, int64(count)/lane.divisor)
	}
	k.raise(most)
}
