package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// advance lets everything happen that is due before the rank's own time.
func (r *rank) advance() {
	c := r.c
	for c.now < r.clock {
		if len(c.ready) == 0 && (len(c.events) == 0 || c.events[0].at > r.clock) {
			c.now = r.clock
			return
		}
		if !c.inline() {
			c.wakeAt(r, r.clock)
			r.suspend()
		}
		r.unwindIfDead()
	}
}

// await returns when w is over, or with an error when ctx ends first.
func (r *rank) await(ctx context.Context, w waiting) error {
	c := r.c
	r.advance()
	r.waiting = w
	r.waiting.ctx = ctx
	r.checkIn = minCheckInterval
	if len(w.others) > 0 {
		c.scheduleTurn(max(c.now, w.until), checkContext, r)
	}
	var err error
	for err == nil && !r.waiting.over(c) {
		if err = ctx.Err(); err == nil && !c.inline() {
			r.blocked = true
			if w.meeting > 0 && ctx.Done() != nil {
				c.scheduleTurn(c.now+r.checkIn, checkContext, r)
			}
			r.suspend()
		}
		r.unwindIfDead()
	}
	r.clock = max(r.clock, c.now)
	return err
}

// waiting is what a rank waits for: an operation or a collective call.
type waiting struct {
	ctx     context.Context
	op      *operation
	others  []*operation // that count as well
	until   instant      // from this time on
	meeting int
}

func (w *waiting) over(c *cluster) bool {
	if w.op != nil {
		isDone := func(op *operation) bool { return op.state == done }
		return isDone(w.op) || c.now >= w.until && slices.ContainsFunc(w.others, isDone)
	}
	return c.meeting.number >= w.meeting || c.meeting.broken != nil
}

func (w *waiting) String() string {
	if w.op != nil {
		return w.op.place.String()
	}
	return fmt.Sprintf("the other ranks in collective call %d", w.meeting)
}

const (
	minCheckInterval = 100_000 * nanosecond
	maxCheckInterval = 100 * minCheckInterval
)

// examineContext wakes a rank in a collective call whose context has ended, and one that waits for
// any of its operations if one is done.
func (c *cluster) examineContext(r *rank, stops uint32) {
	if !r.blocked || r.stops != stops {
		return
	}
	if r.waiting.ctx.Err() != nil || r.waiting.over(c) {
		c.wakeAt(r, c.now)
		return
	}
	if r.waiting.op != nil {
		return
	}
	r.checkIn = min(2*r.checkIn, maxCheckInterval)
	c.scheduleTurn(c.now+r.checkIn, checkContext, r)
}

// whoWaits lists what the ranks wait for, the first few of them.
func (c *cluster) whoWaits() string {
	const maxListed = 8
	var list []string
	more := 0
	for _, r := range c.ranks {
		switch {
		case r.ended:
		case len(list) == maxListed:
			more++
		case r.blocked:
			list = append(list, fmt.Sprintf("rank %d waits for %v", r.id, &r.waiting))
		case r.last.w == nil:
			list = append(list, fmt.Sprintf("rank %d is at work", r.id))
		default:
			list = append(list, fmt.Sprintf("rank %d is at work, of late on %v", r.id, r.last))
		}
	}
	if c.meeting.come > 0 {
		list = append(list, c.meeting.absent(c))
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d ranks more", more))
	}
	return strings.Join(list, "; ")
}
