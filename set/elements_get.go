package set

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Get copies the element with the given reference to dst, which has ElementBytes bytes.
func (e *Elements) Get(ctx context.Context, ref Ref, dst []byte) error {
	if !e.t.arenas.valid(ref) {
		return refError(ref)
	}
	if len(dst) != e.t.size {
		return fmt.Errorf("set: dst has %s, an element has %d",
			plural.Of(len(dst), "byte"), e.t.size)
	}
	words, err := e.t.elementAt(ctx, ref)
	copy(dst, bytesOf(words))
	return err
}

func refError(ref Ref) error {
	return fmt.Errorf("set: no element has the reference %#x", uint64(ref))
}

// GetBatch is Get for many references: it copies the element of refs[i] to dst from
// i*ElementBytes on.
func (e *Elements) GetBatch(ctx context.Context, refs []Ref, dst []byte) error {
	size := e.t.size
	if len(dst) != len(refs)*size {
		return fmt.Errorf("set: dst has %s for %s; an element has %d",
			plural.Of(len(dst), "byte"), plural.Of(len(refs), "element"), size)
	}
	f := fetch{t: e.t, ctx: ctx, dst: dst, size: size}
	for i, ref := range refs {
		if err := f.take(i, ref); err != nil {
			return err
		}
	}
	if len(f.refs) == 0 {
		return nil
	}
	requests, err := e.t.batches.Run(ctx, len(f.refs), &f)
	f.queues.Add(requests)
	e.t.tally.add(&counts{queues: f.queues})
	return err
}

// fetch is a batch of elements to be copied from memory that this process cannot address, a
// core.Ops: the element of refs[k] to dst, from to[k]*size on.
type fetch struct {
	t      *table
	ctx    context.Context
	refs   []Ref
	to     []int
	dst    []byte
	size   int // bytes of an element that are wanted
	queues rma.Stats
}

// take copies element i at once if this process can address it, and else adds it to the batch.
func (f *fetch) take(i int, ref Ref) error {
	if !f.t.arenas.valid(ref) {
		return refError(ref)
	}
	if words := f.t.arenas.words(ref); words != nil {
		copy(f.dst[i*f.size:(i+1)*f.size], bytesOf(words))
		return nil
	}
	f.refs, f.to = append(f.refs, ref), append(f.to, i)
	return nil
}

// arrived takes the element of operation k.
func (f *fetch) arrived(k int, words []uint64) {
	i := f.to[k]
	copy(f.dst[i*f.size:(i+1)*f.size], bytesOf(words))
}

// Owners gives the ranks in whose arenas the elements lie.
func (f *fetch) Owners(owners []int32) {
	for k := range owners {
		_, rank, _ := f.t.arenas.locate(f.refs[k])
		owners[k] = int32(rank)
	}
}

// Direct leaves all: take has copied what is directly addressable.
func (f *fetch) Direct(at, left []int) ([]int, error) {
	for k := 0; at == nil && k < len(f.refs); k++ {
		left = append(left, k)
	}
	return append(left, at...), nil
}

// Kind, Size, Pack and Unpack are those of a request; see ship.go.
func (f *fetch) Kind() uint32 { return kindGet }

func (f *fetch) Size(int) (request, answer int) { return 1, f.t.width }

func (f *fetch) Pack(k int, to []uint64) { to[0] = uint64(f.refs[k]) }

func (f *fetch) Unpack(_, k int, from []uint64) (words int, again bool, err error) {
	if words = f.t.width; len(from) < words {
		return 0, false, core.ErrDisorder
	}
	f.arrived(k, from[:words])
	return words, false, nil
}

// Queued gets elements through a queue.
func (f *fetch) Queued(at []int) error {
	ses, err := f.t.session()
	if err != nil {
		return err
	}
	before := *ses.q.Stats()
	err = ses.slots.Drive(f.ctx, ses.q, len(f.refs), at, len(ses.probes), &fetchMachines{f, ses})
	f.queues.Add(ses.q.Stats().Since(before))
	f.t.sessions.Give(ses, err != nil)
	return err
}

// fetchMachines are the machines of a session as they get elements.
type fetchMachines struct {
	f   *fetch
	ses *session
}

func (m *fetchMachines) Start(machine, k int) rma.Op {
	p := &m.ses.probes[machine]
	p.mine, p.phase = m.f.refs[k], phaseStart
	return (*fetchOp)(p)
}

func (m *fetchMachines) Finish(machine, k int) { m.f.arrived(k, m.ses.probes[machine].there) }

// fetchOp is a probe as it gets the element in slot mine.
type fetchOp probe

// Step is one step of the protocol.
func (p *fetchOp) Step(q rma.Queue) (rma.Handle, error) {
	if p.phase == phaseStart {
		part, rank, off := p.t.arenas.locate(p.mine)
		p.handle, p.phase = q.Get(p.there, part.window, rank, off), phaseCompare
		return p.handle, nil
	}
	if !q.Done(p.handle) {
		return p.handle, nil
	}
	_, err := q.Value(p.handle)
	return rma.NoHandle, err
}

// get answers with the elements of the given references.
func (t *table) get(refs, answer []uint64) (words int, err error) {
	f := fetch{t: t, ctx: context.Background(), dst: bytesOf(answer), size: t.width * 8}
	for i, ref := range refs {
		if err := f.take(i, Ref(ref)); err != nil {
			return 0, err
		}
	}
	if len(f.refs) > 0 {
		err = f.Queued(nil)
	}
	return len(refs) * t.width, err
}

// elementAt is the element in a slot that exists.
func (t *table) elementAt(ctx context.Context, ref Ref) ([]uint64, error) {
	if words := t.arenas.words(ref); words != nil {
		return words, nil
	}
	words := make([]uint64, t.width)
	f := fetch{t: t, ctx: ctx, refs: []Ref{ref}, to: []int{0}, dst: bytesOf(words),
		size: t.width * 8}
	return words, f.Queued(nil)
}
