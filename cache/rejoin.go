package cache

import (
	"sync/atomic"

	"github.com/farhash/farhash/internal/rejoin"
	"github.com/farhash/farhash/rma"
)

// rejoins knows which ranks have joined again, and so have new memory. A rank that has died may
// join again where the engine allows ([rejoin.Job]): a cache may lose what was in its memory.
// The rank takes over the windows of the cache, empty. Then:
//
//   - Only queues that are made afterwards reach the new memory. So no search goes on in it that
//     began in the old one. Older sessions are closed.
//   - Ranks of its host, which address the old memory, do not use it any more. All of them know
//     before any rank reaches the new memory, so that nothing old is found.
//   - Locks name the incarnation of their owner, so that those of the former one are broken.
type rejoins struct {
	job   rejoin.Job
	seen  atomic.Uint64 // job.Returns when ranks was last brought up to date
	ranks []atomic.Bool // by rank: its memory is not where it was at the beginning
}

// Any reports whether any rank has joined again.
func (a *rejoins) Any() bool { return a.job.Returns() > 0 && !usesOld.On() }

// Moved reports whether the memory of a rank is not where it was at the beginning.
func (a *rejoins) Moved(rank int) bool {
	if usesOld.On() {
		return false
	}
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

// ownerNumber names this incarnation of this rank in locks: its rank plus 1, plus the number of
// ranks for each time that it has joined again.
func ownerNumber(job rma.Job) uint64 {
	number := uint64(job.Rank() + 1)
	if life := rejoin.Incarnation(job); life > 0 {
		number += uint64(life) * uint64(job.Size())
	}
	return number
}

// ownerDead reports whether the rank, in the incarnation that has this number, is dead.
func ownerDead(job rma.Job, number uint64) bool {
	if _, ok := job.(rejoin.Job); !ok {
		return rejoin.Dead(job, int(number)-1, 0)
	}
	n := uint64(job.Size())
	return rejoin.Dead(job, int((number-1)%n), int((number-1)/n))
}
