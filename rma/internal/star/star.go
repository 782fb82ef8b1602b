package star

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

// MaxGift is how many bytes a rank may give to a gathering.
const MaxGift = 1 << 16

// defaultBeat and beatsMissed, how many beats may be missed by who is alive, have a rank be
// missed after three seconds.
const (
	defaultBeat = 750 * time.Millisecond
	beatsMissed = 4
)

// errLeft is the answer to a collective call of a rank that has left.
var errLeft = errors.New("rma: this rank has closed the job")

// Config says which rank of which job this process is.
type Config struct {
	Rank, Size int
	Address    string        // HOST:PORT where rank 0 listens
	Token      string        // what only the ranks of this job know, at least MinToken bytes
	Timeout    time.Duration // how long to wait for the others
	Beat       time.Duration // how often a rank says that it is there; 0 is 750 ms
	// Again has this process take the place of a rank that has died.
	Again bool
}

// MinToken is the least length of a token.
const MinToken = 8

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
	case c.Again && c.Rank == 0:
		return errors.New("rank 0 cannot join again: the others meet where it listens; end the " +
			"job and start all ranks anew")
	case len(c.Token) < MinToken:
		return fmt.Errorf("the token of the job has %d bytes, and needs %d at least; give all "+
			"ranks the same random one", len(c.Token), MinToken)
	}
	if c.Beat <= 0 {
		c.Beat = defaultBeat
	}
	return nil
}

// Fate is what became of a rank.
type Fate uint8

// The fates of a rank.
const (
	Here Fate = iota
	Left
	Died
)

// peer is what a member knows of a rank.
type peer struct {
	fate   Fate
	given  uint64 // gatherings that it gave to, once it is gone
	missed uint32 // 1 + the rank whose loss made it leave; 0: none did
}

// Star is a rank's place among the others.
type Star struct {
	cfg  Config
	conn *conn
	hub  *hub // of rank 0

	turn   sync.Mutex // one gathering at a time
	given  uint64     // gatherings that this rank gave to
	broken error      // why this rank is out of step
	told   uint32     // how often a rank that has joined again has told the others something
	state  []byte     // what such a rank was told

	mu      sync.Mutex
	peers   []peer // the processes that were there from the beginning
	lives   []life // those that are there now
	heard   []mark
	events  []Event
	met     uint64   // gatherings that came to their end
	all     [][]byte // what was given to the last one
	leaving bool
	cut     bool          // the hub says no more
	change  chan struct{} // closed when any of these changes
	ended   sync.WaitGroup
}

// Gather gives mine to all ranks and returns what each rank gave. Collective.
func (s *Star) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	if len(mine) > MaxGift {
		return nil, fmt.Errorf("%d bytes are more than a rank may give: %d", len(mine), MaxGift)
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
	_ = s.conn.send('G', mine) // the reader learns as well that the hub is gone
	for {
		s.mu.Lock()
		met, all, leaving, cut, change := s.met, s.all, s.leaving, s.cut, s.change
		err := s.absent()
		s.mu.Unlock()
		switch {
		case met == s.given:
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

// absent tells of a rank that is gone and has not given to the gathering under way: of one that
// has died if there is one, as others may have left for that reason.
func (s *Star) absent() error {
	var first *rma.RankError
	for rank, p := range s.peers {
		if p.fate != Here && p.given < s.given && (first == nil || first.Left) {
			first = s.reason(rank)
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// reason tells why a rank is not there: where it has left because it missed another one, that
// one is named. Under the lock.
func (s *Star) reason(rank int) *rma.RankError {
	p := s.peers[rank]
	switch missed := int(p.missed) - 1; {
	case p.fate == Left && missed == s.cfg.Rank: // for this rank it is the other one that is lost
		return &rma.RankError{Rank: rank}
	case p.fate == Left && missed >= 0:
		return &rma.RankError{Rank: missed}
	}
	return &rma.RankError{Rank: rank, Left: p.fate == Left}
}

// Gone tells of a rank that is not there: of one that has died, if there is one. nil: all are here.
func (s *Star) Gone() *rma.RankError {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *rma.RankError
	for rank, p := range s.peers {
		if p.fate != Here && (first == nil || first.Left) {
			first = s.reason(rank)
		}
	}
	return first
}

// Reason tells why a rank is not there. One that has left because it missed another one is not
// to blame.
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

// Fates tells what became of each rank, and a channel that is closed when that changes, or
// when a gathering ends. One that has died has, for collective calls, also when its place is taken
// anew: see Life.
func (s *Star) Fates() ([]Fate, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fates := make([]Fate, len(s.peers))
	for rank, p := range s.peers {
		fates[rank] = p.fate
	}
	return fates, s.change
}

// Alone tells whether rank 0 is lost, so that nobody tells what becomes of the others.
func (s *Star) Alone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// LocalAddr is the address of this host by which this rank meets the others.
func (s *Star) LocalAddr() net.Addr {
	if s.hub != nil {
		return s.hub.listener.Addr()
	}
	return s.conn.LocalAddr()
}

// Beat is how often a rank says that it is there.
func (s *Star) Beat() time.Duration { return s.cfg.Beat }

// Leave tells the others that this rank gives to no further gathering. It waits for nobody,
// and one that waits here returns.
func (s *Star) Leave() { s.leave(0) }

// GiveUp is Leave for a rank that cannot go on without another one, which it has lost.
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
		for rank, l := range s.lives {
			if l.fate == Here && rank != s.cfg.Rank {
				staying = rank
			}
		}
		s.mu.Unlock()
		if staying < 0 || alone { // then nobody tells any more
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("rank %d has left and rank %d goes on: %w", s.cfg.Rank, staying,
				ctx.Err())
		}
	}
}

// Close hangs up. Where this rank has not left it has died, for the others.
func (s *Star) Close() {
	if s.hub != nil {
		s.hub.close()
	}
	s.conn.close()
	s.ended.Wait()
}

// update changes what is known, and wakes those who wait.
func (s *Star) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.change)
	s.change = make(chan struct{})
}

// listen takes what the hub says until it says no more.
func (s *Star) listen() {
	for {
		kind, payload, err := s.conn.receive(s.cfg.Size * (MaxGift + 4))
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
			s.update(func() { s.met, s.all = s.met+1, all })
		case 'F':
			rank, p, err := decodeFate(payload, s.cfg.Size)
			if err != nil {
				s.conn.close()
				break
			}
			s.update(func() { s.end(rank, p) })
		case 'B', 'N', 'K':
			if err := s.hear(kind, payload); err != nil {
				s.conn.close()
			}
		}
	}
	s.update(func() {
		s.cut = true
		if s.cfg.Rank != 0 {
			s.end(0, peer{fate: Died, given: s.met})
		}
	})
}

// end is told that a rank has left or died.
func (s *Star) end(rank int, p peer) {
	if s.peers[rank].fate == Here {
		s.peers[rank] = p
	}
	s.lives[rank].fate = p.fate
	if p.fate == Died {
		s.events = append(s.events, Event{Kind: Gone, Rank: rank, Life: s.lives[rank].number})
	}
}
