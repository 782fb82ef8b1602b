package set

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
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
	var remote []int
	for i, ref := range refs {
		if !e.arenas.valid(ref) {
			return refError(ref)
		}
		if words := e.arenas.words(ref); words != nil {
			copy(dst[i*size:(i+1)*size], bytesOf(words))
		} else {
			remote = append(remote, i)
		}
	}
	if len(remote) == 0 {
		return nil
	}
	f := fetch{e: e, t: e.t, refs: refs, dst: dst, size: size}
	var err error
	if e.t.line.Worth(len(remote)) {
		err = f.shipped(ctx, remote)
	} else {
		err = f.queued(ctx, remote)
	}
	e.tally.add(counts{rma: f.rma})
	return err
}

// fetch is a batch of elements to be copied: the element of refs[i] to dst, from i*size on.
type fetch struct {
	e    *Elements
	t    *table
	refs []Ref
	dst  []byte
	size int // bytes of an element that are wanted
	rma  rma.Stats
}

// arrived takes element i.
func (f *fetch) arrived(i int, words []uint64) {
	copy(f.dst[i*f.size:(i+1)*f.size], bytesOf(words))
}

// shipped requests the elements with the given indices from the ranks in whose arenas they lie.
func (f *fetch) shipped(ctx context.Context, indices []int) error {
	words := f.e.words
	requests, err := f.t.line.Run(ctx, &ship.Batch{Kind: kindGet, N: len(indices),
		Owner: func(k int) int {
			_, rank, _ := f.e.arenas.locate(f.refs[indices[k]])
			return rank
		},
		Size: func(int) (request, answer int) { return 1, words },
		Pack: func(k int, to []uint64) { to[0] = uint64(f.refs[indices[k]]) },
		Unpack: func(k int, from []uint64) (int, error) {
			if len(from) < words {
				return 0, ship.ErrDisorder
			}
			f.arrived(indices[k], from[:words])
			return words, nil
		},
		Rest: func(rest []int) error {
			left := make([]int, len(rest))
			for i, k := range rest {
				left[i] = indices[k]
			}
			return f.queued(ctx, left)
		},
	})
	f.rma.Add(requests)
	return err
}

// queued gets the elements with the given indices through a queue.
func (f *fetch) queued(ctx context.Context, indices []int) error {
	ses, err := f.e.session(f.t)
	if err != nil {
		return err
	}
	before := *ses.q.Stats()
	ops := make([]fetchOp, min(len(indices), len(ses.probes)))
	err = rma.RunAll(ctx, ses.q, len(ops), func(slot int) rma.Op {
		if len(indices) == 0 {
			return nil
		}
		op := &ops[slot]
		op.f, op.o, op.i = f, ses.probes[slot].match.(*elementOp), indices[0]
		indices = indices[1:]
		return op
	})
	f.rma.Add(ses.q.Stats().Since(before))
	f.t.sessions.Give(ses, err != nil)
	return err
}

// fetchOp gets one element.
type fetchOp struct {
	f *fetch
	o *elementOp
	i int
}

// Step is one step of the protocol.
func (op *fetchOp) Step(q rma.Queue) (rma.Handle, error) {
	o := op.o
	if !o.wait {
		p, rank, off := o.e.arenas.locate(op.f.refs[op.i])
		o.handle, o.wait = q.Get(o.there, p.window, rank, off), true
		return o.handle, nil
	}
	if done, err := o.arrived(q); !done || err != nil {
		return o.handle, err
	}
	op.f.arrived(op.i, o.there)
	return rma.NoHandle, nil
}

// get answers with the elements of the given references.
func (e *Elements) get(t *table, refs, answer []uint64) (words int, err error) {
	f := fetch{e: e, t: t, dst: bytesOf(answer), size: e.words * 8}
	var remote []int
	for i, name := range refs {
		ref := Ref(name)
		if !e.arenas.valid(ref) {
			return 0, refError(ref)
		}
		f.refs = append(f.refs, ref)
		if words := e.arenas.words(ref); words != nil {
			f.arrived(i, words)
		} else {
			remote = append(remote, i)
		}
	}
	if len(remote) > 0 {
		err = f.queued(context.Background(), remote)
	}
	return len(refs) * e.words, err
}

// elementAt is the element in a slot that exists.
func (e *Elements) elementAt(ctx context.Context, ref Ref) ([]uint64, error) {
	if words := e.arenas.words(ref); words != nil {
		return words, nil
	}
	words := make([]uint64, e.words)
	f := fetch{e: e, t: e.t, refs: []Ref{ref}, dst: bytesOf(words), size: e.words * 8}
	return words, f.queued(ctx, []int{0})
}
