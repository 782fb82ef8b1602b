package kv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Calls that travel go to the rank that has the home of their key, and are packed so:
//
//	call    | kind (16) | size of key (24), of value (24) | version | key | value |
//	answer  | status (16) | done (16) | size of value (32) | version | value |
//
// A call has a version for CompareAndPut alone, and a value if it puts; an answer has one to a Get
// that has found its key.
const (
	callHead   = 1
	answerHead = 2
	sizeBits   = 24
)

// The status of an answer.
const (
	answered = iota
	tooLong  // there was no room for the value
	yourself // the call had no effect: the rank that asks is to make it
	lostRank // memory of a rank is lost, that stands, doubled, in place of the version
	failed   // what the error says stands in place of the value
)

// doneBit is that of a call that was Done.
const doneBit = 1 << 32

// errUnanswered is the error of a call until there is another one, or an answer.
var errUnanswered = errors.New("kv: no answer has come")

// traffic is what a map needs for calls that travel.
type traffic struct {
	line  *ship.Line   // nil: nothing travels
	room  atomic.Int64 // words that the value of a Get is given in an answer
	desk  desk
	spare rma.Pool[*shipment]
}

// firstRoom is what room is at first.
const firstRoom = 8

// trips is how many messages a call takes one-sided, about.
func (c *Config) trips() float64 {
	if c.Copies {
		return 2
	}
	return 2.5
}

// openLine has batches travel, if they can. Collective.
func (m *Map) openLine(ctx context.Context) (err error) {
	m.traffic.room.Store(int64(min(firstRoom, wordsOf(m.cfg.MaxValue))))
	m.traffic.line, err = ship.Open(ctx, m.job, m.slots, ship.Config{Access: m.cfg.Access,
		Trips: m.cfg.trips(), Answer: m.answer})
	return err
}

// owner is the rank that has the home of a key, in the latest table seen.
func (m *Map) owner(key []byte) int {
	t := m.seen()
	rank, _, _ := m.place(t, m.slotAt(t, hashOf(key), 0))
	return rank
}

// shipment is a batch that travels.
type shipment struct {
	calls  []Call
	owners []int
	late   []int // calls that this rank is to make itself
	room   int   // of the value of a Get
	tight  bool  // there was too little of it for all
	gets   int   // calls that are
	before int   // bytes that their values had before
}

// Close has nothing to give back.
func (s *shipment) Close() error { return nil }

// ship has calls travel to the ranks that have their homes, but for what is not worth it.
func (m *Map) ship(calls []Call) error {
	s, ok, err := m.traffic.spare.Take()
	if err != nil {
		return err
	}
	if !ok {
		s = new(shipment)
	}
	*s = shipment{calls: calls, owners: s.owners[:0], late: s.late[:0],
		room: int(m.traffic.room.Load())}
	for i := range calls {
		c := &calls[i]
		s.owners = append(s.owners, m.owner(c.Key))
		c.Err = errUnanswered
		if c.Kind == Get {
			s.gets++
			s.before += len(c.Value)
		}
	}
	queues, err := m.traffic.line.Run(context.Background(), &ship.Batch{
		N:      len(calls),
		Owner:  func(i int) int { return s.owners[i] },
		Size:   s.size,
		Pack:   func(i int, to []uint64) { packCall(to, &calls[i]) },
		Unpack: s.unpack,
		Rest: func(which []int) error { // whose calls have their errors
			_ = m.batch(calls, which)
			return nil
		},
	})
	m.tally.queue(rma.Stats{}, queues)
	if len(s.late) > 0 {
		_ = m.batch(calls, s.late)
	}
	for i := range calls {
		if calls[i].Err == errUnanswered && err != nil {
			calls[i].Err = fmt.Errorf("kv: %w", err)
		}
	}
	m.traffic.fit(s, wordsOf(m.cfg.MaxValue))
	s.calls = nil
	m.traffic.spare.Give(s, false)
	return nil
}

// fit learns from a batch how long values are: an answer has room for all values together, so what
// counts is their mean.
func (t *traffic) fit(s *shipment, most int) {
	found := -s.before
	for i := range s.calls {
		if c := &s.calls[i]; c.Kind == Get {
			found += len(c.Value)
		}
	}
	switch {
	case s.tight:
		t.room.Store(int64(min(max(2*s.room, 1), most)))
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
		s.tight = true
		s.late = append(s.late, i)
	case yourself:
		s.late = append(s.late, i)
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
