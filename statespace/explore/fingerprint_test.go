package explore

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The probability is of the birthday paradox, or what TLC prints where that is less.
func TestMissed(t *testing.T) {
	for _, c := range []struct {
		states, generated uint64
		want              float64
	}{
		{0, 0, 0}, {1, 1, 0}, {1, 100, 0},
		{1 << 20, 1 << 20, 0},             // no state was taken for a known one
		{1 << 20, 1<<20 + 1, 0x1p-43},     // one was
		{1 << 31, 1 << 40, 0.25},          // n*(n-1)/2^64
		{1 << 36, 1 << 40, 1},             // certain
		{1 << 20, 1<<20 + 1<<19, 0x1p-24}, // both are the same
	} {
		if got := missed(c.states, c.generated); math.Abs(got-c.want) > c.want/1e5 {
			t.Errorf("%d states of %d: %g, want %g", c.states, c.generated, got, c.want)
		}
	}
}

// Of fingerprints of b bits as many agree as of random numbers: of states that differ in few bits.
func TestFingerprintsAreRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{1, 2, 3, 5, 17, 40} {
		state := make([]uint64, words)
		seen := map[[2]uint64]int{}
		const n, bits = 1 << 14, 28 // a pair of n*n/2/2^28 = 0.5 expected in each window of bits
		for i := range uint64(n) {
			state[rng.IntN(words)] = i // all differ in the last one that is set
			state[0] = i
			f := fingerprint(state)
			if f>>63 != 0 {
				t.Fatalf("%#x has 64 bits", f)
			}
			for shift := uint64(0); shift+bits <= 63; shift += 7 {
				seen[[2]uint64{shift, f >> shift & (1<<bits - 1)}]++
			}
		}
		equal := 0
		for _, times := range seen {
			equal += times - 1
		}
		if equal > 20 { // 3 are expected of 6 windows
			t.Errorf("%d words: %d of %d fingerprints agree in %d bits", words, equal, n, bits)
		}
	}
}

// A log knows what came before each state, on any level.
func TestLogBefore(t *testing.T) {
	l := newLevelLog()
	l.add(7) // the initial state
	const n = 3 * logChunk
	for i := range uint64(n) {
		l.follow(1000 + i/3)
		l.add(1<<40 | i)
	}
	l.level(1)
	l.follow(1000 + (n-1)/3) // the same one again, as chance may have it
	l.add(9)
	for i := range uint64(n) {
		if from, ok := l.before(0, 1<<40|i); !ok || from != 1000+i/3 {
			t.Fatalf("before %d comes %d, %v", i, from, ok)
		}
	}
	if from, ok := l.before(1, 9); !ok || from != 1000+(n-1)/3 {
		t.Errorf("before the one of level 1 comes %d, %v", from, ok)
	}
	if _, ok := l.before(0, 9); ok {
		t.Error("a state of level 1 is in level 0")
	}
	if from, ok := l.before(0, 7); !ok || from != 0 {
		t.Errorf("before the initial state comes %d, %v", from, ok)
	}
}
