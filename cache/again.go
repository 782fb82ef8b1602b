package cache

import (
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// A rank that has died may join again where the engine allows ([rma.Rejoiner]): what is lost with
// its memory a cache may lose. It takes over the windows of the cache, empty. Then:
//
//   - Its memory is reached by queues that are made since, so that no search goes on in it that
//     began in the old one. Sessions that are older are closed.
//   - Ranks of its host, which have seen the old memory, look at it no more. They all know before
//     the new memory is reached by anybody, so that nothing old is found.
//   - Locks name the life of their owner, so that those of the former one are broken.
type comebacks struct {
	job   rma.Rejoiner
	seen  atomic.Uint64 // returns that are entered
	ranks []atomic.Bool // those whose memory is elsewhere than it was
}

func newComebacks(job rma.Job) *comebacks {
	r, ok := job.(rma.Rejoiner)
	if !ok {
		return nil
	}
	return &comebacks{job: r, ranks: make([]atomic.Bool, job.Size())}
}

// moved tells whether the memory of a rank is not where it was at the beginning.
func (a *comebacks) moved(rank int) bool {
	if returns := a.job.Returns(); returns != a.seen.Load() {
		for other := range a.ranks {
			if life, _ := a.job.Incarnation(other); life > 0 && other != a.job.Rank() {
				a.ranks[other].Store(true)
			}
		}
		a.seen.Store(returns)
	}
	return a.ranks[rank].Load()
}

// ownerNumber names this life of this rank in locks: its rank and 1, and the number of ranks
// for each time that it has joined again.
func ownerNumber(job rma.Job) uint64 {
	number := uint64(job.Rank() + 1)
	if life := rma.Incarnation(job); life > 0 {
		number += uint64(life) * uint64(job.Size())
	}
	return number
}

// ownerDead tells whether who has that name is dead.
func ownerDead(job rma.Job, number uint64) bool {
	if _, ok := job.(rma.Rejoiner); !ok {
		return rma.Dead(job, int(number)-1, 0)
	}
	n := uint64(job.Size())
	return rma.Dead(job, int((number-1)%n), int((number-1)/n))
}

// shape describes what ranks must agree on.
func (c *Config) shape() string {
	return fmt.Sprintf("keys of %d bytes, values of %d, %d buckets per rank in groups of %d, "+
		"%d choices, %v, addressing %d", c.KeySize, c.ValueSize, c.BucketsPerRank, c.GroupBuckets,
		c.Choices, c.Mode, c.Addressing)
}
