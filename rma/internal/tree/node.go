package tree

import "net"

// A rank within the tree: what comes from below goes up, and what comes from above goes down.

// place reserves the place of a rank, or says why it cannot.
func (t *Tree) place(rank int) verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	parent, _ := place(rank, t.cfg.Size, t.cfg.fan)
	switch {
	case t.closed:
		return ending
	case parent != t.cfg.Rank:
		return begun
	case t.down[rank] != nil:
		return taken
	}
	return welcome
}

func (t *Tree) vacate(int) {}

func (t *Tree) refuse(net.Conn, error) {} // who has no parent uses the line

// enter makes a connection the one to a rank below.
func (t *Tree) enter(rank int, c net.Conn, _ uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.down[rank] != nil {
		_ = c.Close()
		return
	}
	below := newConn(c, &t.cfg)
	t.attach(rank, below)
	t.readers.Go(func() { t.hear(rank, below) })
}

// attach has a rank below hear of what has happened, and of all that happens from now on. Under
// the lock.
func (t *Tree) attach(rank int, c *conn) {
	t.down[rank] = &edge{conn: c}
	if len(t.gone) > 0 {
		c.put('F', encodeStates(t.known()))
	}
	if t.last != nil {
		c.putFrame(t.last)
	}
}

// drop ends that. Under the lock.
func (t *Tree) drop(rank int, c *conn) {
	if e := t.down[rank]; e != nil && e.conn == c {
		delete(t.down, rank)
		if t.root == nil {
			t.passOn() // perhaps it was the one that all waited for
		}
	}
}

// hear takes the frames of a rank below until the connection ends.
func (t *Tree) hear(rank int, c *conn) {
	_, of := place(rank, t.cfg.Size, t.cfg.fan)
	for {
		kind, payload, err := c.receive(maxFrame(t.cfg.Size))
		if err != nil {
			break
		}
		number, runs, err := decodeRuns(payload, of)
		if kind != 'G' || err != nil || !t.takeBelow(rank, number, runs) {
			c.close()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(rank, c)
	if !t.closed {
		t.line.put('D', appendNumbers(nil, uint32(rank)))
	}
}

// takeBelow takes what a rank below has sent for a gathering.
func (t *Tree) takeBelow(rank int, number uint64, runs []run) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number == t.gathered+1 { // else it is over
		if e := t.down[rank]; e != nil {
			e.gave = number
		}
		t.add(runs)
	}
	return number <= t.gathered+1
}

// add takes what ranks gave in the gathering under way. Under the lock.
func (t *Tree) add(runs []run) {
	if t.root != nil {
		t.root.add(runs)
		return
	}
	t.sum = append(t.sum, runs...)
	t.passOn()
}

// passOn sends up what has come, where this rank and all below it have given. Under the lock.
func (t *Tree) passOn() {
	number := t.gathered + 1
	if t.own < number || t.passed == len(t.sum) {
		return
	}
	for _, e := range t.down {
		if e.gave < number {
			return
		}
	}
	t.sendUp(t.sum[t.passed:])
	t.passed = len(t.sum)
}

func (t *Tree) sendUp(runs []run) {
	t.up.put('G', encodeRuns(t.gathered+1, joinRuns(append([]run(nil), runs...))))
}

// finish ends a gathering, here and below. Under the lock.
func (t *Tree) finish(number uint64, all []run, payload []byte) {
	if number != t.gathered+1 {
		return // it has come before, another way
	}
	t.gathered, t.result, t.last = number, all, encodeFrame('R', payload)
	t.sum, t.passed = nil, 0
	for _, e := range t.down {
		e.putFrame(t.last)
	}
	t.changed()
}

// learn takes what is known of ranks, and tells those below what is new. Under the lock.
func (t *Tree) learn(states []state) {
	var news []state
	for _, s := range states {
		known := &t.peers[s.rank]
		before := *known
		if known.state == Here {
			*known = s.peer
			t.gone = append(t.gone, s.rank)
		}
		known.ended = known.ended || s.state == Died
		if *known != before {
			news = append(news, s)
		}
	}
	if len(news) == 0 {
		return
	}
	frame := encodeFrame('F', encodeStates(news))
	for _, e := range t.down {
		e.putFrame(frame)
	}
	t.changed()
}

// known is all that this rank knows of ranks that are not present. Under the lock.
func (t *Tree) known() []state {
	var all []state
	for _, rank := range t.gone {
		p := t.peers[rank]
		all = append(all, state{rank, p})
		if p.ended && p.state == Left {
			all = append(all, state{rank, peer{state: Died, given: p.given}})
		}
	}
	return all
}

// listen takes the frames from above until the connection ends.
func (t *Tree) listen(c *conn) {
	silent := false
	for {
		kind, payload, err := c.receive(maxFrame(t.cfg.Size))
		if err != nil {
			silent = c.wasSilent(err)
			break
		}
		if !t.takeAbove(c, kind, payload) {
			c.close()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c == t.line {
		t.lose0(silent)
	} else {
		t.useLine()
	}
}

// takeAbove takes a frame from above. It reports false where that is malformed.
func (t *Tree) takeAbove(c *conn, kind byte, payload []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch kind {
	case 'R':
		number, all, err := decodeRuns(payload, span{0, t.cfg.Size})
		if err != nil {
			return false
		}
		t.finish(number, all, payload)
	case 'F':
		states, err := decodeStates(payload, t.cfg.Size)
		if err != nil {
			return false
		}
		t.learn(states)
	case 'Z':
		for _, e := range t.down {
			e.put('Z', nil)
		}
		return c == t.line // else the parent is of no use any more
	}
	return true
}

// lose0 is the end of the line: rank 0 is lost, or takes this one for lost. Those below use their
// own lines, and so learn which. Under the lock.
func (t *Tree) lose0(silent bool) {
	t.cut = true
	for _, e := range t.down {
		e.put('Z', nil)
	}
	zero := &t.peers[0]
	if zero.state == Here {
		*zero = peer{state: Died, silent: silent, given: t.gathered}
		t.gone = append(t.gone, 0)
	}
	zero.ended = true
	t.changed()
}

// useLine uses the line in place of a parent that is lost. Under the lock.
func (t *Tree) useLine() {
	if t.up == t.line || t.cut || t.closed || t.deserted() {
		return
	}
	t.up = t.line
	t.line.watch(true)
	t.line.put('O', nil)
	if t.passed > 0 {
		t.sendUp(t.sum[:t.passed])
	}
}
