package bench

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
)

// store is a concurrent set of one process. put reports whether word is new.
type store interface {
	put(word uint64) bool
}

// newStore makes a store; all but sync.Map can be told how many words will come.
func newStore(impl Impl, words int) store {
	switch impl {
	case SyncMap:
		return &syncStore{}
	case XSync:
		return xsyncStore{xsync.NewMap[uint64, struct{}](xsync.WithPresize(words))}
	}
	return newShardedStore(words)
}

type syncStore struct{ m sync.Map }

func (s *syncStore) put(word uint64) bool {
	_, loaded := s.m.LoadOrStore(word, struct{}{})
	return !loaded
}

type xsyncStore struct{ m *xsync.Map[uint64, struct{}] }

func (s xsyncStore) put(word uint64) bool {
	_, loaded := s.m.LoadOrStore(word, struct{}{})
	return !loaded
}

const shardBits = 8

// shardedStore divides the words among maps with a mutex each.
type shardedStore struct {
	shards [1 << shardBits]shard
}

type shard struct {
	mu   sync.Mutex
	seen map[uint64]struct{}
	_    [48]byte // shards do not share cache lines
}

func newShardedStore(words int) *shardedStore {
	s := &shardedStore{}
	perShard := words / len(s.shards)
	for i := range s.shards {
		s.shards[i].seen = make(map[uint64]struct{}, perShard+perShard/16)
	}
	return s
}

func (s *shardedStore) put(word uint64) bool {
	sh := &s.shards[word*0x9E3779B97F4A7C15>>(64-shardBits)]
	sh.mu.Lock()
	_, found := sh.seen[word]
	if !found {
		sh.seen[word] = struct{}{}
	}
	sh.mu.Unlock()
	return !found
}

// peerTable is one rank's view of a store.
type peerTable struct {
	store store
	count uint64
}

func (t *peerTable) prefill(words []uint64) error { return t.run(words) }

func (t *peerTable) ready([]uint64, int) {}

func (t *peerTable) run(words []uint64) error {
	for _, word := range words {
		if t.store.put(word) {
			t.count++
		}
	}
	return nil
}

func (t *peerTable) inserted() uint64 { return t.count }

func (t *peerTable) close() error { return nil }
