package set

import (
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/readsize"
)

// Auto, as [Config].Chunk, has C follow the load of the table, which OP leaves as future
// work: a rank takes the C for which round trips times the cost of one is least. Then
// nearly all searches end in their first chunk, and none is asked for in advance.
const Auto = 0

const (
	// autoMost is the largest C that Auto takes: 4 KiB, where tables of load 0.95 end.
	autoMost = 512

	// A rank looks at the first chunk of one in autoEvery searches, and decides by the last
	// two blocks of autoBlock.
	autoEvery = 8
	autoBlock = 64
)

// autoPlan has C for each load. The cost of bytes beside that of a round trip is that of
// LP's network: 16 KiB cost as much as one. It is of the same order on others.
var autoPlan = sync.OnceValue(func() *readsize.Plan {
	plan, err := readsize.NewPlan(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8,
		MaxSlots: autoMost})
	if err != nil {
		panic(err) // the configuration is constant
	}
	return plan
})

// auto chooses C for the searches of one rank. It asks nobody for the load: where a
// search for something that is not there begins, any bucket of the table is as likely as
// any other, so the share of occupied buckets in its first chunk is the load on average.
type auto struct {
	now   atomic.Uint64 // C
	turns atomic.Uint64 // searches begun

	mu      sync.Mutex
	looked  int     // chunks in this block
	buckets uint64  // in these
	taken   uint64  // of these
	before  float64 // the load in the block before, less than 0 for none
}

func newAuto() *auto {
	a := &auto{before: -1}
	a.now.Store(DefaultChunk)
	return a
}

// turn tells whether a search is one to look at.
func (a *auto) turn() bool { return a.turns.Add(1)%autoEvery == 0 }

// learn is told of the first chunk of a search that found nothing: its buckets, and how
// many of them were taken.
func (a *auto) learn(buckets, taken uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looked++
	a.buckets += buckets
	a.taken += taken
	if a.looked < autoBlock {
		return
	}
	load := float64(a.taken) / float64(a.buckets)
	if a.before < 0 {
		a.before = load
	}
	a.now.Store(uint64(autoPlan().Chunk((load + a.before) / 2)))
	a.before, a.looked, a.buckets, a.taken = load, 0, 0, 0
}
