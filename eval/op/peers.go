package op

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/farhash/farhash/eval/internal/measure"
)

// store is a concurrent set of one process. put reports whether key is new.
type store[K comparable] interface {
	put(key K) bool
}

// newStore makes a store; all but sync.Map take the number of keys in advance.
func newStore[K comparable](impl impl, keys int, hash func(K) uint64) store[K] {
	switch impl {
	case syncMap:
		return &syncStore[K]{}
	case goMap:
		return goStore[K]{make(map[K]struct{}, keys)}
	case xsyncMap:
		return xsyncStore[K]{xsync.NewMap[K, struct{}](xsync.WithPresize(keys))}
	}
	return newShardedStore(keys, hash)
}

type syncStore[K comparable] struct{ m sync.Map }

func (s *syncStore[K]) put(key K) bool {
	_, loaded := s.m.LoadOrStore(key, struct{}{})
	return !loaded
}

type xsyncStore[K comparable] struct{ m *xsync.Map[K, struct{}] }

func (s xsyncStore[K]) put(key K) bool {
	_, loaded := s.m.LoadOrStore(key, struct{}{})
	return !loaded
}

// goStore is a Go map, for one goroutine.
type goStore[K comparable] struct{ m map[K]struct{} }

func (s goStore[K]) put(key K) bool {
	n := len(s.m)
	s.m[key] = struct{}{}
	return len(s.m) > n
}

const shardBits = 8

// shardedStore divides the keys among maps with a mutex each.
type shardedStore[K comparable] struct {
	hash   func(K) uint64
	shards [1 << shardBits]shard[K]
}

type shard[K comparable] struct {
	mu   sync.Mutex
	seen map[K]struct{}
	_    [48]byte // shards do not share cache lines
}

func newShardedStore[K comparable](keys int, hash func(K) uint64) *shardedStore[K] {
	s := &shardedStore[K]{hash: hash}
	perShard := keys / len(s.shards)
	for i := range s.shards {
		s.shards[i].seen = make(map[K]struct{}, perShard+perShard/16)
	}
	return s
}

func (s *shardedStore[K]) put(key K) bool {
	sh := &s.shards[s.hash(key)>>(64-shardBits)]
	sh.mu.Lock()
	_, found := sh.seen[key]
	if !found {
		sh.seen[key] = struct{}{}
	}
	sh.mu.Unlock()
	return !found
}

// hashWord is good enough to choose a shard.
func hashWord(word uint64) uint64 { return word * 0x9E3779B97F4A7C15 }

// seed is the seed of all hashes of elements.
var seed = maphash.MakeSeed()

func hashElement[K comparable](key K) uint64 { return maphash.Comparable(seed, key) }

// openPeer makes a peer whose keys are what a Go program would use: words, arrays
// where the length is a usual one, else strings. Collective.
func (s *sample) openPeer(ctx context.Context, keys uint64) (table, error) {
	switch s.r.elementBytes {
	case 0:
		return openStore(ctx, s, keys, hashWord,
			func(_, words []uint64) []uint64 { return words })
	case 16:
		return openStore(ctx, s, keys, hashElement, keysOf(s.r, array[[16]byte]))
	case 32:
		return openStore(ctx, s, keys, hashElement, keysOf(s.r, array[[32]byte]))
	case 64:
		return openStore(ctx, s, keys, hashElement, keysOf(s.r, array[[64]byte]))
	}
	return openStore(ctx, s, keys, hashElement,
		keysOf(s.r, func(element []byte) string { return string(element) }))
}

func array[K [16]byte | [32]byte | [64]byte](element []byte) K { return K(element) }

// keysOf makes keys of words by way of elements.
func keysOf[K any](r *setRunner, key func(element []byte) K) func(dst []K, words []uint64) []K {
	shape := r.shape()
	var element []byte
	return func(dst []K, words []uint64) []K {
		for i := range words {
			element = shape.elements(element[:0], words[i:i+1])
			dst = append(dst, key(element))
		}
		return dst
	}
}

// openStore makes a store on rank 0 and gives it to the other ranks of the process.
func openStore[K comparable](ctx context.Context, s *sample, keys uint64, hash func(K) uint64,
	keysOf func(dst []K, words []uint64) []K) (table, error) {
	r := s.r
	if s.job.Rank() == 0 {
		r.mu.Lock()
		r.peer = newStore(s.impl, int(keys), hash)
		r.mu.Unlock()
	}
	if err := s.job.Barrier(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	t := &peerTable[K]{store: r.peer.(store[K]), keysOf: keysOf}
	r.mu.Unlock()
	if err := s.job.Barrier(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.peer = nil // it goes when the ranks are done
	r.mu.Unlock()
	return t, nil
}

// peerTable is one rank's view of a store.
type peerTable[K comparable] struct {
	store  store[K]
	keysOf func(dst []K, words []uint64) []K
	keys   []K
	count  uint64
}

func (t *peerTable[K]) prefill(words []uint64) error {
	t.ready(words, 0)
	return t.run(0, len(words))
}

// ready makes the keys: a peer need not wait for that.
func (t *peerTable[K]) ready(words []uint64, _ int) { t.keys = t.keysOf(t.keys[:0], words) }

func (t *peerTable[K]) run(begin, end int) error {
	for _, key := range t.keys[begin:end] {
		if t.store.put(key) {
			t.count++
		}
	}
	return nil
}

func (t *peerTable[K]) inserted() uint64 { return t.count }

func (t *peerTable[K]) close() error { return nil }

// shape makes elements of words.
type shape struct {
	bytes int // of an element
	keys  measure.Keys
}

// elements appends an element for each word to dst: the word, and after it what
// derives from it. Of a random word these are random bytes, of a sequential one
// zeros. Distinct words make distinct elements.
func (s shape) elements(dst []byte, words []uint64) []byte {
	for _, word := range words {
		end := len(dst) + s.bytes
		dst = binary.LittleEndian.AppendUint64(dst, word)
		for i := uint64(1); len(dst) < end; i++ {
			more := uint64(0)
			if s.keys == measure.Random {
				more = measure.Mix64(word + i)
			}
			dst = binary.LittleEndian.AppendUint64(dst, more)
		}
		dst = dst[:end]
	}
	return dst
}

func (r *setRunner) shape() shape { return shape{r.elementBytes, r.keys} }
