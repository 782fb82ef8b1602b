package star

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

// MaxPayloadBytes is the largest payload of a rank in a gathering.
const MaxPayloadBytes = 1 << 16

// A rank that is silent for maxMissedBeats beats is taken for dead: after three seconds.
const (
	defaultBeat    = 750 * time.Millisecond
	maxMissedBeats = 4
)

// errLeft is the answer to a collective call of a rank that has left.
var errLeft = fmt.Errorf("rma: for this rank the job is %w", rma.ErrClosed)

// Config says which rank of which job this process is.
type Config struct {
	Rank, Size int
	Address    string        // HOST:PORT where rank 0 listens
	Token      string        // a secret of the ranks of this job, at least MinTokenBytes
	Timeout    time.Duration // how long to wait for the others
	Beat       time.Duration // between two signs of life; 0 is 750 ms
}

// MinTokenBytes is the smallest length of a token.
const MinTokenBytes = 8

func (c *Config) complete() error {
	host, _, err := net.SplitHostPort(c.Address)
	switch {
	case err != nil:
		return fmt.Errorf("the rendezvous %q is no HOST:PORT: %w", c.Address, err)
	case host == "" || net.ParseIP(host) != nil && net.ParseIP(host).IsUnspecified():
		return fmt.Errorf("the rendezvous %q names no host: rank 0 listens on one address only; "+
			"give one of its host that the other hosts reach", c.Address)
	case c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size:
		return fmt.Errorf("rank %d is not a rank of a job of %d", c.Rank, c.Size)
	case len(c.Token) < MinTokenBytes:
		return fmt.Errorf("the token of the job has %d bytes, and needs %d at least; give all "+
			"ranks the same random one", len(c.Token), MinTokenBytes)
	}
	if c.Beat <= 0 {
		c.Beat = defaultBeat
	}
	return nil
}

// State is the state of a rank.
type State uint8

// The states of a rank: present, left in good order, dead.
const (
	Here State = iota
	Left
	Died
)

// peer is what a member knows of a rank.
type peer struct {
	state  State
	ended  bool   // its connection, so that its memory is gone
	given  uint64 // gatherings that it contributed to, once it is gone
	missed uint32 // 1 + the lost rank because of which it left; 0: none
}

// Star is this rank's connection to the others.
type Star struct {
	cfg  Config
	conn *conn
	hub  *hub // of rank 0

	turn   sync.Mutex // one gathering at a time
	given  uint64     // gatherings that this rank contributed to
	broken error      // why this rank is out of step

	mu       sync.Mutex
	peers    []peer
	gathered uint64   // gatherings that have ended
	all      [][]byte // the payloads of the last one
	leaving  bool
	cut      bool          // the connection to the hub has ended
	change   chan struct{} // closed when any of these changes
	ended    sync.WaitGroup
}

// Gather sends mine to all ranks and returns what each rank sent. Collective.
func (s *Star) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	if len(mine) > MaxPayloadBytes {
		return nil, fmt.Errorf("a payload of %d bytes is longer than %d", len(mine),
			MaxPayloadBytes)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.broken != nil {
		return nil, s.broken
	}
	all, err := s.gather(ctx, mine)
	s.broken = err
	return all, err
}

func (s *Star) gather(ctx context.Context, mine []byte) ([][]byte, error) {
	if s.isLeaving() {
		return nil, errLeft
	}
	s.given++
	_ = s.conn.send('G', mine) // listen learns as well that the hub is gone
	for {
		s.mu.Lock()
		gathered, all, leaving, cut, change := s.gathered, s.all, s.leaving, s.cut, s.change
		err := s.absent()
		s.mu.Unlock()
		switch {
		case gathered == s.given:
			return all, nil
		case leaving:
			return nil, errLeft
		case err != nil:
			return nil, err
		case cut:
			return nil, errLeft
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, fmt.Errorf("rma: rank %d waiting for the others: %w", s.cfg.Rank, ctx.Err())
		}
	}
}

