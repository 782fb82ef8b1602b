//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"sync/atomic"

	"net/rpc"

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
		Numbers: []int{spec.Words}})
	if err != nil {
		return nil, err
	}
	return &remoteWindow{j, reply.Object, spec.Words, reply.Caps}, nil
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
	return &remoteQueue{job: j, object: reply.Object, gets: map[rma.Handle]rma.Buf{}}, nil
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
	job    *remoteJob
	object int
	words  int
	caps   rma.Caps
}

func (w *remoteWindow) Rank() int          { return w.job.rank }
func (w *remoteWindow) Size() int          { return w.job.size }
func (w *remoteWindow) Len() int           { return w.words }
func (w *remoteWindow) Caps() rma.Caps     { return w.caps }
func (w *remoteWindow) Words(int) []uint64 { return nil }
func (w *remoteWindow) Close() error {
	_, err := w.job.tell(Request{What: "close", Object: w.object})
	return err
}

// remoteQueue is a puppet's queue.
type remoteQueue struct {
	job    *remoteJob
	object int
	posts  int
	gets   map[rma.Handle]rma.Buf
	stats  rma.Stats // what is added to the puppet's
	told   rma.Stats
	closed bool
}

func (q *remoteQueue) tell(req Request) (*Reply, error) {
	req.Object = q.object
	return q.job.tell(req)
}

func (q *remoteQueue) post(req Request, w rma.Window) rma.Handle {
	req.Window = w.(*remoteWindow).object
	reply, err := q.tell(req)
	if err != nil {
		panic(err)
	}
	q.posts++
	return rma.Handle(reply.Number)
}

func (q *remoteQueue) Alloc(words int) (rma.Buf, error) { return make(rma.Buf, words), nil }

func (q *remoteQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	h := q.post(Request{What: "QGet", Numbers: []int{rank, off, len(dst)}}, w)
	q.gets[h] = dst
	return h
}

func (q *remoteQueue) Put(src rma.Buf, w rma.Window, rank, off int) rma.Handle {
	return q.post(Request{What: "QPut", Numbers: []int{rank, off, len(src)}, Words: src}, w)
}

func (q *remoteQueue) CompareAndSwap(w rma.Window, rank, off int,
	old, newWord uint64) rma.Handle {
	return q.post(Request{What: "QSwap", Numbers: []int{rank, off},
		Words: []uint64{old, newWord}}, w)
}

func (q *remoteQueue) FetchAdd(w rma.Window, rank, off int, delta uint64) rma.Handle {
	return q.post(Request{What: "QAdd", Numbers: []int{rank, off}, Words: []uint64{delta}}, w)
}

func (q *remoteQueue) Submit() error {
	if q.posts == 0 {
		return nil
	}
	q.posts = 0
	_, err := q.tell(Request{What: "QSubmit"})
	return err
}

func (q *remoteQueue) Done(h rma.Handle) bool {
	reply, err := q.tell(Request{What: "QDone", Numbers: []int{int(h)}})
	return err == nil && reply.Flag
}

func (q *remoteQueue) Wait(ctx context.Context, h rma.Handle) error {
	_, err := q.job.do(ctx, Request{What: "QWait", Object: q.object, Numbers: []int{int(h)}})
	return err
}

func (q *remoteQueue) Value(h rma.Handle) (uint64, error) {
	reply, err := q.tell(Request{What: "QValue", Numbers: []int{int(h)}})
	if err != nil {
		return 0, err
	}
	copy(q.gets[h], reply.Words[1:])
	delete(q.gets, h)
	return reply.Words[0], nil
}

func (q *remoteQueue) Flush(ctx context.Context, w rma.Window, rank int) error {
	_, err := q.job.do(ctx, Request{What: "QFlush", Object: q.object,
		Window: w.(*remoteWindow).object, Numbers: []int{rank}})
	return err
}

// Stats adds what the puppet has counted since the last look.
func (q *remoteQueue) Stats() *rma.Stats {
	if q.closed {
		return &q.stats
	}
	if reply, err := q.tell(Request{What: "QStats"}); err == nil {
		news := reply.Stats
		news.Gets -= q.told.Gets
		news.Puts -= q.told.Puts
		news.CompareAndSwaps -= q.told.CompareAndSwaps
		news.FetchAdds -= q.told.FetchAdds
		news.Bytes -= q.told.Bytes
		q.stats.Add(news)
		q.told = reply.Stats
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
