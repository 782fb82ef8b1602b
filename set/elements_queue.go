package set

import (
	"errors"
	"slices"

	"github.com/farhash/farhash/rma"
)

// elementOp is a probe for an element, with the two things that elements add to
// the protocol: comparing and storing.
type elementOp struct {
	e       *Elements
	held    *heldSlots
	element []uint64
	key     uint64

	there  rma.Buf // an element fetched for comparison
	here   rma.Buf // the element to be written into the arena
	handle rma.Handle
	wait   bool // the request of handle is in flight
	mine   Ref
	stored bool // the element lies in slot mine
}

// stepCompare fetches the element that a bucket refers to and compares it.
func (o *elementOp) stepCompare(q rma.Queue, bucket uint64) (rma.Handle, bool, error) {
	if !o.wait {
		p, rank, off := o.e.arenas.locate(Ref(bucket & refMask))
		o.handle, o.wait = q.Get(o.there, p.window, rank, off), true
		return o.handle, false, nil
	}
	if done, err := o.arrived(q); !done || err != nil {
		return o.handle, false, err
	}
	n := len(o.element)
	if halfCompared.On() {
		n = (n + 1) / 2
	}
	return rma.NoHandle, slices.Equal(o.there[:n], rma.Buf(o.element[:n])), nil
}

// stepStore puts the element into a slot, once for the whole search.
func (o *elementOp) stepStore(q rma.Queue) (rma.Handle, uint64, error) {
	if o.stored {
		return rma.NoHandle, o.key | uint64(o.mine), nil
	}
	if !o.wait {
		var ok bool
		var err error
		if o.mine, ok, err = o.held.next(); err != nil || !ok {
			return rma.NoHandle, 0, err
		}
		copy(o.here, o.element)
		p, rank, off := o.e.arenas.locate(o.mine)
		o.handle, o.wait = q.Put(o.here, p.window, rank, off), true
		if tooEarly.On() {
			return rma.NoHandle, o.key | uint64(o.mine), nil
		}
		return o.handle, 0, nil
	}
	done, err := o.arrived(q)
	if gone := (*rma.RankError)(nil); errors.As(err, &gone) {
		o.held.needed++ // another slot, perhaps of another rank, will do
		return o.stepStore(q)
	}
	if !done || err != nil {
		return o.handle, 0, err
	}
	o.stored = true
	return rma.NoHandle, o.key | uint64(o.mine), nil
}

// arrived takes the result of the request in flight, if it is done.
func (o *elementOp) arrived(q rma.Queue) (bool, error) {
	if !q.Done(o.handle) {
		return false, nil
	}
	o.wait = false
	_, err := q.Value(o.handle)
	return true, err
}

// queued runs a batch through a queue.
func (e *Elements) queued(t *table, b *batch, indices []int) error {
	ses, err := e.session(t)
	if err != nil {
		return err
	}
	h := newHeldSlots(e.arenas, len(b.results), false)
	defer h.release()
	start := func(p *probe, i int) {
		o := p.match.(*elementOp)
		o.held, o.element = &h, b.items[i*e.words:(i+1)*e.words]
		hash := hashElement(o.element)
		o.key, o.wait, o.stored = fingerprintKey(hash), false, false
		p.start(t, o, hash, o.key, ^uint64(refMask), b.insert)
	}
	finish := func(p *probe, i int) {
		o := p.match.(*elementOp)
		b.results[i] = p.result
		if b.refs != nil {
			b.refs[i] = Ref(p.bucket & refMask)
		}
		if o.stored && (p.result != Inserted || keepsUsedSlot.On()) {
			h.takeBack(o.mine)
		}
	}
	c, err := ses.run(len(b.results), indices, start, finish)
	b.add(c)
	b.noArena = b.noArena || h.noSlot
	t.sessions.Give(ses, err != nil)
	return err
}

// session returns a session whose machines can compare and store.
func (e *Elements) session(t *table) (*session, error) {
	if s, ok, err := t.sessions.Take(); ok || err != nil {
		return s, err
	}
	s, err := newSession(t)
	if err != nil {
		return nil, err
	}
	for i := range s.probes {
		o := &elementOp{e: e}
		if o.there, err = s.q.Alloc(e.words); err == nil {
			o.here, err = s.q.Alloc(e.words)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.probes[i].match = o
	}
	return s, nil
}
