package kv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Shipped calls go to the rank that has the home of their key, and are packed so:
//
//	call    | kind (16) | size of key (24), of value (24) | version | key | value |
//	answer  | status (16) | done (16) | size of value (32) | version | value |
//
// A call has a version for CompareAndPut alone, and a value if it puts. An answer has a value for
// a Get that has found its key.
const (
	callHead   = 1
	answerHead = 2
	sizeBits   = 24
)

// The status of an answer.
const (
	answered = iota
	tooLong  // there was no room for the value
	declined // the call had no effect: the requesting rank is to make it
	lostRank // a rank is lost: its number, doubled, is in place of the version
	failed   // the text of the error is in place of the value
)

// doneBit is that of a call that was Done.
const doneBit = 1 << 32

// errUnanswered is the error of a call until it has an answer or another error.
var errUnanswered = errors.New("kv: no answer has come")

// shipping is what a map needs for calls that are shipped.
type shipping struct {
	line      *ship.Line   // nil: nothing is shipped
	room      atomic.Int64 // words for the value of a Get in an answer
	handler   handler
	shipments rma.Pool[*shipment]
}

// initialRoom is what room is at first, in words.
const initialRoom = 8

// trips is how many messages a call takes one-sided, about.
func (c *Config) trips() float64 {
	if c.Copies {
		return 2
	}
	return 2.5
}

// openLine opens the line that ships batches. Collective.
func (m *Map) openLine(ctx context.Context) (err error) {
	m.shipping.room.Store(int64(min(initialRoom, wordsOf(m.cfg.MaxValue))))
	m.shipping.line, err = ship.Open(ctx, m.job, m.slots, ship.Config{Access: m.cfg.Access,
		Trips: m.cfg.trips(), Answer: m.answer})
	return err
}

// owner is the rank that has the home of a key, in the latest table that this rank knows.
func (m *Map) owner(key []byte) int {
	t := m.latestTable()
	rank, _, _ := m.place(t, m.slotAt(t, hashOf(key), 0))
	return rank
}

// shipment is a batch that is shipped.
type shipment struct {
	calls       []Call
	owners      []int
	remaining   []int // calls that this rank is to make itself
	room        int   // for the value of a Get, in words
	tooSmall    bool  // there was too little of it for all
	gets        int   // number of Gets
	bytesBefore int   // bytes that their values had before
}

// Close has nothing to give back.
func (s *shipment) Close() error { return nil }

// ship ships calls to the ranks that have their homes, except where that is not worthwhile.
func (m *Map) ship(calls []Call) error {
	s, ok, err := m.shipping.shipments.Take()
	if err != nil {
		return err
	}
	if !ok {
		s = new(shipment)
	}
	*s = shipment{calls: calls, owners: s.owners[:0], remaining: s.remaining[:0],
		room: int(m.shipping.room.Load())}
	for i := range calls {
		c := &calls[i]
		s.owners = append(s.owners, m.owner(c.Key))
		c.Err = errUnanswered
		if c.Kind == Get {
			s.gets++
			s.bytesBefore += len(c.Value)
		}
	}
	queues, err := m.shipping.line.Run(context.Background(), &ship.Batch{
		N:      len(calls),
		Owner:  func(i int) int { return s.owners[i] },
		Size:   s.size,
		Pack:   func(i int, to []uint64) { packCall(to, &calls[i]) },
		Unpack: s.unpack,
		Rest: func(indices []int) error { // whose calls have their errors
			_ = m.batch(calls, indices)
			return nil
		},
	})
	m.tally.queue(rma.Stats{}, queues)
	if len(s.remaining) > 0 {
		_ = m.batch(calls, s.remaining)
	}
	for i := range calls {
		if calls[i].Err == errUnanswered && err != nil {
			calls[i].Err = fmt.Errorf("kv: %w", err)
		}
	}
	m.shipping.adaptRoom(s, wordsOf(m.cfg.MaxValue))
	s.calls = nil
	m.shipping.shipments.Give(s, false)
	return nil
}

// adaptRoom adapts the room for values to a batch. An answer has room for all values together, so
// their mean counts.
func (t *shipping) adaptRoom(s *shipment, maxWords int) {
	found := -s.bytesBefore
	for i := range s.calls {
		if c := &s.calls[i]; c.Kind == Get {
			found += len(c.Value)
		}
	}
	switch {
	case s.tooSmall:
		t.room.Store(int64(min(max(2*s.room, 1), maxWords)))
	case s.gets > 0 && 4*found < 8*s.room*s.gets:
		t.room.Store(int64(s.room / 2))
	}
}

// size is how many words a call takes, and its answer.
func (s *shipment) size(i int) (request, answer int) {
	c := &s.calls[i]
	request, answer = callHead+wordsOf(len(c.Key)), answerHead
	switch {
	case c.Kind == Get:
		answer += s.room
	case c.Kind.puts():
		request += wordsOf(len(c.Value))
	}
	if c.Kind == CompareAndPut {
		request++
	}
	return request, answer
}

// packCall packs a call into as many words as it needs.
func packCall(to []uint64, c *Call) {
	to[0] = uint64(c.Kind)<<(2*sizeBits) | uint64(len(c.Key))<<sizeBits
	n := callHead
	if c.Kind == CompareAndPut {
		to[n] = uint64(c.Version)
		n++
	}
	n += pack(to[n:], c.Key)
	if c.Kind.puts() {
		to[0] |= uint64(len(c.Value))
		pack(to[n:], c.Value)
	}
}

// unpack takes the answer to a call.
func (s *shipment) unpack(i int, from []uint64) (words int, err error) {
	c := &s.calls[i]
	size := int(uint32(from[0]))
	words = answerHead + wordsOf(size)
	if words > len(from) {
		return 0, ship.ErrDisorder
	}
	value := from[answerHead:words]
	switch from[0] >> 48 {
	case answered:
		c.Err, c.Done, c.Version = nil, from[0]&doneBit != 0, Version(from[1])
		if c.Kind == Get && c.Done {
			c.Value = unpack(c.Value, value, size)
		}
	case tooLong:
		s.tooSmall = true
		s.remaining = append(s.remaining, i)
	case declined:
		s.remaining = append(s.remaining, i)
	case lostRank:
		c.Err = fmt.Errorf("kv: rank %d: %w", s.owners[i],
			&rma.RankError{Rank: int(from[1] >> 1), Left: from[1]&1 != 0})
	case failed:
		c.Err = fmt.Errorf("kv: rank %d: %s", s.owners[i], unpack(nil, value, size))
	default:
		return 0, ship.ErrDisorder
	}
	return words, nil
}
