package sim

// connection carries the messages from one rank to another.
type connection struct{ from, to int }

// maxResend is the longest time until a message is sent again.
const maxResend = MaxNs * nanosecond

// resent is when a message leaves that is not lost, instead of one that leaves at a moment. It is
// false if the link is cut for too long by then.
func (c *cluster) resent(from, to int, leaves instant) (at instant, ok bool) {
	at, ok = leaves, true
	for after := c.plan.resend; ok && c.chance(c.opts.Faults.LossEvery); {
		c.report.Resent++
		at, ok = c.departure(from, to, at+after)
		after = min(2*after, maxResend)
	}
	return at, ok
}

// inOrder is when a message arrives that would at a moment, if none overtakes another one.
func (c *cluster) inOrder(from, to int, at instant) instant {
	if c.plan.last == nil {
		return at
	}
	way := connection{from, to}
	at = max(at, c.plan.last[way]+1)
	c.plan.last[way] = at
	return at
}
