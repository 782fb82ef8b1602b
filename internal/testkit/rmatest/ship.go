package rmatest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
)

// responder answers requests: with the request backwards, and the sender's rank after it. It adds
// the first word to word 0 of its own segment, by a queue.
type responder struct {
	w      rma.Window
	q      rma.Queue
	inside atomic.Int32 // handlers under way
	err    error
}

func (o *responder) handle(from int, request, answer []uint64) int {
	if o.inside.Add(1) != 1 {
		o.err = errors.New("two handlers of a rank run at the same time")
	}
	defer o.inside.Add(-1)
	h := o.q.FetchAdd(o.w, o.w.Rank(), 0, request[0])
	if err := o.q.Submit(); err == nil {
		for !o.q.Done(h) {
			continue
		}
		_, o.err = o.q.Value(h)
	}
	for i, word := range request {
		answer[len(request)-1-i] = word
	}
	answer[len(request)] = uint64(from)
	return len(request) + 1
}

// requests has every rank ship requests of many sizes to all ranks, with several on their way.
// Engines that carry none have nothing to show.
func requests(r *rank) error {
	server, serves := r.w.(rma.Server)
	if !serves {
		return nil
	}
	q, carries := r.q.(rma.Carrier)
	if !carries {
		return errors.New("a window answers requests, and queues carry none")
	}
	if err := notServed(r, q); err != nil {
		return err
	}
	own, err := r.job.NewQueue(1)
	if err != nil {
		return err
	}
	o := &responder{w: r.w, q: own}
	server.Serve(o.handle)
	if err := r.barrier(); err != nil {
		return err
	}
	sum := uint64(0)
	for _, words := range []int{1, 2, 7, 512, 513, rma.MaxShipWords - 1} {
		n, err := roundOfRequests(r, q, words)
		if err != nil {
			return fmt.Errorf("%d words: %w", words, err)
		}
		sum += n
	}
	if err := r.barrier(); err != nil {
		return err
	}
	if err := r.expect(r.w, r.me, 0, sum*uint64(r.size)); err != nil {
		return err
	}
	server.Serve(nil)
	if err := r.barrier(); err != nil {
		return err
	}
	if err := notServed(r, q); err != nil {
		return err
	}
	return errors.Join(o.err, own.Close(), r.barrier())
}

// requestsAtOnce is how many a rank has on their way to each.
const requestsAtOnce = 6

// roundOfRequests ships some to each rank, and returns what one's own add up to here. Requests of
// the other ranks add up to the same.
func roundOfRequests(r *rank, q rma.Carrier, words int) (sum uint64, err error) {
	var handles []rma.Handle
	var sent, answers []rma.Buf
	for i := range requestsAtOnce * r.size {
		request, err := q.Alloc(words)
		if err != nil {
			return 0, err
		}
		answer, err := q.Alloc(words + 1)
		if err != nil {
			return 0, err
		}
		for at := range request {
			request[at] = pattern(r.me, i, at)
		}
		request[0] = uint64(i + 1)
		sent, answers = append(sent, request), append(answers, answer)
		handles = append(handles, q.Ship(request, answer, r.w, i%r.size))
	}
	for i, h := range handles {
		n, err := r.finish(h)
		if err != nil {
			return 0, err
		}
		if n != uint64(words+1) || answers[i][words] != uint64(r.me) {
			return 0, fmt.Errorf("an answer of %d words to rank %d", n, answers[i][words])
		}
		for at, word := range sent[i] {
			if answers[i][words-1-at] != word {
				return 0, fmt.Errorf("word %d of the answer from rank %d is %d, not %d",
					words-1-at, i%r.size, answers[i][words-1-at], word)
			}
		}
		if i%r.size == r.me {
			sum += uint64(i + 1)
		}
	}
	return sum, nil
}

// notServed asks where nobody answers.
func notServed(r *rank, q rma.Carrier) error {
	if err := r.barrier(); err != nil {
		return err
	}
	buf, err := q.Alloc(rma.MaxShipWords + 1)
	if err != nil {
		return err
	}
	for what, misuse := range map[string]func(){
		"an empty request":    func() { q.Ship(buf[:0], buf[:1], r.w, r.me) },
		"too long a request":  func() { q.Ship(buf, buf[:1], r.w, r.me) },
		"too long an answer":  func() { q.Ship(buf[:1], buf, r.w, r.me) },
		"a rank that is none": func() { q.Ship(buf[:1], buf[:1], r.w, r.size) },
	} {
		if !panics(misuse) {
			return fmt.Errorf("%s does not panic", what)
		}
	}
	_, err = r.finish(q.Ship(buf[:1], buf[1:2], r.w, (r.me+1)%r.size))
	if !errors.Is(err, rma.ErrNotServed) {
		return fmt.Errorf("without a handler a request gives %v", err)
	}
	return r.barrier()
}
