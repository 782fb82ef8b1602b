package star

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/farhash/farhash/rma"
)

// maxState is how many bytes a rank that joins again may be told of the job.
const maxState = 1 << 28

// errAgain is the answer to a collective call of a rank that has joined again.
var errAgain = errors.New("rma: this rank has joined again, and collective calls are for those " +
	"who were there from the beginning")

// life is the process that has the place of a rank.
type life struct {
	number int // how often the place was taken anew
	fate   Fate
}

// mark is how much of what this rank has told the others one has acted upon.
type mark struct {
	life   int // of the other
	number uint32
}

// EventKind is what has happened to a rank.
type EventKind uint8

const (
	Gone     EventKind = iota // its process is no more
	Returned                  // another process has taken its place, and says what Data is
	Noted                     // that says something more
)

// Event is something that has happened to another rank.
type Event struct {
	Kind EventKind
	Rank int
	Life int // how often its place was taken anew
	Data []byte

	number uint32 // of what is said, in this life
}

// Admit has processes take the places of ranks that have died, from now on. state is what they are
// told of the job, and must not wait. For rank 0.
func (s *Star) Admit(state func() []byte) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.state = state
}

// State is what a rank that has joined again was told of the job.
func (s *Star) State() []byte { return s.state }

// Life tells how often the place of a rank was taken anew, and what became of the process
// that has it.
func (s *Star) Life(rank int) (number int, fate Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives[rank].number, s.lives[rank].fate
}

// Events are what has happened to others, in order, but for the first so many; and a channel
// that is closed when more has.
func (s *Star) Events(from int) ([]Event, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[from:], s.change
}

// Return tells the others that this process has taken the place of a rank, and returns when
// all have acted upon that.
func (s *Star) Return(ctx context.Context, mine []byte) error { return s.announce(ctx, 'B', mine) }

// Note tells the others something more, and returns when all have acted upon it.
func (s *Star) Note(ctx context.Context, note []byte) error { return s.announce(ctx, 'N', note) }

func (s *Star) announce(ctx context.Context, kind byte, data []byte) error {
	if len(data) > MaxGift {
		return fmt.Errorf("%d bytes are more than a rank may tell: %d", len(data), MaxGift)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.told++
	_ = s.conn.send(kind, data) // the reader learns as well that the hub is gone
	for {
		s.mu.Lock()
		leaving, cut, waits, change := s.leaving, s.cut, s.unheard(), s.change
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
			return fmt.Errorf("rma: rank %d waiting for rank %d to take notice: %w", s.cfg.Rank,
				waits, ctx.Err())
		}
	}
}

// unheard is a rank that has not acted upon the last thing it was told, or -1.
func (s *Star) unheard() int {
	for rank, l := range s.lives {
		h := s.heard[rank]
		if rank != s.cfg.Rank && l.fate == Here && (h.life != l.number || h.number < s.told) {
			return rank
		}
	}
	return -1
}

// Act tells who has said something that this rank has acted upon it.
func (s *Star) Act(e Event) {
	if e.Kind != Gone {
		_ = s.conn.send('K', appendNumbers(nil, uint32(e.Rank), uint32(e.Life), e.number))
	}
}

// enterAgain takes what a rank that joins again is told.
func (s *Star) enterAgain(told []byte) error {
	s.broken = errAgain
	for rank := range s.lives {
		if len(told) < 5 {
			return errMalformed
		}
		l := life{int(binary.LittleEndian.Uint32(told[1:])), Fate(told[0])}
		s.lives[rank], told = l, told[5:]
		switch {
		case rank == s.cfg.Rank:
			s.peers[rank].fate = Died
		case l.number > 0 || l.fate == Died: // what has become of it since is told next
			s.peers[rank].fate, s.lives[rank].fate = Died, Died
			s.events = append(s.events, Event{Kind: Gone, Rank: rank, Life: l.number})
		default:
			s.peers[rank].fate = l.fate
		}
	}
	s.state = told
	return nil
}

// told takes what the hub says of a rank that has joined again.
func (s *Star) hear(kind byte, payload []byte) error {
	n, data, err := takeNumbers(payload, 3)
	if err != nil || uint64(n[0]) >= uint64(s.cfg.Size) {
		return errMalformed
	}
	rank := int(n[0])
	s.update(func() {
		if kind == 'K' {
			s.heard[rank] = mark{int(n[1]), n[2]}
			return
		}
		e := Event{Kind: Noted, Rank: rank, Life: int(n[1]), Data: data, number: n[2]}
		if kind == 'B' {
			e.Kind = Returned
			s.lives[rank] = life{e.Life, Here}
		}
		s.events = append(s.events, e)
	})
	return nil
}

// readmit gives the place of a rank that has died to a new process, and tells it of the others.
func (h *hub) readmit(rank int, c net.Conn) {
	h.mu.Lock()
	state := h.state
	h.mu.Unlock()
	told := state()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	m.held = false
	if h.closed {
		_ = c.Close()
		return
	}
	m.out.close()
	m.fate, m.news, m.said = Here, nil, 0
	m.life++
	h.connect(rank, c)
	var fates []byte
	for i := range h.members {
		fates = appendNumbers(append(fates, byte(h.members[i].fate)), uint32(h.members[i].life))
	}
	m.out.put(frame{'A', append(fates, told...)})
	for i := range h.members {
		if h.members[i].life > 0 {
			for _, f := range h.members[i].news {
				m.out.put(f)
			}
		}
	}
	h.listenTo(rank)
}

// announce tells the others what a rank that has joined again says.
func (h *hub) announce(rank int, kind byte, data []byte) (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.life == 0 || m.fate != Here || (kind == 'B') != (m.said == 0) {
		return false
	}
	m.said++
	f := frame{kind, append(appendNumbers(nil, uint32(rank), uint32(m.life), m.said), data...)}
	m.news = append(m.news, f)
	for i := range h.members {
		if out := h.members[i].out; i != rank && out != nil {
			out.put(f)
		}
	}
	return true
}

// confirm passes on that a rank has acted upon what another has said.
func (h *hub) confirm(rank int, payload []byte) (ok bool) {
	n, rest, err := takeNumbers(payload, 3)
	if err != nil || len(rest) > 0 || uint64(n[0]) >= uint64(h.cfg.Size) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := &h.members[n[0]]; m.life == int(n[1]) && m.out != nil {
		from := uint32(h.members[rank].life)
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

// takeNumbers takes so many numbers off the front.
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
