package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/rma"
)

const (
	// maxFlights is how many requests a batch has in flight, to all ranks together.
	maxFlights = 8
	// requestWords is how long a request becomes: more save little, and make others wait.
	requestWords = rma.MaxShipWords / 2
	// minAnswerWords is room for the text of an error.
	minAnswerWords = 64
)

// flights are the requests of one batch at a time.
type flights struct {
	q   rma.Carrier
	all [maxFlights]flight
}

// flight is a request in flight.
type flight struct {
	request, answer rma.Buf
	used, room      int // words of them
	operations      []int
	rank            int
	handle          rma.Handle // NoHandle: it is not in flight
}

// Close gives back the queue.
func (f *flights) Close() error { return f.q.Close() }

// flights returns some that nobody uses.
func (l *line) flights() (*flights, error) {
	f, ok, err := l.pool.Take()
	if ok || err != nil {
		return f, err
	}
	q, err := l.job.NewQueue(maxFlights)
	if err != nil {
		return nil, err
	}
	carrier, ok := q.(rma.Carrier)
	if !ok {
		return nil, errors.Join(errors.New("ship: a queue of this engine carries no requests"),
			q.Close())
	}
	f = &flights{q: carrier}
	for i := range f.all {
		one := &f.all[i]
		one.handle = rma.NoHandle
		if one.request, err = q.Alloc(rma.MaxShipWords); err == nil {
			one.answer, err = q.Alloc(rma.MaxShipWords)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// run runs a batch whose operations are partly shipped.
func (l *line) run(ctx context.Context, p *plan, ops Ops) (rma.Stats, error) {
	f, err := l.flights()
	if err != nil {
		return rma.Stats{}, err
	}
	before := *f.q.Stats()
	r := shipping{line: l, f: f, p: p, ops: ops, ctx: ctx}
	broken := r.all()
	requests := f.q.Stats().Since(before)
	l.pool.Give(f, broken)
	return requests, r.err
}

// shipping is a batch that is being shipped.
type shipping struct {
	line *line
	f    *flights
	p    *plan
	ops  Ops
	ctx  context.Context
	turn int // the part that a request was last for
	err  error

	flying int // operations in flight
}

// Paced is Ops of which not too many may be in flight.
type Paced interface {
	Ops
	// AtOnce is how many may be in flight now: 1 at least.
	AtOnce() int
}

// room is how many operations more may be sent now.
func (s *shipping) room() int {
	if p, ok := s.ops.(Paced); ok {
		return p.AtOnce() - s.flying
	}
	return math.MaxInt
}

// all carries the batch out. It reports whether the flights cannot be used again.
func (s *shipping) all() (broken bool) {
	sent, err := s.sendAll()
	if err != nil {
		return true
	}
	s.fail(s.p.local(s.ops))
	for i := 0; sent > 0; i = (i + 1) % maxFlights {
		f := &s.f.all[i]
		if f.handle == rma.NoHandle {
			continue
		}
		if err := s.f.q.Wait(s.ctx, f.handle); err != nil {
			s.fail(err)
			return true
		}
		s.take(f)
		more, err := s.sendAll()
		if err != nil {
			return true
		}
		sent += more - 1
	}
	s.fail(s.p.local(s.ops)) // what owners did not carry out
	return false
}

// sendAll sends as many requests as may be in flight, and returns how many.
func (s *shipping) sendAll() (sent int, err error) {
	for i := range s.f.all {
		if f := &s.f.all[i]; f.handle == rma.NoHandle {
			if !s.send(f) {
				break
			}
			sent++
		}
	}
	if sent > 0 {
		err = s.f.q.Submit()
		s.fail(err)
	}
	return sent, err
}

// fail keeps the first error.
func (s *shipping) fail(err error) { s.err = cmp.Or(s.err, err) }

// send posts the next request, if there is anything left to be sent. Ranks take turns.
func (s *shipping) send(f *flight) bool {
	p := s.p
	for range p.parts {
		if s.room() <= 0 {
			break
		}
		s.turn = (s.turn + 1) % len(p.parts)
		if part := &p.parts[s.turn]; part.next < part.end && s.fill(f, part) {
			s.flying += len(f.operations)
			f.handle = s.f.q.Ship(f.request[:f.used], f.answer[:max(f.room, minAnswerWords)],
				s.line.window, f.rank)
			return true
		}
	}
	return false
}

// fill packs operations of a rank into a request, as many as there is room for. It reports false
// if it finds none that any request has room for.
func (s *shipping) fill(f *flight, of *share) bool {
	p := s.p
	f.rank, f.used, f.room = of.rank, 1, 1
	begin := of.next
	for end := s.room(); of.next < of.end && of.next-begin < end; of.next++ {
		i := p.order[of.next]
		request, answer := s.ops.Size(i)
		if 1+request > rma.MaxShipWords || 1+answer > rma.MaxShipWords {
			if f.used > 1 {
				break
			}
			p.queued = append(p.queued, i)
			begin = of.next + 1
			continue
		}
		if f.used > 1 && (f.used+request > requestWords || f.room+answer > requestWords) {
			break
		}
		s.ops.Pack(i, f.request[f.used:f.used+request])
		f.used += request
		f.room += answer
	}
	f.operations = p.order[begin:of.next]
	f.request[0] = header(s.ops.Kind(), len(f.operations))
	return len(f.operations) > 0
}

// ErrDisorder is the error of an answer that no rank of the same program gives.
var ErrDisorder = errors.New("an answer is in disorder; run the same program on every rank")

// take takes the answer to a request.
func (s *shipping) take(f *flight) {
	words, err := s.f.q.Value(f.handle)
	f.handle = rma.NoHandle
	s.flying -= len(f.operations)
	switch {
	case errors.Is(err, rma.ErrNotServed):
		s.p.queued = append(s.p.queued, f.operations...)
		return
	case err != nil:
		s.fail(err)
		return
	}
	answer, err := check(f.rank, f.answer[:words])
	if err != nil {
		s.fail(err)
		return
	}
	for _, i := range f.operations {
		taken, again, err := 0, false, ErrDisorder
		if len(answer) > 0 {
			taken, again, err = s.ops.Unpack(f.rank, i, answer)
		}
		if err != nil {
			s.fail(fmt.Errorf("rank %d: %w", f.rank, err))
			return
		}
		if again {
			s.p.queued = append(s.p.queued, i)
		}
		answer = answer[taken:]
	}
	if len(answer) > 0 {
		s.fail(fmt.Errorf("rank %d: %w", f.rank, ErrDisorder))
	}
}
