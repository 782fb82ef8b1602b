package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// maxWords is the largest window, all segments together.
const maxWords = 1 << 50

// smallWords is the size of a window for which nobody asks how much memory is left: 8 MiB.
const smallWords = 1 << 20

// errClosed is the answer to a collective call of a rank that has left.
var errClosed = errors.New("sim: this rank has closed the job")

// call is what a rank comes to a meeting for: a barrier or a window.
type call struct {
	window bool
	spec   rma.Spec
}

func (k call) String() string {
	if !k.window {
		return "calls Barrier"
	}
	return fmt.Sprintf("makes window %q with %d words per rank", k.spec.Name, k.spec.Words)
}

// meeting is where the ranks come together for collective calls, one at a time.
type meeting struct {
	number int    // meetings that all ranks have come to
	come   int    // ranks that have come to the next one
	calls  []call // what each rank wants there

	// Of the last meeting. All ranks have taken it before the next one is held.
	ends    instant
	segment *segments
	err     error

	gone   error // the rank that went first, a RankError
	broken error // why there is no next meeting
}

// meet comes to the next meeting and returns when all ranks have, with what they
// agreed on. Once that has failed the rank comes to none.
func (r *rank) meet(ctx context.Context, k call) (*segments, error) {
	c, m := r.c, &r.c.meeting
	if r.left {
		return nil, errClosed
	}
	if r.life > 0 {
		return nil, fmt.Errorf("sim: rank %d has been started again and is not part of the "+
			"job's collective calls any more: %w", r.id, &rma.RankError{Rank: r.id})
	}
	if r.broken != nil {
		return nil, r.broken
	}
	r.advance() // others may be gone by the time that it comes
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
	if m.number < r.arrivals { // it will never be held
		r.broken = m.broken
		return nil, r.broken
	}
	r.clock = max(r.clock, m.ends)
	r.advance()
	return m.segment, m.err
}

// hold has all ranks agree and wakes those that wait.
func (c *cluster) hold() {
	m := &c.meeting
	m.number++
	m.come = 0
	m.ends = c.now + c.fares.meeting
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
	if most := maxWords / len(c.ranks); words < 1 || words > most {
		return nil, fmt.Errorf("sim: making window %q: a segment of %d ranks has 1 to %d words, "+
			"not %d", k.spec.Name, len(c.ranks), most, words)
	}
	total := words * len(c.ranks)
	if total > smallWords {
		if err := memory.Check(uint64(total)*8, "window "+k.spec.Name); err != nil {
			return nil, err
		}
	}
	c.windows++
	return &segments{name: k.spec.Name, number: c.windows, words: words,
		flat: make([]uint64, total)}, nil
}

// depart tells the others that a rank is gone: those that wait for it, after a while.
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

// absent says who has not come to the next meeting.
func (m *meeting) absent(c *cluster) string {
	const most = 8
	var absent []int
	for _, r := range c.ranks {
		if r.arrivals <= m.number && len(absent) < most {
			absent = append(absent, r.id)
		}
	}
	return fmt.Sprintf("%d of %d ranks have come to collective call %d, missing are %v",
		m.come, len(c.ranks), m.number+1, absent)
}
