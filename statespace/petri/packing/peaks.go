package packing

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
