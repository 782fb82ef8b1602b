//go:build mpi && cgo

package mpi

import (
	"github.com/farhash/farhash/rma"
)

// asked are the requests that a puppet has for the handler of its driver, one at a time.
type asked struct {
	requests chan []uint64 // the sender's rank, the room for the answer, and the request
	answers  chan []uint64
	end      chan struct{}
}

// doServe serves a window by the handler of the driver.
func (p *Puppet) doServe(req *Request, reply *Reply) {
	w := object[rma.Server](p, req.Object)
	p.mu.Lock()
	a := p.served[req.Object]
	if req.What == "WServe" {
		a = &asked{make(chan []uint64), make(chan []uint64), make(chan struct{})}
		p.served[req.Object] = a
	}
	p.mu.Unlock()
	switch req.What {
	case "WServe":
		w.Serve(func(from int, request, answer []uint64) int {
			a.requests <- append([]uint64{uint64(from), uint64(len(answer))}, request...)
			return copy(answer, <-a.answers)
		})
	case "WEnd":
		w.Serve(nil)
		if a != nil {
			close(a.end)
		}
	case "WNext":
		select {
		case reply.Words = <-a.requests:
		case <-a.end:
		}
	case "WAnswer":
		a.answers <- req.Words
	}
}

var (
	_ rma.Server  = (*remoteWindow)(nil)
	_ rma.Carrier = (*remoteQueue)(nil)
)

// Serve has the puppet pass on its requests to handler.
func (w *remoteWindow) Serve(handler rma.Handler) {
	tell := func(what string, words []uint64) (*Reply, error) {
		return w.job.tell(Request{What: what, Object: w.object, Words: words})
	}
	what := "WServe"
	if handler == nil {
		what = "WEnd"
	}
	if _, err := tell(what, nil); err != nil {
		panic(err)
	}
	if handler == nil {
		return
	}
	go func() {
		for {
			next, err := tell("WNext", nil)
			if err != nil || next.Words == nil {
				return
			}
			answer := make([]uint64, next.Words[1])
			n := handler(int(next.Words[0]), next.Words[2:], answer)
			if _, err := tell("WAnswer", answer[:n]); err != nil {
				return
			}
		}
	}()
}

func (q *remoteQueue) Ship(request, answer rma.Buf, w rma.Window, rank int) rma.Handle {
	return q.post(w, Post{Kind: 'H', Rank: rank, Count: len(answer),
		Words: append([]uint64{}, request...)}, answer)
}
