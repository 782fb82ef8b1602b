package set

import (
	"math"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/variant"
)

// The displacement of a home is how many buckets are occupied from there to the first
// empty one: what a search for something absent examines for nothing. All tails here
// are shares of the homes whose displacement is k or more, for k from 0.

// tailLength is the displacement that tails end at. At load 0.9 one home in 10^10 is
// further from an empty bucket.
const tailLength = 1 << 12

// wordTail is the law for wordHomes: LP 3, runs of lengths after Borel.
func wordTail(load float64) []float64 {
	return append([]float64{1}, longer(load, tailLength-1)...)
}

// lineTail is the law for homes of unit buckets, of which lineHomes has 8. What does not
// fit into a home goes on into the next: a queue that Poisson many arrive at and that
// serves unit of them in a turn. X waiting before a turn and A arriving leave
// max(X+A-unit, 0) waiting. A search begins at a home before which X has come to rest,
// passes the home when X+A fill it, and ends among its buckets otherwise.
func lineTail(load float64, unit int) []float64 {
	arrive := poisson(load * float64(unit))
	waiting := []float64{1}
	for moved := 1.0; moved > 1e-12; {
		served, rest := turn(waiting, arrive, unit)
		for _, p := range served {
			rest[0] += p
		}
		moved = 0
		for i := range rest {
			moved += math.Abs(rest[i] - at(waiting, i))
		}
		waiting = rest
	}
	tail := []float64{1}
	for len(tail) < tailLength {
		var served []float64
		served, waiting = turn(waiting, arrive, unit)
		for _, p := range served {
			tail = append(tail, tail[len(tail)-1]-p)
		}
	}
	return tail
}

// turn gives the chances that a home has 0 to unit-1 things, and where it is full that
// 0 and more go on to the next. More than 250 never do, at loads up to 0.9.
func turn(waiting, arrive []float64, unit int) (served, rest []float64) {
	sum := make([]float64, len(waiting)+len(arrive)+unit)
	for i, p := range waiting {
		for j, q := range arrive {
			sum[i+j] += p * q
		}
	}
	rest = sum[unit:]
	return sum[:unit], rest[:min(len(rest), 250)]
}

// poisson gives the chances of 0, 1 and so on arriving, as long as they count.
func poisson(mean float64) []float64 {
	chances := []float64{math.Exp(-mean)}
	for p := chances[0]; p > 1e-18 || float64(len(chances)) < mean; {
		p *= mean / float64(len(chances))
		chances = append(chances, p)
	}
	return chances
}

// at is the i-th chance of a list that ends with zeros.
func at(chances []float64, i int) float64 {
	if i < len(chances) {
		return chances[i]
	}
	return 0
}

// TestLawsAgree: the queue of homes of one bucket is what Borel's law describes, and
// its mean is the one that Knuth gives for linear probing.
func TestLawsAgree(t *testing.T) {
	alone(t)
	for _, law := range laws {
		borel, queue, free := wordTail(law.load), lineTail(law.load, 1), 1-law.load
		for k := range borel {
			if math.Abs(borel[k]-queue[k]) > 1e-8 {
				t.Fatalf("load %v: %d or more: %v after Borel, %v by the queue", law.load, k,
					borel[k], queue[k])
			}
		}
		want := (1 + 1/free/free) / 2 // with the empty bucket at the end
		if got := 1 + mean(borel); math.Abs(got-want) > 1e-5*want {
			t.Errorf("load %v: the mean is %v, not %v", law.load, got, want)
		}
	}
}

// laws are the loads that tables are measured at and, for each, how far a table may
// deviate from the law of a home: the largest difference of the tails, times the root of
// the number of buckets. Neighbouring homes lie before the same empty bucket, so that
// chance does more the longer the runs are. Of 5000 tables of random words, of 2^14 and
// 2^17 buckets, none deviated that far.
var laws = []struct {
	load       float64
	word, line float64
}{{0.5, 2, 3.5}, {0.8, 5.5, 6}, {0.9, 13, 13}}

// lawful holds tables against the law of a home.
type lawful struct {
	home  variant.Set
	tails [][]float64 // for each of laws
}

// lawfuls are those of each home.
var lawfuls = map[variant.Set]func() *lawful{
	lineHomes: sync.OnceValue(func() *lawful { return newLawful(lineHomes) }),
	wordHomes: sync.OnceValue(func() *lawful { return newLawful(wordHomes) }),
}

func newLawful(home variant.Set) *lawful {
	l := &lawful{home: home}
	for _, law := range laws {
		if home == wordHomes {
			l.tails = append(l.tails, wordTail(law.load))
		} else {
			l.tails = append(l.tails, lineTail(law.load, lineBuckets))
		}
	}
	return l
}

// deviation is how far a table at the load of the i-th law deviates from it, as a share of what
// it may.
func (l *lawful) deviation(buckets []uint64, i int) (share float64) {
	unit, may := 1, laws[i].word
	if l.home == lineHomes {
		unit, may = lineBuckets, laws[i].line
	}
	for k, got := range tailOf(buckets, unit) {
		share = max(share, math.Abs(got-l.tails[i][k]))
	}
	return share * math.Sqrt(float64(len(buckets))) / may
}

// tailOf measures the displacement of every home.
func tailOf(buckets []uint64, unit int) []float64 {
	tail := make([]float64, tailLength)
	for i, ahead := 2*len(buckets)-1, 0; i >= 0; i-- { // twice around: runs may wrap
		if ahead++; buckets[i%len(buckets)] == 0 {
			ahead = 0
		}
		if i < len(buckets) && i%unit == 0 {
			tail[min(ahead, tailLength-1)] += float64(unit) / float64(len(buckets))
		}
	}
	for k := tailLength - 2; k >= 0; k-- {
		tail[k] += tail[k+1]
	}
	return tail
}

// park occupies the buckets that things with these homes take: the same ones in
// whatever order they come.
func park(homes []uint64, buckets int) []uint64 {
	arrive := make([]int, buckets)
	for _, home := range homes {
		arrive[home]++
	}
	parked, waiting := make([]uint64, buckets), 0
	for i := range 2 * buckets {
		if i < buckets {
			waiting += arrive[i]
		}
		if waiting > 0 && parked[i%buckets] == 0 {
			parked[i%buckets] = occupied
			waiting--
		}
	}
	return parked
}
