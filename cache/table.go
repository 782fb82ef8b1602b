package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// lineWords is the number of words in a cache line.
const lineWords = 8

// table is the buckets of all ranks and their layout.
type table struct {
	job     rma.Job
	window  rma.Window
	batches core.Batches
	memory  [][]uint64 // by rank: its segment; nil where only queues reach it
	bases   []*uint64  // by rank: the first bucket of it; nil like memory
	mode    Mode
	paper   bool

	ranks        int
	segment      int    // words of each rank
	groups       uint64 // of each rank
	groupBuckets int
	choices      int
	groupWords   int // with the lock, where there is one
	lockWords    int // in front of a group: 1 or 0
	bucketWords  int
	keyWords     int
	valueWords   int
	rankLock     int // where the lock of a rank is, in Coarse
	windowMask   uint64
	retries      int
	depth        int
	kernel       bool // batches over direct memory run in assembly

	sessions core.Pool[*session]
	repairs  pendingRepairs
}

// shape computes the layout.
func (t *table) shape(cfg Config, ranks int) {
	t.mode, t.paper = cfg.Mode, cfg.Addressing == Paper
	t.ranks, t.choices, t.groupBuckets = ranks, cfg.Choices, cfg.GroupBuckets
	t.retries, t.depth = cfg.Retries, cfg.Depth
	t.groups = cfg.BucketsPerRank / uint64(cfg.GroupBuckets)
	t.keyWords, t.valueWords = wordsOf(cfg.KeySize), wordsOf(cfg.ValueSize)
	t.bucketWords = 1 + t.keyWords + t.valueWords
	if t.mode == Fine {
		t.lockWords = 1
	}
	t.groupWords = t.lockWords + t.groupBuckets*t.bucketWords
	// Segments are whole lines, so that those of all ranks begin at one, and the lock
	// of a rank has one for itself.
	t.rankLock = (int(t.groups)*t.groupWords + lineWords - 1) / lineWords * lineWords
	t.segment = t.rankLock
	if t.mode == Coarse {
		t.segment += lineWords
	}
	t.windowMask = 1<<(8*windowBytes(t.groups)) - 1
}

// BucketsKey is the key of the window of the buckets ([rma.Spec]), by which a job can know it.
const BucketsKey = "cache: buckets"

// newTable makes the buckets of a cache. Collective.
func newTable(ctx context.Context, job rma.Job, cfg Config) (*table, error) {
	t := &table{job: job, sessions: core.Pool[*session]{Closed: errClosed}}
	t.shape(cfg, job.Size())
	w, err := job.NewWindow(ctx, rma.Spec{Name: "cache: buckets", Key: BucketsKey,
		Words: t.segment})
	if err != nil {
		return nil, err
	}
	t.window, t.batches.Regions = w, core.NewRegions(w)
	if r := newRejoins(job); r != nil {
		t.batches.Moves = r
	}
	t.kernel = kernelRuns && !t.paper
	t.memory, t.bases = t.batches.Segments, make([]*uint64, t.ranks)
	for rank, words := range t.memory {
		if words != nil {
			t.bases[rank] = &words[t.lockWords]
		}
	}
	return t, nil
}

// addressable reports whether the buckets of a key are directly addressable.
func (t *table) addressable(hash uint64) bool { return t.batches.At(t.rankOf(hash)) != nil }

// offset is where the buckets of a group begin in the segment of its rank.
func (t *table) offset(group uint64) int { return int(group)*t.groupWords + t.lockWords }

// bucketAt is a bucket in directly addressable memory.
func (t *table) bucketAt(rank int, group uint64, i int) []uint64 {
	at := t.offset(group) + i*t.bucketWords
	return t.memory[rank][at : at+t.bucketWords : at+t.bucketWords]
}

// lockOf is the offset of the lock for a group.
func (t *table) lockOf(group uint64) int {
	if t.mode == Coarse {
		return t.rankLock
	}
	return int(group) * t.groupWords
}

// errClosed is the answer of a cache that has been closed.
var errClosed = errors.New("cache: the cache is closed")

// close releases queues and buckets. A later call goes to the pool of sessions and finds
// it closed, not to memory that is gone.
func (t *table) close() error {
	err := t.batches.Close()
	return errors.Join(err, t.sessions.Close(), t.window.Close())
}

// rankError says in whose memory something failed.
func rankError(rank int, err error) error {
	return fmt.Errorf("cache: in the memory of rank %d: %w", rank, err)
}
