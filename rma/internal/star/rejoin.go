package star

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/farhash/farhash/rma"
)

// maxSnapshotBytes is the largest snapshot of a job.
const maxSnapshotBytes = 1 << 28

// errRejoined is the error of a collective call of a rank that has rejoined.
var errRejoined = errors.New("rma: this rank has joined again, and collective calls are for the " +
	"processes that started the job")

// incarnation is the present process of a rank.
type incarnation struct {
	number int // processes that had the place before
	state  State
}

// mark says which announcements of this rank another one has acted upon.
type mark struct {
	incarnation int // of the other
	number      uint32
}

// EventKind is a kind of Event.
type EventKind uint8

const (
	Gone     EventKind = iota // its process has died
	Returned                  // another process has taken its place; its first announcement
	Noted                     // a later announcement of that process
)

// Event is something that has happened to another rank.
type Event struct {
	Kind        EventKind
	Rank        int
	Incarnation int // processes that had the place before
	Data        []byte

	number uint32 // of the announcement, in this incarnation
}

// Admit lets processes take the places of ranks that have died, from now on. snapshot returns what
// they get to know of the job, and must not wait. For rank 0.
func (s *Star) Admit(snapshot func() []byte) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.snapshot = snapshot
}

// Snapshot is what a rank that has rejoined got to know of the job.
func (s *Star) Snapshot() []byte { return s.snapshot }

// Incarnation returns the number of processes that had the place of a rank before the present one,
// and the state of that one.
func (s *Star) Incarnation(rank int) (number int, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[rank].number, s.current[rank].state
}

// Events are the events of other ranks in order, without the first ones, and a channel that is
// closed when there are more.
func (s *Star) Events(from int) ([]Event, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[from:], s.change
}

// Return announces to the others that this process has taken the place of a rank, and returns
// when all have acted upon that.
func (s *Star) Return(ctx context.Context, mine []byte) error { return s.announce(ctx, 'B', mine) }

// Note announces something more, and returns when all have acted upon it.
func (s *Star) Note(ctx context.Context, note []byte) error { return s.announce(ctx, 'N', note) }

func (s *Star) announce(ctx context.Context, kind byte, data []byte) error {
	if len(data) > MaxPayloadBytes {
		return fmt.Errorf("an announcement of %d bytes is longer than %d", len(data),
			MaxPayloadBytes)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.announced++
	_ = s.conn.send(kind, data) // listen learns as well that the hub is gone
	for {
		s.mu.Lock()
		leaving, cut, waits, change := s.leaving, s.cut, s.notActed(), s.change
		s.mu.Unlock()
		switch {
		case leaving:
			return errLeft
		case cut:
			return &rma.RankError{Rank: 0}
		case waits < 0:
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("rma: rank %d waiting for rank %d to act upon an announcement: %w",
				s.cfg.Rank, waits, ctx.Err())
		}
	}
}

// notActed is a rank that has not acted upon the last announcement, or -1.
func (s *Star) notActed() int {
	for rank, l := range s.current {
		h := s.acted[rank]
		if rank != s.cfg.Rank && l.state == Here &&
			(h.incarnation != l.number || h.number < s.announced) {
			return rank
		}
	}
	return -1
}

// Act confirms to the rank of an announcement that this one has acted upon it.
func (s *Star) Act(e Event) {
	if e.Kind != Gone {
		_ = s.conn.send('K', appendNumbers(nil, uint32(e.Rank), uint32(e.Incarnation), e.number))
	}
}

// enterRejoined takes the snapshot: the states of all ranks, and what Admit was given.
func (s *Star) enterRejoined(data []byte) error {
	s.broken = errRejoined
	for rank := range s.current {
		if len(data) < 5 {
			return errMalformed
		}
		l := incarnation{int(binary.LittleEndian.Uint32(data[1:])), State(data[0])}
		s.current[rank], data = l, data[5:]
		switch {
		case rank == s.cfg.Rank:
			s.peers[rank].state = Died
		case l.number > 0 || l.state == Died: // what has happened since comes in the next frames
			s.peers[rank].state, s.current[rank].state = Died, Died
			s.events = append(s.events, Event{Kind: Gone, Rank: rank, Incarnation: l.number})
		default:
			s.peers[rank].state = l.state
		}
	}
	s.snapshot = data
	return nil
}

// takeAnnouncement takes a frame of the hub about a rank that has rejoined.
func (s *Star) takeAnnouncement(kind byte, payload []byte) error {
	n, data, err := takeNumbers(payload, 3)
	if err != nil || uint64(n[0]) >= uint64(s.cfg.Size) {
		return errMalformed
	}
	rank := int(n[0])
	s.update(func() {
		if kind == 'K' {
			s.acted[rank] = mark{int(n[1]), n[2]}
			return
		}
		e := Event{Kind: Noted, Rank: rank, Incarnation: int(n[1]), Data: data, number: n[2]}
		if kind == 'B' {
			e.Kind = Returned
			s.current[rank] = incarnation{e.Incarnation, Here}
		}
		s.events = append(s.events, e)
	})
	return nil
}

// readmit gives the place of a rank that has died to a new process, and sends it a snapshot.
func (h *hub) readmit(rank int, c net.Conn) {
	h.mu.Lock()
	snapshot := h.snapshot
	h.mu.Unlock()
	data := snapshot()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	m.held = false
	if h.closed {
		_ = c.Close()
		return
	}
	m.out.close()
	m.state, m.announcements, m.announced = Here, nil, 0
	m.incarnation++
	h.connect(rank, c)
	var states []byte
	for i := range h.members {
		other := &h.members[i]
		states = appendNumbers(append(states, byte(other.state)), uint32(other.incarnation))
	}
	m.out.put(frame{'A', append(states, data...)})
	for i := range h.members {
		if h.members[i].incarnation > 0 {
			for _, f := range h.members[i].announcements {
				m.out.put(f)
			}
		}
	}
	h.listenTo(rank)
}

// announce sends an announcement of a rank that has rejoined to the others.
func (h *hub) announce(rank int, kind byte, data []byte) (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.incarnation == 0 || m.state != Here || (kind == 'B') != (m.announced == 0) {
		return false
	}
	m.announced++
	head := appendNumbers(nil, uint32(rank), uint32(m.incarnation), m.announced)
	f := frame{kind, append(head, data...)}
	m.announcements = append(m.announcements, f)
	for i := range h.members {
		if out := h.members[i].out; i != rank && out != nil {
			out.put(f)
		}
	}
	return true
}

// confirm passes on that a rank has acted upon an announcement of another.
func (h *hub) confirm(rank int, payload []byte) (ok bool) {
	n, rest, err := takeNumbers(payload, 3)
	if err != nil || len(rest) > 0 || uint64(n[0]) >= uint64(h.cfg.Size) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := &h.members[n[0]]; m.incarnation == int(n[1]) && m.out != nil {
		from := uint32(h.members[rank].incarnation)
		m.out.put(frame{'K', appendNumbers(nil, uint32(rank), from, n[2])})
	}
	return true
}

func appendNumbers(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// takeNumbers takes count numbers off the front.
func takeNumbers(b []byte, count int) (numbers []uint32, rest []byte, err error) {
	if len(b) < 4*count {
		return nil, nil, errMalformed
	}
	for range count {
		numbers = append(numbers, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	return numbers, b, nil
}