// absent is the error of a rank that is gone and has not contributed to the gathering under way: of
// one that has died if there is one, as others may have left for that reason.
func (s *Star) absent() error {
	var first *rma.RankError
	for rank, p := range s.peers {
		if p.state != Here && p.given < s.given && (first == nil || first.Left) {
			first = s.reason(rank)
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// reason says why a rank is not present. Where it left because another rank was lost, it names
// that one. Under the lock.
func (s *Star) reason(rank int) *rma.RankError {
	p := s.peers[rank]
	switch missed := int(p.missed) - 1; {
	case p.state == Left && missed == s.cfg.Rank: // for this rank it is the other one that is lost
		return &rma.RankError{Rank: rank}
	case p.state == Left && missed >= 0:
		return &rma.RankError{Rank: missed}
	}
	return &rma.RankError{Rank: rank, Left: p.state == Left}
}

// Gone names a rank that is not present: one that has died, if there is one. nil: all are.
func (s *Star) Gone() *rma.RankError {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *rma.RankError
	for rank, p := range s.peers {
		if p.state != Here && (first == nil || first.Left) {
			first = s.reason(rank)
		}
	}
	return first
}

// Reason says why a rank is not present. Where it left because another rank was lost, it names
// that one.
func (s *Star) Reason(rank int) *rma.RankError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason(rank)
}

func (s *Star) isLeaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving
}

// States returns the state of each rank, and a channel that is closed when one changes or a
// gathering ends.
func (s *Star) States() ([]State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]State, len(s.peers))
	for rank, p := range s.peers {
		states[rank] = p.state
	}
	return states, s.change
}

// Ended reports whether the connection of a rank has ended, whether it has left before or not.
func (s *Star) Ended(rank int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[rank].ended
}

// Alone reports whether rank 0 is lost, so that this rank learns no more of the others.
func (s *Star) Alone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// LocalAddr is the address of this host by which this rank is connected to the others.
func (s *Star) LocalAddr() net.Addr {
	if s.hub != nil {
		return s.hub.listener.Addr()
	}
	return s.conn.LocalAddr()
}

// Beat is the time between two signs of life.
func (s *Star) Beat() time.Duration { return s.cfg.Beat }

// Leave announces that this rank takes part in no further gathering. It waits for nobody, and a
// gathering that waits here returns.
func (s *Star) Leave() { s.leave(0) }

// GiveUp is Leave for a rank that cannot continue without another one, which it has lost.
func (s *Star) GiveUp(lost int) { s.leave(uint32(lost) + 1) }

func (s *Star) leave(missed uint32) {
	s.update(func() { s.leaving = true })
	_ = s.conn.send('L', appendNumbers(nil, missed))
}

// AwaitOthers returns when every other rank has left or died.
func (s *Star) AwaitOthers(ctx context.Context) error {
	for {
		s.mu.Lock()
		change, alone, staying := s.change, s.cut, -1
		for rank, p := range s.peers {
			if p.state == Here && rank != s.cfg.Rank {
				staying = rank
			}
		}
		s.mu.Unlock()
		if staying < 0 || alone { // without rank 0 it never learns that others leave
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("rank %d has left and rank %d stays: %w", s.cfg.Rank, staying,
				ctx.Err())
		}
	}
}

// Close closes the connection. For the others this rank has died if it has not left before.
func (s *Star) Close() {
	if s.hub != nil {
		s.hub.close()
	}
	s.conn.close()
	s.ended.Wait()
}

// update changes what is known, and wakes the goroutines that wait for a change.
func (s *Star) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.change)
	s.change = make(chan struct{})
}

// listen takes the frames of the hub until the connection ends.
func (s *Star) listen() {
	for {
		kind, payload, err := s.conn.receive(s.cfg.Size * (MaxPayloadBytes + 4))
		if err != nil {
			break
		}
		switch kind {
		case 'R':
			all, err := split(payload, s.cfg.Size)
			if err != nil {
				s.conn.close()
				break
			}
			s.update(func() { s.gathered, s.all = s.gathered+1, all })
		case 'F':
			rank, p, err := decodeState(payload, s.cfg.Size)
			if err != nil {
				s.conn.close()
				break
			}
			s.update(func() { s.end(rank, p) })
		}
	}
	s.update(func() {
		s.cut = true
		if s.cfg.Rank != 0 {
			s.end(0, peer{state: Died, given: s.gathered})
		}
	})
}

// end records that a rank has left or died.
func (s *Star) end(rank int, p peer) {
	known := &s.peers[rank]
	if known.state == Here {
		*known = p
	}
	known.ended = known.ended || p.state == Died
}
