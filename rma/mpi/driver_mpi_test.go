//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"net/rpc"
	"slices"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// driver moves one puppet.
type driver struct {
	client *rpc.Client
	calls  *atomic.Int64
}

// do has the puppet make a call; a panic there is one here.
func (d *driver) do(ctx context.Context, req Request) (*Reply, error) {
	req.Call = int(d.calls.Add(1))
	var reply Reply
	call := d.client.Go("Puppet.Do", req, &reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
	case <-ctx.Done():
		var none Reply
		cancel := Request{What: "cancel", Object: req.Call}
		for asked := true; asked; { // the call may not have begun
			_ = d.client.Call("Puppet.Do", cancel, &none)
			select {
			case <-call.Done:
				asked = false
			default:
			}
		}
	}
	if call.Error != nil {
		return nil, call.Error
	}
	if reply.Panic != "" {
		panic(reply.Panic)
	}
	if reply.Fault != nil {
		return &reply, reply.Fault
	}
	return &reply, nil
}

// tell is do for calls without a context.
func (d *driver) tell(req Request) (*Reply, error) { return d.do(context.Background(), req) }

// remoteJob is a puppet's job.
type remoteJob struct {
	*driver
	object, rank, size int
}

func (j *remoteJob) Rank() int { return j.rank }
func (j *remoteJob) Size() int { return j.size }

func (j *remoteJob) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	reply, err := j.do(ctx, Request{What: "JWindow", Object: j.object, Text: spec.Name,
		Key: spec.Key, Numbers: []int{spec.Words}})
	if err != nil {
		return nil, err
	}
	return &remoteWindow{job: j, object: reply.Object, words: spec.Words,
		coherent: reply.Flag}, nil
}

func (j *remoteJob) Barrier(ctx context.Context) error {
	_, err := j.do(ctx, Request{What: "JBarrier", Object: j.object})
	return err
}

func (j *remoteJob) NewQueue(depth int) (rma.Queue, error) {
	reply, err := j.tell(Request{What: "JQueue", Object: j.object, Numbers: []int{depth}})
	if err != nil {
		return nil, err
	}
	return &remoteQueue{job: j, object: reply.Object, depth: depth,
		open: map[rma.Handle]*remoteOp{}}, nil
}

func (j *remoteJob) Failed() []int {
	reply, err := j.tell(Request{What: "JFailed", Object: j.object})
	if err != nil {
		return []int{-1}
	}
	return make([]int, reply.Number)
}

func (j *remoteJob) Close() error {
	_, err := j.tell(Request{What: "JClose", Object: j.object})
	return err
}

// remoteWindow is a puppet's window. Its words are out of reach.
type remoteWindow struct {
	job      *remoteJob
	object   int
	words    int
	coherent bool
	closed   bool
}

func (w *remoteWindow) Rank() int                { return w.job.rank }
func (w *remoteWindow) Size() int                { return w.job.size }
func (w *remoteWindow) Len() int                 { return w.words }
func (w *remoteWindow) CPUAtomicsCoherent() bool { return w.coherent }
func (w *remoteWindow) Words(int) []uint64       { return nil }
func (w *remoteWindow) Close() error {
	w.closed = true
	_, err := w.job.tell(Request{What: "close", Object: w.object})
	return err
}

// remoteQueue is a puppet's queue. To save calls, operations that are in order go with the
// next call, and the end of one brings its value along. Handles are numbers of this queue.
type remoteQueue struct {
	job     *remoteJob
	object  int
	depth   int
	last    rma.Handle
	posts   []Post
	posted  bool // something is to be submitted
	open    map[rma.Handle]*remoteOp
	values  []int     // taken here and not yet there
	stats   rma.Stats // what is added to the puppet's
	counted rma.Stats
	closed  bool
}

// remoteOp is an operation whose value was not taken.
type remoteOp struct {
	got       rma.Buf  // where its words go
	done      []uint64 // what it saw and brought, if it is done
	notServed bool
}

func (q *remoteQueue) do(ctx context.Context, req Request) (*Reply, error) {
	req.Object, req.Posts, req.Values = q.object, q.posts, q.values
	q.posts, q.values = nil, nil
	reply, err := q.job.do(ctx, req)
	if err == nil && req.What[1] != 'C' && len(reply.Words) > 0 && len(req.Numbers) > 0 {
		if op := q.open[rma.Handle(req.Numbers[0])]; op != nil {
			op.done, op.notServed = reply.Words, reply.NotServed
		}
	}
	return reply, err
}

