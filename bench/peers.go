package bench

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
)

// store is a concurrent set of one process. put reports whether key is new.
type store[K comparable] interface {
	put(key K) bool
}

// newStore makes a store; all but sync.Map can be told how many keys will come.
func newStore[K comparable](impl Impl, keys int, hash func(K) uint64) store[K] {
	switch impl {
	case SyncMap:
		return &syncStore[K]{}
	case XSync:
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

// seed is that of all hashes of elements.
var seed = maphash.MakeSeed()

func hashElement[K comparable](key K) uint64 { return maphash.Comparable(seed, key) }

// openPeer makes a peer whose keys are what a Go program would use: words, arrays
// where the length is a usual one, else strings. Collective.
func (r *run) openPeer(ctx context.Context, keys uint64) (table, error) {
	switch r.cfg.ElementBytes {
	case 0:
		return openStore(ctx, r, keys, hashWord,
			func(_, words []uint64) []uint64 { return words })
	case 16:
		return openStore(ctx, r, keys, hashElement, keysOf(r, array[[16]byte]))
	case 32:
		return openStore(ctx, r, keys, hashElement, keysOf(r, array[[32]byte]))
	case 64:
		return openStore(ctx, r, keys, hashElement, keysOf(r, array[[64]byte]))
	}
	return openStore(ctx, r, keys, hashElement,
		keysOf(r, func(element []byte) string { return string(element) }))
}

func array[K [16]byte | [32]byte | [64]byte](element []byte) K { return K(element) }

// keysOf makes keys of words by way of elements.
func keysOf[K any](r *run, key func(element []byte) K) func(dst []K, words []uint64) []K {
	shape := r.cfg.shape()
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
func openStore[K comparable](ctx context.Context, r *run, keys uint64, hash func(K) uint64,
	keysOf func(dst []K, words []uint64) []K) (table, error) {
	if r.job.Rank() == 0 {
		peer := newStore(r.impl, int(keys), hash)
		r.bench.mu.Lock()
		r.bench.peer = peer
		r.bench.mu.Unlock()
	}
	if err := r.job.Barrier(ctx); err != nil {
		return nil, err
	}
	r.bench.mu.Lock()
	t := &peerTable[K]{store: r.bench.peer.(store[K]), keysOf: keysOf}
	r.bench.mu.Unlock()
	if err := r.job.Barrier(ctx); err != nil {
		return nil, err
	}
	r.bench.mu.Lock()
	r.bench.peer = nil // it goes when the ranks are done
	r.bench.mu.Unlock()
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
