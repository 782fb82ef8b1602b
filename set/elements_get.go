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
	if !e.arenas.valid(ref) {
		return refError(ref)
	}
	if len(dst) != e.cfg.ElementBytes {
		return fmt.Errorf("set: dst has %s, an element has %d",
			plural.Of(len(dst), "byte"), e.cfg.ElementBytes)
	}
	words, err := e.elementAt(ctx, ref)
	copy(dst, bytesOf(words))
	return err
}

func refError(ref Ref) error {
	return fmt.Errorf("set: no element has the reference %#x", uint64(ref))
}

// GetBatch is Get for many references: it copies the element of refs[i] to dst from
// i*ElementBytes on.
func (e *Elements) GetBatch(ctx context.Context, refs []Ref, dst []byte) error {
	size := e.cfg.ElementBytes
	if len(dst) != len(refs)*size {
		return fmt.Errorf("set: dst has %s for %s; an element has %d",
			plural.Of(len(dst), "byte"), plural.Of(len(refs), "element"), size)
	}
	f := fetch{e: e, t: e.t, ctx: ctx, refs: refs, dst: dst, size: size}
	remote, err := f.Direct(nil, nil)
	if err != nil || len(remote) == 0 {
		return err
	}
	if len(remote) < len(refs) {
		f.only = remote
	}
	requests, err := e.t.batches.Run(ctx, len(remote), &f)
	f.queues.Add(requests)
	e.tally.add(counts{sums: sums{queues: f.queues}})
	return err
}

// fetch is a batch of elements to be copied, a core.Ops: the element of refs[i] to dst, from i*size
// on. Its operations are all of them, or those in only.
type fetch struct {
	e      *Elements
	t      *table
	ctx    context.Context
	refs   []Ref
	only   []int
	dst    []byte
	size   int // bytes of an element that are wanted
	queues rma.Stats
}

// number is the reference of operation k.
func (f *fetch) number(k int) int {
	if f.only != nil {
		return f.only[k]
	}
	return k
}

// arrived takes the element of operation k.
func (f *fetch) arrived(k int, words []uint64) {
	i := f.number(k)
	copy(f.dst[i*f.size:(i+1)*f.size], bytesOf(words))
}

// Owners gives the ranks in whose arenas the elements lie.
func (f *fetch) Owners(owners []int32) {
	for k := range owners {
		_, rank, _ := f.e.arenas.locate(f.refs[f.number(k)])
		owners[k] = int32(rank)
	}
}

// Direct copies elements in memory that this process can address.
func (f *fetch) Direct(at, left []int) ([]int, error) {
	n := len(at)
	if at == nil {
		n = len(f.refs)
	}
	for k := range n {
		if at != nil {
			k = at[k]
		}
		ref := f.refs[f.number(k)]
		if !f.e.arenas.valid(ref) {
			return nil, refError(ref)
		}
		if words := f.e.arenas.words(ref); words != nil {
			f.arrived(k, words)
		} else {
			left = append(left, k)
		}
	}
	return left, nil
}

// Kind, Size, Pack and Unpack are those of a request; see ship.go.
func (f *fetch) Kind() uint32 { return kindGet }

func (f *fetch) Size(int) (request, answer int) { return 1, f.e.words }

func (f *fetch) Pack(k int, to []uint64) { to[0] = uint64(f.refs[f.number(k)]) }

func (f *fetch) Unpack(_, k int, from []uint64) (words int, again bool, err error) {
	if words = f.e.words; len(from) < words {
		return 0, false, core.ErrDisorder
	}
	f.arrived(k, from[:words])
	return words, false, nil
}

// Queued gets elements through a queue.
func (f *fetch) Queued(at []int) error {
	ses, err := f.e.session(f.t)
	if err != nil {
		return err
	}
	before := *ses.q.Stats()
	n := len(f.refs)
	switch {
	case at != nil:
		n = len(at)
	case f.only != nil:
		n = len(f.only)
	}
	m := fetchMachines{f: f, ses: ses, ops: make([]fetchOp, min(n, len(ses.probes)))}
	err = ses.slots.Drive(f.ctx, ses.q, n, at, len(m.ops), &m)
	f.queues.Add(ses.q.Stats().Since(before))
	f.t.sessions.Give(ses, err != nil)
	return err
}

// fetchMachines are the machines of a session that get elements.
type fetchMachines struct {
	f   *fetch
	ses *session
	ops []fetchOp
}

func (m *fetchMachines) Start(machine, k int) rma.Op {
	m.ops[machine] = fetchOp{m.f, m.ses.probes[machine].match.(*elementOp), k}
	return &m.ops[machine]
}

func (m *fetchMachines) Finish(int, int) {}

// fetchOp gets the element of operation k.
type fetchOp struct {
	f *fetch
	o *elementOp
	k int
}

// Step is one step of the protocol.
func (op *fetchOp) Step(q rma.Queue) (rma.Handle, error) {
	o := op.o
	if !o.wait {
		p, rank, off := o.e.arenas.locate(op.f.refs[op.f.number(op.k)])
		o.handle, o.wait = q.Get(o.there, p.window, rank, off), true
		return o.handle, nil
	}
	if done, err := o.arrived(q); !done || err != nil {
		return o.handle, err
	}
	op.f.arrived(op.k, o.there)
	return rma.NoHandle, nil
}

// get answers with the elements of the given references.
func (e *Elements) get(t *table, refs, answer []uint64) (words int, err error) {
	f := fetch{e: e, t: t, ctx: context.Background(), dst: bytesOf(answer), size: e.words * 8}
	for _, ref := range refs {
		f.refs = append(f.refs, Ref(ref))
	}
	remote, err := f.Direct(nil, nil)
	if err == nil && len(remote) > 0 {
		err = f.Queued(remote)
	}
	return len(refs) * e.words, err
}

// elementAt is the element in a slot that exists.
func (e *Elements) elementAt(ctx context.Context, ref Ref) ([]uint64, error) {
	if words := e.arenas.words(ref); words != nil {
		return words, nil
	}
	words := make([]uint64, e.words)
	f := fetch{e: e, t: e.t, ctx: ctx, refs: []Ref{ref}, dst: bytesOf(words), size: e.words * 8}
	return words, f.Queued(nil)
}