func (q *remoteQueue) tell(req Request) (*Reply, error) { return q.do(context.Background(), req) }

// post keeps an operation for later, unless the engine may refuse it.
func (q *remoteQueue) post(w rma.Window, p Post, got rma.Buf) rma.Handle {
	window := w.(*remoteWindow)
	q.last++
	p.Handle, p.Window = int(q.last), window.object
	good := p.Rank >= 0 && p.Rank < window.Size() && p.Off >= 0 && p.Count > 0 &&
		p.Count <= window.words-p.Off && !window.closed && len(q.open) < q.depth
	if p.Kind == 'H' {
		good = p.Rank >= 0 && p.Rank < window.Size() && len(p.Words) > 0 &&
			max(p.Count, len(p.Words)) <= rma.MaxShipWords
	}
	q.posts, q.posted = append(q.posts, p), true
	if !good {
		if _, err := q.tell(Request{What: "QNothing"}); err != nil {
			panic(err)
		}
	}
	q.open[q.last] = &remoteOp{got: got}
	return q.last
}

func (q *remoteQueue) Alloc(words int) (rma.Buf, error) { return make(rma.Buf, words), nil }

func (q *remoteQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.post(w, Post{Kind: 'G', Rank: rank, Off: off, Count: len(dst)}, dst)
}

func (q *remoteQueue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.post(w, Post{Kind: 'P', Rank: rank, Off: off, Count: len(src),
		Words: slices.Clone(src)}, nil)
}

func (q *remoteQueue) CompareAndSwap(w rma.Window, rank, off int,
	old, newWord uint64) rma.Handle {
	return q.post(w, Post{Kind: 'S', Rank: rank, Off: off, Count: 1,
		Words: []uint64{old, newWord}}, nil)
}

func (q *remoteQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	return q.post(w, Post{Kind: 'A', Rank: rank, Off: off, Count: 1,
		Words: []uint64{delta}}, nil)
}

func (q *remoteQueue) Submit() error {
	if !q.posted {
		return nil
	}
	q.posted = false
	_, err := q.tell(Request{What: "QSubmit"})
	return err
}

func (q *remoteQueue) Done(h rma.Handle) bool {
	if op := q.open[h]; op != nil && op.done != nil {
		return true
	}
	reply, err := q.tell(Request{What: "QDone", Numbers: []int{int(h)}})
	return err == nil && reply.Flag
}

func (q *remoteQueue) Wait(ctx context.Context, h rma.Handle) error {
	_, err := q.do(ctx, Request{What: "QWait", Numbers: []int{int(h)}})
	return err
}

func (q *remoteQueue) Value(h rma.Handle) (uint64, error) {
	op := q.open[h]
	if op == nil || op.done == nil {
		if _, err := q.tell(Request{What: "QPeek", Numbers: []int{int(h)}}); err != nil {
			return 0, err
		}
		op = q.open[h]
	}
	q.values = append(q.values, int(h))
	delete(q.open, h)
	if op.notServed {
		return 0, rma.ErrNotServed
	}
	copy(op.got, op.done[1:])
	return op.done[0], nil
}

// Stats adds what the puppet has counted since the last call.
func (q *remoteQueue) Stats() *rma.Stats {
	if q.closed {
		return &q.stats
	}
	if reply, err := q.tell(Request{What: "QStats"}); err == nil {
		news := reply.Stats
		news.Gets -= q.counted.Gets
		news.Puts -= q.counted.Puts
		news.CompareAndSwaps -= q.counted.CompareAndSwaps
		news.FetchAdds -= q.counted.FetchAdds
		news.Ships -= q.counted.Ships
		news.Bytes -= q.counted.Bytes
		q.stats.Add(news)
		q.counted = reply.Stats
	}
	return &q.stats
}

func (q *remoteQueue) Close() error {
	if q.closed {
		return nil
	}
	q.Stats()
	q.closed = true
	_, err := q.tell(Request{What: "QClose"})
	return errors.Join(err)
}
