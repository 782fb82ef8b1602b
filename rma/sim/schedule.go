package sim

import "fmt"

// instant is a moment or a duration of virtual time in picoseconds, so that a byte of
// 0.08 ns is a whole number. 64 bits of them are a hundred days.
type instant int64

const (
	nanosecond instant = 1000
	// MaxNs is the longest time that options may name: a day.
	MaxNs = 86_400e9
)

// kind says what an event is.
type kind uint8

const (
	wake         kind = iota // a rank continues, if it is still its n-th stop
	checkContext             // of a rank in a collective call, if it is still that stop
	strike                   // the n-th kill of the options
	request                  // the first byte of a request is at its target
	execute                  // the request has been received
	exchange                 // an atomic reads its word, to write it at once or later
	apply                    // the n-th piece of an operation's words is read or written
	response                 // the first byte of the response is at the origin
	complete                 // the response has been received
	fail                     // the origin gives up
)

var kindNames = [...]string{"wake", "check context", "strike", "request",
	"execute", "exchange", "apply", "response", "complete", "fail"}

// event is something that happens at a moment.
type event struct {
	at   instant
	tie  uint64 // decides between events of one moment: by chance, then in order
	op   *operation
	n    uint32
	rank uint16
	kind kind
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.tie < f.tie
}

// events is a heap with four children to a node, the next event on top.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
}

func (h *events) pop() event {
	s := *h
	top, last := s[0], s[len(s)-1]
	s[len(s)-1] = event{} // let go of the operation
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= len(s) {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, len(s)); child++ {
			if s[child].before(&s[least]) {
				least = child
			}
		}
		if !s[least].before(&last) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = last
	return top
}

// orderBits is how many bits of a tie keep the order of equal chances.
const orderBits = 40

// schedule adds an event.
func (c *cluster) schedule(at instant, e event) {
	c.scheduled++
	e.at = at
	e.tie = c.rng.Uint64()<<orderBits | c.scheduled
	c.events.push(e)
}

// scheduleOp schedules the next event of an operation.
func (c *cluster) scheduleOp(at instant, k kind, op *operation) {
	c.schedule(at, event{kind: k, op: op})
}

// scheduleTurn has a rank continue, or examine its context, in the stop that it has come to.
func (c *cluster) scheduleTurn(at instant, k kind, r *rank) {
	c.schedule(at, event{kind: k, rank: uint16(r.id), n: r.stops})
}

// take removes the next event and makes its moment the present one.
func (c *cluster) take() event {
	e := c.events.pop()
	c.now = e.at
	c.steps++
	c.report.Events++
	what := uint64(e.kind)<<56 ^ uint64(e.rank)<<40 ^ uint64(e.n)
	if e.op != nil {
		what ^= e.op.identity()
	}
	c.report.Trace = mix(mix(c.report.Trace, uint64(e.at)), what)
	if c.opts.Trace != nil {
		c.trace("%v", c.describe(&e))
	}
	return e
}

// mix is a step of FNV-1a with a word for a byte.
func mix(hash, word uint64) uint64 { return (hash ^ word) * 0x100000001b3 }

// inline lets the next event happen from within a rank, which is cheaper than going back
// to the scheduler. It reports false where the scheduler is needed: another rank
// is next, or nothing is, or the run is over.
func (c *cluster) inline() bool {
	if len(c.ready) > 0 || len(c.events) == 0 || c.events[0].kind == wake || c.over() {
		return false
	}
	e := c.take()
	c.happen(&e)
	return true
}

// happen lets an event happen that is not a rank's turn.
func (c *cluster) happen(e *event) {
	switch e.kind {
	case checkContext:
		c.examineContext(c.ranks[e.rank], e.n)
	case strike:
		c.strike(c.ranks[c.opts.Faults.Kills[e.n].Rank])
	case request:
		c.arrive(e.op, execute)
	case execute:
		c.execute(e.op)
	case exchange:
		c.exchange(e.op)
	case apply:
		c.apply(e.op, int(e.n))
	case response:
		c.arrive(e.op, complete)
	case complete, fail:
		c.complete(e.op)
	}
}

// run lets events happen until every rank has ended.
func (c *cluster) run() error {
	for c.alive > 0 {
		switch {
		case c.over():
			return c.limitError()
		case len(c.ready) > 0:
			r := c.ready[0]
			c.ready = append(c.ready[:0], c.ready[1:]...)
			c.resume(r)
		case len(c.events) == 0:
			return fmt.Errorf("deadlock at %v, nothing is in flight: %s", c.now, c.whoWaits())
		default:
			e := c.take()
			if e.kind != wake {
				c.happen(&e)
			} else if r := c.ranks[e.rank]; r.stops == e.n {
				c.resume(r)
			}
		}
	}
	return nil
}

// contextSteps is how many events and calls there are between two looks at the context.
const contextSteps = 1 << 10

// over reports whether a limit of the options has been passed.
func (c *cluster) over() bool {
	if c.steps >= c.looksAt {
		if c.looksAt = c.steps + contextSteps; c.opts.Context.Err() != nil {
			c.looksAt = 0 // and so it remains
			return true
		}
	}
	return c.steps > c.opts.MaxSteps || c.now > c.limit
}

func (c *cluster) limitError() error {
	if err := c.opts.Context.Err(); err != nil {
		return fmt.Errorf("at %v: %w", c.now, err)
	}
	what := fmt.Sprintf("more than %d events and calls", c.opts.MaxSteps)
	if c.now > c.limit {
		what = fmt.Sprintf("past the limit of %v", c.limit)
	}
	return fmt.Errorf("%s at %v: %s; raise Options.MaxTimeNs and MaxSteps if the ranks need "+
		"more", what, c.now, c.whoWaits())
}

// String prints a moment in nanoseconds.
func (t instant) String() string {
	return fmt.Sprintf("%d.%03d ns", int64(t/nanosecond), int64(t%nanosecond))
}
