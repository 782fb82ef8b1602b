//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Request is a call of an engine that a puppet makes: a rank of MPI in a process of its
// own, moved by a test in another one.
type Request struct {
	Call    int // number, for Cancel
	What    string
	Object  int // job, window or queue
	Window  int
	Numbers []int
	Text    string
	Key     string
	Flag    bool
	Posts   []Post // operations that come before
	Values  []int  // operations whose value was taken
	Words   []uint64
}

// Post is an operation on a queue: get, put, swap, add or ship (H).
type Post struct {
	Handle, Window   int
	Kind             byte
	Rank, Off, Count int
	Words            []uint64
}

// Reply is what became of it.
type Reply struct {
	Object    int
	Number    int
	Flag      bool
	NotServed bool
	Words     []uint64
	Stats     rma.Stats
	Fault     *Fault
	Panic     string
}

// Fault is an error on its way between processes.
type Fault struct {
	Text  string
	Rank  *rma.RankError
	Peer  *rma.PeerError
	Ended bool
}

func faultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	f := &Fault{Text: err.Error(), Ended: errors.Is(err, context.Canceled)}
	errors.As(err, &f.Rank)
	errors.As(err, &f.Peer)
	return f
}

func (f *Fault) Error() string { return f.Text }

func (f *Fault) Unwrap() []error {
	var errs []error
	if f.Rank != nil {
		errs = append(errs, f.Rank)
	}
	if f.Peer != nil {
		errs = append(errs, f.Peer)
	}
	if f.Ended {
		errs = append(errs, context.Canceled)
	}
	return errs
}

// puppetQueue is a queue with its operations by the handles of the driver.
type puppetQueue struct {
	*queue
	ops map[int]puppetOp
}

// puppetOp is an operation by its handle here, and the buffer of a get.
type puppetOp struct {
	h   rma.Handle
	buf rma.Buf
}

// Puppet does what the driver sends, each call in a goroutine of its own.
type Puppet struct {
	mu      sync.Mutex
	last    int
	objects map[int]any
	cancels map[int]context.CancelFunc
	served  map[int]*asked // by window
}

// puppet serves the test at the other end of a socket until that hangs up.
func puppet(socket string) error {
	stop, err := Start(context.Background(), Config{})
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "%8d", worldRank()); err != nil {
		return err
	}
	server := rpc.NewServer()
	p := &Puppet{objects: map[int]any{}, cancels: map[int]context.CancelFunc{},
		served: map[int]*asked{}}
	if err := server.Register(p); err != nil {
		return err
	}
	server.ServeConn(conn)
	return stop()
}

func (p *Puppet) keep(object any) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	p.objects[p.last] = object
	return p.last
}

func object[T any](p *Puppet, n int) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects[n].(T)
}

// Do makes a call.
func (p *Puppet) Do(req Request, reply *Reply) error {
	ctx, cancel := context.WithCancel(context.Background()) // jobLimit ends what hangs
	defer cancel()
	p.mu.Lock()
	p.cancels[req.Call] = cancel
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.cancels, req.Call)
		p.mu.Unlock()
		if cause := recover(); cause != nil {
			reply.Panic = fmt.Sprint(cause)
		}
	}()
	var err error
	switch req.What[0] {
	case 'J':
		err = p.doJob(ctx, &req, reply)
	case 'Q':
		err = p.doQueue(ctx, &req, reply)
	case 'W':
		p.doServe(&req, reply)
	default:
		err = p.doOther(ctx, &req, reply)
	}
	reply.Fault = faultOf(err)
	return nil
}

func (p *Puppet) doOther(ctx context.Context, req *Request, reply *Reply) error {
	switch req.What {
	case "cancel":
		p.mu.Lock()
		defer p.mu.Unlock()
		if cancel := p.cancels[req.Object]; cancel != nil {
			cancel()
		}
	case "join":
		job, err := joinAs(ctx, Config{Hidden: req.Flag, Timeout: never},
			overrides{host: req.Text, first: req.Numbers[0], carried: req.Numbers[1] == 1})
		if err == nil {
			reply.Object = p.keep(job)
		}
		return err
	case "free closed":
		mpiState.mu.Lock()
		defer mpiState.mu.Unlock()
		return freeClosed(ctx)
	case "close":
		return object[rma.Window](p, req.Object).Close()
	case "exit":
		os.Exit(req.Numbers[0])
	}
	return nil
}

func (p *Puppet) doJob(ctx context.Context, req *Request, reply *Reply) error {
	job := object[rma.Job](p, req.Object)
	switch req.What {
	case "JWindow":
		w, err := job.NewWindow(ctx, rma.Spec{Name: req.Text, Key: req.Key,
			Words: req.Numbers[0]})
		if err == nil {
			reply.Object, reply.Flag = p.keep(w), w.CPUAtomicsCoherent()
		}
		return err
	case "JBarrier":
		return job.Barrier(ctx)
	case "JQueue":
		q, err := job.NewQueue(req.Numbers[0])
		if err == nil {
			reply.Object = p.keep(&puppetQueue{q.(*queue), map[int]puppetOp{}})
		}
		return err
	case "JFailed":
		reply.Number = len(job.Failed())
	case "JClose":
		return job.Close()
	}
	return nil
}

func (p *Puppet) doQueue(ctx context.Context, req *Request, reply *Reply) error {
	q := object[*puppetQueue](p, req.Object)
	for _, n := range req.Values {
		if _, err := q.Value(q.ops[n].h); err != nil && !errors.Is(err, rma.ErrNotServed) {
			return err
		}
	}
	for _, post := range req.Posts {
		if err := q.post(object[rma.Window](p, post.Window), post); err != nil {
			return err
		}
	}
	n := append(req.Numbers, 0, 0)
	op := q.ops[n[0]]
	switch req.What {
	case "QSubmit":
		return q.Submit()
	case "QDone":
		if reply.Flag = q.Done(op.h); reply.Flag {
			reply.Words, reply.NotServed = q.peek(op)
		}
	case "QWait":
		if err := q.Wait(ctx, op.h); err != nil {
			return err
		}
		reply.Words, reply.NotServed = q.peek(op)
	case "QPeek":
		if !q.Done(op.h) {
			_, err := q.Value(op.h) // which panics
			return err
		}
		reply.Words, reply.NotServed = q.peek(op)
	case "QStats":
		reply.Stats = *q.Stats()
	case "QClose":
		return q.Close()
	}
	return nil
}

// post posts an operation of the driver.
func (q *puppetQueue) post(w rma.Window, p Post) error {
	buf, err := q.Alloc(max(p.Count, 0))
	if err != nil {
		return err
	}
	op := puppetOp{}
	switch p.Kind {
	case 'G':
		op.h, op.buf = q.Get(buf, w, p.Rank, p.Off), buf
	case 'P':
		copy(buf, p.Words)
		op.h = q.Put(buf, w, p.Rank, p.Off)
	case 'S':
		op.h = q.CompareAndSwap(w, p.Rank, p.Off, p.Words[0], p.Words[1])
	case 'A':
		op.h = q.FetchAdd(w, p.Rank, p.Off, p.Words[0])
	case 'H':
		request, err := q.Alloc(len(p.Words))
		if err != nil {
			return err
		}
		copy(request, p.Words)
		op.h, op.buf = q.Ship(request, buf, w, p.Rank), buf
	}
	q.ops[p.Handle] = op
	return nil
}

// peek is what an operation that is done saw and brought; Value later releases it.
func (q *puppetQueue) peek(op puppetOp) (words []uint64, notServed bool) {
	seen, failed := q.Peek(op.h)
	return append([]uint64{seen}, op.buf...), failed
}
