package set

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// known is words in the memory of other ranks that this rank knows to be in the table. No word
// ever leaves a table, so such a word is Found, and no request is needed. It is lossy: words with
// the same place replace each other. A table that words are removed from begins with an empty one.
type known struct {
	words   []atomic.Uint64 // with the occupied bit
	scratch sync.Pool       // of *unknown
}

// unknown is the words of a batch that are not known.
type unknown struct {
	batch batch
	at    []int // in the batch
}

// knownShare is how many buckets a rank has at least for each word that it remembers.
const knownShare = 4

// takeOver takes over what another one knows.
func (k *known) takeOver(from *known) {
	for i := range from.words {
		if bucket := from.words[i].Load(); bucket != 0 {
			k.add(bucket&^occupied, hashWord(bucket&^occupied))
		}
	}
}

// placeOf takes other bits of the hash than the rank and the home do.
func (k *known) placeOf(hash uint64) *atomic.Uint64 {
	at, _ := bits.Mul64(bits.RotateLeft64(hash, 32), uint64(len(k.words)))
	return &k.words[at]
}

func (k *known) has(word, hash uint64) bool {
	there := k.placeOf(hash).Load()
	return there == word|occupied || knownByHash.On() && there != 0
}

func (k *known) add(word, hash uint64) {
	if at := k.placeOf(hash); at.Load() != word|occupied {
		at.Store(word | occupied)
	}
}

// run answers the words of a batch of a Set, those that are known without a request.
func (k *known) run(b *batch) error {
	u, ok := k.scratch.Get().(*unknown)
	if !ok {
		u = new(unknown)
	}
	defer k.scratch.Put(u)
	rest := batch{t: b.t, items: u.batch.items[:0], results: u.batch.results[:0], insert: b.insert}
	u.at = u.at[:0]
	for i, word := range b.items {
		if hash := hashWord(word); b.t.remote(hash) && k.has(word, hash) {
			b.results[i] = Found
			b.found++
			knownFound.Hit()
			continue
		}
		rest.items, u.at = append(rest.items, word), append(u.at, i)
		rest.results = append(rest.results, b.results[i])
	}
	var err error
	if len(u.at) > 0 {
		err = rest.run()
	}
	for j, i := range u.at {
		r, word := rest.results[j], rest.items[j]
		b.results[i] = r
		if hash := hashWord(word); (r == Found || r == Inserted) && b.t.remote(hash) {
			k.add(word, hash)
		}
	}
	b.t.tally.add(&b.counts)
	u.batch = batch{items: rest.items, results: rest.results}
	return err
}

// remote reports whether only queues reach the home of a hash.
func (t *table) remote(hash uint64) bool { return t.spans[t.owner(hash)] == nil }
