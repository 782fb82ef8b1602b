package star

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// strangers is how many may be saying who they are at the same time.
const strangers = 64

// hub is where the members of a star are connected. It lives in the process of rank 0.
type hub struct {
	cfg      Config
	listener net.Listener
	arrived  chan struct{} // a rank has come

	mu      sync.Mutex
	members []member
	came    int
	gifts   int // to the gathering under way
	readers sync.WaitGroup
	writers sync.WaitGroup
}

// member is a rank as the hub sees it.
type member struct {
	conn  *conn
	out   chan frame // what it is to be told
	held  bool       // a stranger with the token is taking this place
	gift  []byte     // to the gathering under way
	gave  bool
	given uint64
	fate  Fate
}

type frame struct {
	kind    byte
	payload []byte
}

// openHub listens and makes rank 0 its first member.
func openHub(ctx context.Context, cfg Config) (*hub, net.Conn, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, nil, fmt.Errorf("rank 0 listening at the rendezvous: %w; the address must be "+
			"one of this host, and the port free", err)
	}
	h := &hub{cfg: cfg, listener: listener, members: make([]member, cfg.Size),
		arrived: make(chan struct{}, cfg.Size)}
	mine, theirs := net.Pipe()
	h.enter(0, mine)
	go h.accept()
	return h, theirs, nil
}

// accept lets ranks in until the listener is closed.
func (h *hub) accept() {
	room := make(chan struct{}, strangers)
	for {
		c, err := h.listener.Accept()
		if err != nil {
			return
		}
		select {
		case room <- struct{}{}:
			go func() {
				defer func() { <-room }()
				h.greet(c)
			}()
		default:
			_ = c.Close()
		}
	}
}

// greet lets a rank in that has a place and knows the token.
func (h *hub) greet(c net.Conn) {
	held := false
	rank, err := hear(c, h.cfg, func(rank int) verdict {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.members[rank].held || h.members[rank].conn != nil {
			return taken
		}
		h.members[rank].held, held = true, true
		return welcome
	})
	if err == nil {
		h.enter(rank, c)
		return
	}
	_ = c.Close()
	if held {
		h.mu.Lock()
		h.members[rank].held = false
		h.mu.Unlock()
	}
}

// enter makes a connection that of a member.
func (h *hub) enter(rank int, c net.Conn) {
	h.mu.Lock()
	m := &h.members[rank]
	// A gathering, a fate of each rank, the beginning: it is never told more at a time.
	*m = member{conn: newConn(c, h.cfg.Beat), out: make(chan frame, h.cfg.Size+8)}
	h.came++
	conn, out := m.conn, m.out
	h.mu.Unlock()
	h.writers.Go(func() { write(conn, out) })
	h.arrived <- struct{}{}
}

// write tells a member what it is to be told, until there is no more to come.
func write(c *conn, out <-chan frame) {
	go c.pulse()
	for f := range out {
		_ = c.send(f.kind, f.payload)
	}
	c.hangUp()
}

// assemble waits until all ranks have come, and has them begin.
func (h *hub) assemble(ctx context.Context) error {
	for range h.cfg.Size {
		select {
		case <-h.arrived:
		case <-ctx.Done():
			err := fmt.Errorf("rank 0 waited at %s for %v; of %d ranks these never arrived: %v; "+
				"were all ranks started, with this address and the same token?", h.cfg.Address,
				h.cfg.Timeout, h.cfg.Size, h.missing())
			h.tell(frame{'X', []byte(err.Error())})
			h.close()
			return err
		}
	}
	_ = h.listener.Close()
	h.tell(frame{'S', nil})
	for rank := range h.members {
		h.readers.Go(func() { h.follow(rank) })
	}
	return nil
}

func (h *hub) missing() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	var missing []int
	for rank := range h.members {
		if h.members[rank].conn == nil {
			missing = append(missing, rank)
		}
	}
	return missing
}

// tell tells all who are connected.
func (h *hub) tell(f frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tellAll(f)
}

// tellAll is tell under the lock. Who does not listen is dropped.
func (h *hub) tellAll(f frame) {
	for rank := range h.members {
		m := &h.members[rank]
		if m.out == nil {
			continue
		}
		select {
		case m.out <- f:
		default:
			m.conn.close()
		}
	}
}

// follow takes what a member says until it says no more.
func (h *hub) follow(rank int) {
	c := h.members[rank].conn
	for {
		kind, gift, err := c.receive(MaxGift)
		if err != nil {
			break
		}
		switch kind {
		case 'G':
			if !h.give(rank, gift) {
				c.close()
			}
		case 'L':
			h.gone(rank, Left)
		}
	}
	h.gone(rank, Died)
}

// give takes what a rank gives, and ends the gathering when all have given.
func (h *hub) give(rank int, gift []byte) (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.gave || m.fate != Here {
		return false // a rank waits for the end of a gathering before the next one
	}
	m.gave, m.gift = true, gift
	m.given++
	if h.gifts++; h.gifts < len(h.members) {
		return true
	}
	var gifts [][]byte
	for i := range h.members {
		gifts = append(gifts, h.members[i].gift)
		h.members[i].gave, h.members[i].gift = false, nil
	}
	h.gifts = 0
	h.tellAll(frame{'R', join(gifts)})
	return true
}

// gone tells all what became of a rank.
func (h *hub) gone(rank int, fate Fate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.fate != Here {
		return
	}
	m.fate = fate
	h.tellAll(frame{'F', encodeFate(rank, peer{fate, m.given})})
}

// close ends all connections when what was to be told is told.
func (h *hub) close() {
	_ = h.listener.Close()
	h.mu.Lock()
	for rank := range h.members {
		if m := &h.members[rank]; m.out != nil {
			close(m.out)
			m.out = nil
		}
	}
	h.mu.Unlock()
	h.writers.Wait()
	h.readers.Wait() // who has heard the end hangs up
	for rank := range h.members {
		if c := h.members[rank].conn; c != nil {
			c.close()
		}
	}
}

// Join meets the other ranks of the job.
func Join(ctx context.Context, cfg Config) (*Star, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	s := &Star{cfg: cfg, peers: make([]peer, cfg.Size), change: make(chan struct{})}
	var c net.Conn
	var err error
	if cfg.Rank == 0 {
		s.hub, c, err = openHub(within, cfg)
	} else {
		c, err = connect(within, cfg)
	}
	if err != nil {
		return nil, err
	}
	s.conn = newConn(c, cfg.Beat)
	began := make(chan error, 1)
	go func() { began <- s.awaitBeginning() }()
	if s.hub != nil {
		err = s.hub.assemble(within)
	}
	if err == nil {
		select {
		case err = <-began:
		case <-within.Done(): // the hub says more, a moment later, unless it is gone
			select {
			case err = <-began:
			case <-time.After(beatsMissed * cfg.Beat):
				err = fmt.Errorf("rank %d waiting for the others: %w", cfg.Rank, within.Err())
			}
		}
	}
	if err != nil {
		s.conn.close()
		return nil, err
	}
	go s.conn.pulse()
	s.ended.Go(s.listen)
	return s, nil
}

// awaitBeginning returns when the hub says that all have come, or why they have not.
func (s *Star) awaitBeginning() error {
	kind, text, err := s.conn.receive(MaxGift)
	switch {
	case err != nil:
		return fmt.Errorf("rank %d lost rank 0 at %s before all had come: %w", s.cfg.Rank,
			s.cfg.Address, err)
	case kind != 'S':
		return fmt.Errorf("%s", text)
	}
	return nil
}
