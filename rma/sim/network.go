package sim

// host has a card that its ranks share. A card sends one message at a time and
// receives one at a time, and works on one atomic at a time.
type host struct {
	sends, receives instant // until when it is busy
	atomics         instant
}

func (c *cluster) hostOf(rank int) int { return rank / c.opts.RanksPerHost }

// send has an operation's message leave for another rank, which notices it as the event k.
func (c *cluster) send(op *operation, from, to, payloadBytes int, k kind) {
	a, b := c.hostOf(from), c.hostOf(to)
	latency, leaves := c.durations.hostLatency, c.now
	if a != b {
		latency = c.durations.latency
		var ok bool
		if leaves, ok = c.departure(a, b, max(c.now, c.hosts[a].sends)); !ok {
			c.lose(op, false)
			return
		}
		c.hosts[a].sends = leaves + c.durations.busy(payloadBytes, op.joined)
		c.report.Bytes += uint64(payloadBytes)
		if !op.joined {
			c.report.Messages++
			c.report.Bytes += uint64(c.durations.header)
		}
		if leaves, ok = c.resent(a, b, leaves); !ok {
			c.lose(op, false)
			return
		}
	}
	if slow := c.plan.slow[from] * c.plan.slow[to]; slow != 1 && from != to {
		latency = instant(float64(latency) * slow)
	}
	op.leaves = leaves
	op.payload = payloadBytes
	arrives := leaves + latency + c.upTo(c.opts.JitterNs) + c.stall()
	if a != b {
		arrives = c.inOrder(from, to, arrives)
	}
	c.scheduleOp(arrives, k, op)
}

// arrive receives a message; then comes the event k.
func (c *cluster) arrive(op *operation, k kind) {
	at, from := op.target, op.origin.id
	if k == complete {
		at, from = from, at
	}
	if k == execute && c.lostWithOrigin(op) {
		return
	}
	ready := c.now
	if h := c.hostOf(at); h != c.hostOf(from) {
		ready = max(ready, c.hosts[h].receives)
		c.hosts[h].receives = ready + c.durations.busy(op.payload, op.joined)
		ready += c.durations.transfer(op.payload)
	} else {
		ready += c.durations.transferOnHost(op.payload)
	}
	switch {
	case ready > c.now:
		c.scheduleOp(ready, k, op)
	case k == execute:
		c.execute(op)
	default:
		c.complete(op)
	}
}

// lostWithOrigin decides whether a request of a killed rank is lost: it is if it had not left, and
// else with a chance of one half.
func (c *cluster) lostWithOrigin(op *operation) bool {
	if !op.origin.dead || op.leaves <= op.origin.diedAt && c.chance(2) {
		return false
	}
	c.report.Lost++
	c.end(op)
	c.recycle(op)
	return true
}

// lose has an operation fail at its origin after the time of detection.
func (c *cluster) lose(op *operation, died bool) {
	c.report.Lost++
	op.err = &LostError{Operation: op.place.String(), Rank: op.target, Died: died}
	c.end(op)
	after := c.plan.retry
	if died {
		after = c.plan.detect
	}
	c.scheduleOp(c.now+after, fail, op)
}
