package ship

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// Batch is operations 0 to N-1 of one kind.
type Batch struct {
	Kind uint32
	N    int
	// Owner is the rank on whose memory an operation works first of all.
	Owner func(i int) int
	// Size is how many words an operation takes in a request, and its answer at most. An operation
	// that no request has room for is left to Rest.
	Size func(i int) (request, answer int)
	// Pack writes an operation to the words that Size gave it.
	Pack func(i int, to []uint64)
	// Unpack takes an operation's answer, of a word or more, off the front and returns its words.
	// An error, that of an answer in disorder, stands for those that come after it as well.
	Unpack func(i int, from []uint64) (words int, err error)
	// Rest carries out the operations that are not shipped, while others are in flight. It is
	// called when there are any, and a second time for those of ranks that do not answer.
	Rest func(operations []int) error
}

const (
	// maxInFlight is how many requests a batch has in flight, to all ranks together.
	maxInFlight = 8
	// maxRequestWords is how long a request becomes: longer ones save little and delay others.
	maxRequestWords = rma.MaxShipWords / 2
)

// flight is a request and its answer.
type flight struct {
	request, answer rma.Buf
	used, room      int // words of them
	operations      []int
	rank            int
	handle          rma.Handle // NoHandle: it is not in flight
}

// session is what one batch needs.
type session struct {
	q       rma.Carrier
	flights [maxInFlight]flight
	order   []int // operations by rank
	ends    []int // by rank: the end of its operations in order
	next    []int // by rank: the first of them that was not sent
	rest    []int
	returns uint64 // rma.Returns when it was made: older queues do not reach new memory
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

func (l *Line) session() (*session, error) {
	now := rma.Returns(l.job)
	s, ok, err := l.pool.TakeSince(now, func(s *session) uint64 { return s.returns })
	if ok || err != nil {
		return s, err
	}
	q, err := l.job.NewQueue(maxInFlight)
	if err != nil {
		return nil, err
	}
	carrier, ok := q.(rma.Carrier)
	if !ok {
		return nil, errors.Join(errors.New("ship: a queue of this engine carries no requests"),
			q.Close())
	}
	s = &session{q: carrier, returns: now, ends: make([]int, l.job.Size()),
		next: make([]int, l.job.Size())}
	for i := range s.flights {
		f := &s.flights[i]
		f.handle = rma.NoHandle
		if f.request, err = q.Alloc(rma.MaxShipWords); err == nil {
			f.answer, err = q.Alloc(rma.MaxShipWords)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Run carries out a batch. Where ranks are lost or answer with an error, the rest of the batch is
// done all the same, and the error is the first one.
func (l *Line) Run(ctx context.Context, b *Batch) (rma.Stats, error) {
	s, err := l.session()
	if err != nil {
		return rma.Stats{}, err
	}
	before := *s.q.Stats()
	s.sort(l, b)
	r := run{line: l, s: s, b: b, ctx: ctx}
	broken := r.all()
	stats := s.q.Stats().Since(before)
	l.pool.Give(s, broken || s.returns != rma.Returns(l.job))
	return stats, r.err
}

// sort has the operations ordered by rank; those that are not to be shipped go to rest.
func (s *session) sort(l *Line, b *Batch) {
	if cap(s.order) < b.N {
		s.order = make([]int, b.N)
	}
	s.order, s.rest = s.order[:b.N], s.rest[:0]
	clear(s.ends)
	for i := range b.N {
		s.ends[b.Owner(i)]++
	}
	at := 0
	for rank, n := range s.ends {
		s.next[rank] = at
		at += n
		s.ends[rank] = at
	}
	for i := range b.N {
		rank := b.Owner(i)
		s.order[s.next[rank]] = i
		s.next[rank]++
	}
	begin := 0
	for rank, end := range s.ends {
		s.next[rank] = begin
		if l.addressable[rank] || end-begin < l.minBatch {
			s.rest = append(s.rest, s.order[begin:end]...)
			s.next[rank] = end
		}
		begin = end
	}
}

// run is a batch under way.
type run struct {
	line *Line
	s    *session
	b    *Batch
	ctx  context.Context
	turn int // the rank that a request was last for
	err  error
}

// all carries the batch out. It reports whether the session cannot be used again.
func (r *run) all() (broken bool) {
	s := r.s
	sent := 0
	for ; sent < len(s.flights) && r.send(&s.flights[sent]); sent++ {
	}
	if err := s.q.Submit(); err != nil {
		r.fail(err)
		return true
	}
	r.doRest()
	for i := 0; sent > 0; i = (i + 1) % len(s.flights) {
		f := &s.flights[i]
		if f.handle == rma.NoHandle {
			continue
		}
		if err := s.q.Wait(r.ctx, f.handle); err != nil {
			r.fail(err)
			return true
		}
		r.finish(f)
		sent--
		if r.send(f) {
			sent++
			if err := s.q.Submit(); err != nil {
				r.fail(err)
				return true
			}
		}
	}
	r.doRest()
	return false
}

// doRest carries out what is not shipped.
func (r *run) doRest() {
	if len(r.s.rest) > 0 {
		r.fail(r.b.Rest(r.s.rest))
		r.s.rest = r.s.rest[:0]
	}
}

// fail keeps the first error.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// send posts the next request, if there is anything left to be sent. Ranks take turns.
func (r *run) send(f *flight) bool {
	s := r.s
	for range s.ends {
		r.turn = (r.turn + 1) % len(s.ends)
		if s.next[r.turn] < s.ends[r.turn] && r.fill(f, r.turn) {
			r.line.post(s, f)
			return true
		}
	}
	return false
}

// fill packs operations of a rank into a request, as many as there is room for. It reports false
// if it finds none that any request has room for.
func (r *run) fill(f *flight, rank int) bool {
	s, b := r.s, r.b
	f.rank, f.used, f.room = rank, 1, 1
	first := s.next[rank]
	for ; s.next[rank] < s.ends[rank]; s.next[rank]++ {
		i := s.order[s.next[rank]]
		request, answer := b.Size(i)
		if 1+request > rma.MaxShipWords || 1+answer > rma.MaxShipWords {
			if f.used > 1 {
				break
			}
			s.rest = append(s.rest, i)
			first = s.next[rank] + 1
			continue
		}
		if f.used > 1 && (f.used+request > maxRequestWords || f.room+answer > maxRequestWords) {
			break
		}
		b.Pack(i, f.request[f.used:f.used+request])
		f.used += request
		f.room += answer
	}
	f.operations = s.order[first:s.next[rank]]
	f.request[0] = header(b.Kind, len(f.operations))
	return len(f.operations) > 0
}

// post posts a request.
func (l *Line) post(s *session, f *flight) {
	f.handle = s.q.Ship(f.request[:f.used], f.answer[:max(f.room, minAnswerWords)], l.window,
		f.rank)
}

// minAnswerWords is room for the text of an error.
const minAnswerWords = 64

// ErrDisorder is the error of an answer that no rank of the same program gives.
var ErrDisorder = errors.New("an answer has come in disorder; run the same program on every rank")

// finish takes an answer.
func (r *run) finish(f *flight) {
	words, err := r.s.q.Value(f.handle)
	f.handle = rma.NoHandle
	switch {
	case errors.Is(err, rma.ErrNotServed):
		r.s.rest = append(r.s.rest, f.operations...)
		return
	case err != nil:
		r.fail(err)
		return
	}
	answer, err := check(f.rank, f.answer[:words])
	if err != nil {
		r.fail(err)
		return
	}
	for _, i := range f.operations {
		taken, err := 0, ErrDisorder
		if len(answer) > 0 {
			taken, err = r.b.Unpack(i, answer)
		}
		if err != nil {
			r.fail(fmt.Errorf("rank %d: %w", f.rank, err))
			return
		}
		answer = answer[taken:]
	}
	if len(answer) > 0 {
		r.fail(fmt.Errorf("rank %d: %w", f.rank, ErrDisorder))
	}
}
