package sim

// execute begins an operation at its target: at once, or after those that it must follow.
func (c *cluster) execute(op *operation) {
	op.arrived = true
	if op.before > 0 {
		return
	}
	if c.memoryLost(op.target) {
		c.lose(op, true)
		return
	}
	if op.kind >= compareAndSwap {
		c.executeAtomic(op)
		return
	}
	if op.words == 1 || c.opts.TearNs == 0 {
		op.cuts = append(op.cuts, 0, op.words)
		op.pieces = 1
		c.apply(op, 0)
		return
	}
	c.tear(op)
}

// maxPieces is in how many pieces a get or put is torn at most.
const maxPieces = 8

// tear divides the words of an operation, each piece to be read or written at a
// moment of its own.
func (c *cluster) tear(op *operation) {
	c.report.Torn++
	op.pieces = 1 + c.rng.IntN(min(op.words, maxPieces))
	op.cuts = append(op.cuts, 0)
	for piece := range op.pieces {
		begin, later := op.cuts[piece], op.pieces-piece-1
		words := op.words - begin
		if later > 0 {
			words = 1 + c.rng.IntN(words-later)
		}
		op.cuts = append(op.cuts, begin+words)
		c.schedule(c.now+c.upTo(c.opts.TearNs), event{kind: apply, op: op, n: uint32(piece)})
	}
}

// apply reads or writes a piece of an operation's words, and answers after the last.
func (c *cluster) apply(op *operation, piece int) {
	op.pieces--
	begin, end := op.cuts[piece], op.cuts[piece+1]
	target := op.segment()
	switch {
	case op.kind == get:
		copy(op.buf[begin:end], target[begin:end])
	case op.kind == put && !c.pieceIsLost(op):
		copy(target[begin:end], op.buf[begin:end])
	case op.writes:
		target[0] = op.word
	}
	if op.pieces > 0 {
		return
	}
	c.end(op)
	bytes := 0
	switch op.kind {
	case get:
		bytes = 8 * op.words
	case compareAndSwap, fetchAdd:
		bytes = 8
	}
	c.send(op, op.target, op.origin.id, bytes, response)
}

// pieceIsLost decides whether a piece of a put does not arrive because its rank has been killed.
func (c *cluster) pieceIsLost(op *operation) bool {
	return op.origin.dead && c.now > op.origin.diedAt && c.chance(2)
}

// incoherentNs is the least time between the read and the write of an atomic that is
// not coherent with CPUs: two ways over a bus.
const incoherentNs = 300

// executeAtomic has an atomic read its word when the card of the target has done with
// those before it. Where it is coherent it writes at that moment too, and otherwise
// at the end of the time for which it keeps the card busy.
func (c *cluster) executeAtomic(op *operation) {
	h := &c.hosts[c.hostOf(op.target)]
	at := max(c.now, h.atomics)
	h.atomics = at + c.durations.atomic
	if c.opts.Incoherent {
		h.atomics++ // so that the next one reads after this one has written
	} else {
		at = h.atomics
	}
	op.cuts = append(op.cuts, 0, 1)
	op.pieces = 1
	if at > c.now {
		c.scheduleOp(at, exchange, op)
		return
	}
	c.exchange(op)
}

// exchange reads the word of an atomic and decides what to write.
func (c *cluster) exchange(op *operation) {
	seen := op.segment()[0]
	switch {
	case op.kind == fetchAdd:
		op.writes, op.word = true, seen+op.word
	case seen == op.old:
		op.writes = true
	}
	op.old = seen
	if c.opts.Incoherent {
		c.scheduleOp(c.now+c.durations.atomic, apply, op)
		return
	}
	c.apply(op, 0)
}

// end lets the operations of its queue on the same words follow.
func (c *cluster) end(op *operation) {
	if op.ended {
		return
	}
	op.ended = true
	op.q.unline(op)
	for _, later := range op.after {
		later.before--
		if later.before == 0 && later.arrived {
			c.scheduleOp(c.now, execute, later)
		}
	}
	op.after = op.after[:0]
}

// complete marks an operation as done for its origin.
func (c *cluster) complete(op *operation) {
	op.state = done
	r := op.origin
	if r.dead || op.q.closed {
		c.recycle(op)
		return
	}
	if r.blocked && r.waiting.over(c) {
		c.wakeAt(r, c.now)
	}
}
