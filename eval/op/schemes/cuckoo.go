package schemes

import "math/rand/v2"

const (
	// cuckooMoves is after how many steps of a random walk a table is Full.
	cuckooMoves = 500
	// cuckooBuckets is after how many buckets a search in breadth gives up.
	cuckooBuckets = 1 << 12
)

// cuckoo has each word in one of some buckets with room for several words. Here a bucket of the
// memory is a slot, and slots of one bucket lie side by side.
type cuckoo struct {
	memory
	choices, slots int
	breadth, turns bool
	rng            *rand.Rand

	mine   []uint64 // the buckets of the word of this operation
	others []uint64 // and of another
	path   []move
	seen   map[uint64]bool // buckets that a search in breadth has read
}

// move is a word on the way to a bucket with room.
type move struct {
	at, word uint64 // the slot and what is there
	before   int    // whose place it frees: a place in a list of moves, -1 for the word to insert
}

func newCuckoo(m memory, choices, slots int) *cuckoo {
	return &cuckoo{memory: m, choices: choices, slots: slots,
		rng: rand.New(rand.NewPCG(m.seed, 0))}
}

// inBreadth has inserts read all buckets at a distance together.
func (c *cuckoo) inBreadth() *cuckoo {
	c.breadth, c.seen = true, map[uint64]bool{}
	return c
}

// inTurn has finds read one bucket after the other.
func (c *cuckoo) inTurn() *cuckoo {
	c.turns = true
	return c
}

// choose appends the first slots of the buckets of a word, which are distinct, except of one.
func (c *cuckoo) choose(to []uint64, word, except uint64) []uint64 {
	first := len(to)
	buckets := uint64(len(c.words) / c.slots)
	for i := 0; len(to)-first < c.choices; i++ {
		at := c.hash(word, i) % buckets * uint64(c.slots)
		if index(to[first:], at) < 0 {
			to = append(to, at)
		}
	}
	if i := index(to[first:], except); i >= 0 {
		to = append(to[:first+i], to[first+i+1:]...)
	}
	return to
}

// none is no slot.
const none = ^uint64(0)

// room requests a bucket. It reports whether the word is there, how many slots are empty, and the
// first empty one.
func (c *cuckoo) room(bucket, word uint64) (found bool, n int, free uint64) {
	for i, is := range c.get(bucket, c.slots) {
		found = found || is == word
		if is == empty {
			if n++; n == 1 {
				free = bucket + uint64(i)
			}
		}
	}
	return found, n, free
}

// Find reports whether a word is there.
func (c *cuckoo) Find(word uint64) (found bool, _ Cost) {
	c.mine = c.choose(c.mine[:0], word, none)
	for i, bucket := range c.mine {
		found = index(c.get(bucket, c.slots), word) >= 0 || found
		if c.turns && found {
			c.wait()
			break
		}
		if c.turns || i == len(c.mine)-1 {
			c.wait()
		}
	}
	return found, c.took()
}

// FindOrPut inserts a word unless it is there. It reads all buckets of the word together.
func (c *cuckoo) FindOrPut(word uint64) (Answer, Cost) {
	c.mine = c.choose(c.mine[:0], word, none)
	most, free, there := 0, none, false
	for _, bucket := range c.mine {
		found, n, at := c.room(bucket, word)
		there = there || found
		if n > most {
			most, free = n, at
		}
	}
	if c.wait(); there {
		return Found, c.took()
	}
	c.path = c.path[:0]
	if free == none {
		if c.breadth {
			free = c.search()
		} else {
			free = c.walk()
		}
	}
	if free == none {
		return Full, c.took()
	}
	c.move(free, word)
	return Inserted, c.took()
}

// move moves the words on the path, the last one first, and then inserts.
func (c *cuckoo) move(free, word uint64) {
	before := uint64(empty)
	for i := len(c.path) - 1; i >= 0; i-- {
		c.swap(free, before, c.path[i].word)
		c.wait()
		c.cost.Moves++
		free, before = c.path[i].at, c.path[i].word
	}
	c.swap(free, before, word)
	c.wait()
}

// walk goes from a bucket to another one of a random word in it until one has room. It returns an
// empty slot there.
func (c *cuckoo) walk() (free uint64) {
	bucket := c.mine[c.rng.IntN(len(c.mine))]
	for range cuckooMoves {
		at, ok := c.victim(bucket)
		if !ok { // the walk has come back: begin again
			c.path, bucket = c.path[:0], c.mine[c.rng.IntN(len(c.mine))]
			continue
		}
		word := c.words[at] // the client has read this bucket
		c.path = append(c.path, move{at: at, word: word})
		c.others = c.choose(c.others[:0], word, bucket)
		free = none
		for _, other := range c.others {
			if _, n, at := c.room(other, word); n > 0 && free == none {
				free = at
			}
		}
		c.wait()
		if free != none {
			return free
		}
		bucket = c.others[c.rng.IntN(len(c.others))]
	}
	return none
}

// victim chooses a slot of a bucket that is not on the path yet, at random.
func (c *cuckoo) victim(bucket uint64) (at uint64, ok bool) {
	first := c.rng.IntN(c.slots)
	for i := range c.slots {
		at = bucket + uint64((first+i)%c.slots)
		used := false
		for k := range c.path {
			used = used || c.path[k].at == at
		}
		if !used {
			return at, true
		}
	}
	return 0, false
}

// search reads the other buckets of all words that it has read, until one has room. It returns an
// empty slot there.
func (c *cuckoo) search() (free uint64) {
	clear(c.seen)
	var all []move
	add := func(bucket uint64, before int) {
		c.seen[bucket] = true
		for i := range uint64(c.slots) {
			all = append(all, move{bucket + i, c.words[bucket+i], before})
		}
	}
	for _, bucket := range c.mine {
		add(bucket, -1)
	}
	for from := 0; from < len(all) && len(c.seen) < cuckooBuckets; {
		level, last := len(all), -1
		free = none
		for i := from; i < level && len(c.seen) < cuckooBuckets; i++ {
			bucket := all[i].at - all[i].at%uint64(c.slots)
			c.others = c.choose(c.others[:0], all[i].word, bucket)
			for _, other := range c.others {
				if c.seen[other] {
					continue
				}
				if _, n, at := c.room(other, all[i].word); n > 0 && free == none {
					free, last = at, i
				}
				add(other, i)
			}
		}
		if c.wait(); free != none {
			c.trace(all, last)
			return free
		}
		from = level
	}
	return none
}

// trace makes a path of the moves that lead to one.
func (c *cuckoo) trace(all []move, last int) {
	for i := last; i >= 0; i = all[i].before {
		c.path = append(c.path, all[i])
	}
	for i, k := 0, len(c.path)-1; i < k; i, k = i+1, k-1 {
		c.path[i], c.path[k] = c.path[k], c.path[i]
	}
}

// Check finds a word that is there twice, or in a bucket that is not one of its own.
func (c *cuckoo) Check() error {
	return checkOnce(c.words, func(at int, word uint64) bool {
		c.mine = c.choose(c.mine[:0], word, none)
		return index(c.mine, uint64(at-at%c.slots)) >= 0
	})
}
