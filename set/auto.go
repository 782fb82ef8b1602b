package set

import (
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/readsize"
)

// Auto, as [Config].Chunk, has C follow the load of the table, which OP leaves as future
// work: a rank takes the C for which round trips times the cost of one is least. Then
// nearly all searches end in their first chunk, and no chunk is requested in advance.
const Auto = 0

const (
	// maxAutoChunk is the largest C that Auto takes: 4 KiB, where tables of load 0.95 end.
	maxAutoChunk = 512

	// A rank samples the first chunk of one in autoInterval searches, and decides by the last
	// two blocks of autoBlock samples.
	autoInterval = 8
	autoBlock    = 64
)

// autoPlan has C for each load. The cost of bytes beside that of a round trip is that of
// LP's network: 16 KiB cost as much as one. It is of the same order on others.
var autoPlan = sync.OnceValue(func() *readsize.Plan {
	plan, err := readsize.NewPlan(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8,
		MaxSlots: maxAutoChunk})
	if err != nil {
		panic(err) // the configuration is constant
	}
	return plan
})

// auto chooses C for the searches of one rank. It estimates the load without messages: a
// search for something that is not in the set begins at every home with the same
// probability, so the share of occupied buckets in its first chunk is the load on average.
type auto struct {
	chunk    atomic.Uint64 // C
	searches atomic.Uint64 // searches begun

	mu       sync.Mutex
	sampled  int     // chunks in this block
	buckets  uint64  // in these
	taken    uint64  // of these
	lastLoad float64 // the load in the block before, less than 0 for none
}

func newAuto() *auto {
	a := &auto{lastLoad: -1}
	a.chunk.Store(DefaultChunk)
	return a
}

// sample reports whether a search is one to be sampled.
func (a *auto) sample() bool { return a.searches.Add(1)%autoInterval == 0 }

// addSample adds the first chunk of a search that found nothing: its buckets, and how
// many of them were occupied.
func (a *auto) addSample(buckets, taken uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sampled++
	a.buckets += buckets
	a.taken += taken
	if a.sampled < autoBlock {
		return
	}
	load := float64(a.taken) / float64(a.buckets)
	if a.lastLoad < 0 {
		a.lastLoad = load
	}
	a.chunk.Store(uint64(autoPlan().Chunk((load + a.lastLoad) / 2)))
	a.lastLoad, a.sampled, a.buckets, a.taken = load, 0, 0, 0
}
