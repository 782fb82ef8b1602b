package schemes

import "fmt"

// Cost is what operations take.
type Cost struct {
	Trips int // times that a client waited for what it had requested
	Gets  int
	Bytes int // that gets brought
	Swaps int // compare-and-swaps
	Moves int // words that went to another bucket
}

// Add adds what another operation took.
func (c *Cost) Add(other Cost) {
	c.Trips += other.Trips
	c.Gets += other.Gets
	c.Bytes += other.Bytes
	c.Swaps += other.Swaps
	c.Moves += other.Moves
}

const (
	wordBytes = 8
	empty     = 0 // no word is 0
)

// memory is the memory of all ranks. It counts the one-sided operations.
type memory struct {
	words []uint64 // the buckets, and what may follow them
	mask  uint64   // buckets, a power of two, less 1
	seed  uint64
	cost  Cost
}

func newMemory(buckets int, seed uint64) memory {
	return memory{words: make([]uint64, buckets), mask: uint64(buckets) - 1, seed: seed}
}

// get requests words that lie side by side. The client has them after wait.
func (m *memory) get(at uint64, n int) []uint64 {
	m.cost.Gets++
	m.cost.Bytes += n * wordBytes
	return m.words[at : at+uint64(n)]
}

// around requests n buckets, which continue at the first bucket after the last one, and appends
// them to a buffer.
func (m *memory) around(to []uint64, at uint64, n int) []uint64 {
	at &= m.mask
	before := min(n, int(m.mask+1-at))
	to = append(to, m.get(at, before)...)
	if before < n {
		to = append(to, m.get(0, n-before)...)
	}
	return to
}

// swap requests a compare-and-swap. As there is one client, the bucket has what it has read.
func (m *memory) swap(at, from, to uint64) {
	at = at & m.mask
	if m.words[at] != from {
		panic(fmt.Sprintf("schemes: bucket %d has %#x; the client has read %#x", at, m.words[at],
			from))
	}
	m.words[at] = to
	m.cost.Swaps++
}

// wait waits for all that was requested.
func (m *memory) wait() { m.cost.Trips++ }

// took returns the cost of an operation, and begins the next.
func (m *memory) took() (c Cost) {
	c, m.cost = m.cost, Cost{}
	return c
}

// hash is one of several hashes of a word.
func (m *memory) hash(word uint64, which int) uint64 {
	return mix(mix(word^m.seed) + uint64(which)*0x9E3779B97F4A7C15)
}

// home is the bucket of a hash of a word.
func (m *memory) home(word uint64, which int) uint64 { return m.hash(word, which) & m.mask }
