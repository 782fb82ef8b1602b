package sim

import (
	"context"
	"fmt"
	"math"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

// maxWords is the largest window, all segments together.
const maxWords = min(1<<50, math.MaxInt/8)

// smallWords is the largest size of a window that is made without a check of the memory left: 8
// MiB.
const smallWords = 1 << 20

// errClosed is the answer to a collective call of a rank that has left.
var errClosed = fmt.Errorf("sim: for this rank the job is %w", rma.ErrClosed)

// call is a collective call of a rank: a barrier or a window.
type call struct {
	window bool
	spec   rma.Spec
}

func (k call) String() string {
	if !k.window {
		return "calls Barrier"
	}
	described := k.spec.Name
	if k.spec.Key != "" && k.spec.Key != k.spec.Name {
		described += ", key " + k.spec.Key
	}
	if k.spec.Reserve {
		described += ", reserved"
	}
	return fmt.Sprintf("makes window %q with %d words per rank", described, k.spec.Words)
}

// meeting is the state of the collective calls, of which there is one at a time.
type meeting struct {
	number int    // collective calls that all ranks have made
	come   int    // ranks that have made the next one
	calls  []call // of each rank

	// The result of the last one. All ranks have taken it before the next one ends.
	ends    instant
	segment *segments
	err     error

	gone   error // of the rank that was lost first, a RankError
	broken error // why there is no next one
}

// meet makes the next collective call and returns when all ranks have made it, with the window
// that they agreed on. Once that has failed, the later calls of the rank fail as well.
func (r *rank) meet(ctx context.Context, k call) (*segments, error) {
	c, m := r.c, &r.c.meeting
	if r.left {
		return nil, errClosed
	}
	if r.broken != nil {
		return nil, r.broken
	}
	r.advance() // others may be lost by then
	if r.broken = m.broken; r.broken != nil {
		return nil, r.broken
	}
	m.calls[r.id] = k
	r.arrivals++
	m.come++
	if m.come == len(c.ranks) {
		c.hold()
	}
	if err := r.await(ctx, waiting{meeting: r.arrivals}); err != nil {
		r.broken = fmt.Errorf("sim: waiting for all ranks: %w", err)
		return nil, r.broken
	}
	if m.number < r.arrivals { // not all ranks will make it
		r.broken = m.broken
		return nil, r.broken
	}
	r.clock = max(r.clock, m.ends)
	r.advance()
	return m.segment, m.err
}

// hold ends a collective call that all ranks have made, and wakes those that wait.
func (c *cluster) hold() {
	m := &c.meeting
	m.number++
	m.come = 0
	m.ends = c.now + c.durations.meeting
	m.segment, m.err = c.agree()
	if m.gone != nil {
		m.broken = m.gone
	}
	for _, r := range c.ranks {
		if r.blocked && r.waiting.meeting > 0 {
			c.wakeAt(r, m.ends)
		}
	}
}

// agree makes the window that all ranks want.
func (c *cluster) agree() (*segments, error) {
	calls := c.meeting.calls
	k := calls[0]
	for id, other := range calls {
		if other != k {
			return nil, fmt.Errorf("sim: rank 0 %v, rank %d %v; every rank must make the same "+
				"collective calls in the same order", k, id, other)
		}
	}
	if !k.window {
		return nil, nil
	}
	words := k.spec.Words
	if limit := maxWords / len(c.ranks); words < 1 || words > limit {
		return nil, fmt.Errorf("sim: making window %q: a segment of %d ranks has 1 to %d words, "+
			"not %d", k.spec.Name, len(c.ranks), limit, words)
	}
	total := words * len(c.ranks)
	s := &segments{name: k.spec.Name, number: c.windows + 1, words: words}
	if total <= smallWords {
		s.flat = make([]uint64, total)
	} else if k.spec.Reserve && memory.CanReserve() {
		block, err := memory.Reserve(total)
		if err != nil {
			return nil, err
		}
		c.reserved = append(c.reserved, block)
		s.flat = block.Words
		s.units = direct.NewUnits("window "+s.name, total*8, block.Take)
	} else {
		if err := memory.Check(uint64(total)*8, "window "+k.spec.Name); err != nil {
			return nil, err
		}
		s.flat = make([]uint64, total)
	}
	c.windows++
	return s, nil
}

// depart wakes the ranks that wait for one that is gone, after DetectNs.
func (c *cluster) depart(r *rank, left bool) {
	m := &c.meeting
	gone := &rma.RankError{Rank: r.id, Left: left}
	if m.gone == nil {
		m.gone = gone
	}
	if m.broken != nil || r.arrivals > m.number {
		return
	}
	m.broken = gone
	for _, other := range c.ranks {
		if other.blocked && other.waiting.meeting > 0 {
			c.wakeAt(other, c.now+c.plan.detect)
		}
	}
}

// absent lists the ranks that have not made the next collective call.
func (m *meeting) absent(c *cluster) string {
	const maxListed = 8
	var absent []int
	for _, r := range c.ranks {
		if r.arrivals <= m.number && len(absent) < maxListed {
			absent = append(absent, r.id)
		}
	}
	return fmt.Sprintf("%d of %d ranks have come to collective call %d, missing are %v",
		m.come, len(c.ranks), m.number+1, absent)
}
