package star

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

// strangers is how many may be saying who they are at the same time.
const strangers = 64

// hub is where the members of a star are connected. It lives in the process of rank 0.
type hub struct {
	cfg      Config
	listener net.Listener
	arrived  chan struct{} // a rank has come
	missed   chan struct{} // one has gone again before all had come

	mu      sync.Mutex
	members []member
	gifts   int      // to the gathering under way
	refused []string // who, and why, before all had come
	began   bool
	failed  []byte // why the job does not begin
	closed  bool
	state   func() []byte // what a rank that joins again is told of the job; nil: none may
	readers sync.WaitGroup
	writers sync.WaitGroup
}

// member is a rank as the hub sees it.
type member struct {
	conn  *conn
	out   *outbox // what it is to be told
	held  bool    // a stranger with the token is taking this place
	gift  []byte  // to the gathering under way
	gave  bool
	given uint64
	fate  Fate    // of the process that has the place
	life  int     // how often the place was taken anew
	news  []frame // what a rank that joins again has to learn of this life
	said  uint32  // how often it has told the others something in this life
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
		arrived: make(chan struct{}, cfg.Size), missed: make(chan struct{}, 1)}
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
	g, err := hear(c, h.cfg, func(rank int, again bool) verdict {
		v := h.place(rank, again)
		held = v == welcome
		return v
	})
	switch {
	case err == nil && g.again == 1:
		h.readmit(int(g.rank), c)
	case err == nil:
		h.enter(int(g.rank), c)
	default:
		h.refuse(c, err)
		_ = c.Close()
		if held {
			h.mu.Lock()
			h.members[g.rank].held = false
			h.mu.Unlock()
		}
	}
}

// refusedMost is how many refusals are remembered, to be told if ranks do not come.
const refusedMost = 4

// refuse takes note of a stranger that was not let in.
func (h *hub) refuse(c net.Conn, err error) {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	said := fmt.Sprintf("%s (%v)", host, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.began && len(h.refused) < refusedMost && !slices.Contains(h.refused, said) {
		h.refused = append(h.refused, said)
	}
}

// place keeps a place for a rank, or says why there is none.
func (h *hub) place(rank int, again bool) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, v := &h.members[rank], welcome
	switch {
	case h.closed || h.members[0].fate != Here || !again && m.fate == Left:
		v = ending
	case !again && h.began:
		v = begun
	case !again && (m.held || m.conn != nil):
		v = taken
	case !again:
	case !h.began:
		v = notBegun
	case h.state == nil:
		v = never
	case m.fate == Left:
		v = hasLeft
	case m.fate == Here || m.held:
		v = stillHere
	}
	m.held = m.held || v == welcome
	return v
}

// enter makes a connection that of a member.
func (h *hub) enter(rank int, c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		_ = c.Close()
		return
	}
	h.members[rank] = member{}
	h.connect(rank, c)
	h.listenTo(rank)
	for other := range h.members { // what the others have been told
		if fate := h.members[other].fate; fate != Here {
			h.members[rank].out.put(frame{'F', encodeFate(other, peer{fate: fate})})
		}
	}
	if h.failed != nil {
		h.members[rank].out.put(frame{'X', h.failed})
	}
	h.arrived <- struct{}{} // which has room for all
}

// connect has a member told what it is to be told.
func (h *hub) connect(rank int, c net.Conn) {
	conn, out := newConn(c, h.cfg.Beat), newOutbox()
	h.members[rank].conn, h.members[rank].out = conn, out
	h.writers.Go(func() { write(conn, out) })
}

// write tells a member what it is to be told, until there is no more to come.
func write(c *conn, out *outbox) {
	go c.pulse()
	for f, more := out.next(); more; f, more = out.next() {
		_ = c.send(f.kind, f.payload)
	}
	c.hangUp()
}

// assemble waits until all ranks have come, and has them begin.
func (h *hub) assemble(ctx context.Context) error {
	start := time.Now()
	for come := range h.cfg.Size {
		var err error
		select {
		case <-h.arrived:
			continue
		case <-h.missed:
			err = h.lost()
		case <-ctx.Done():
			err = fmt.Errorf("rank 0 waited at %s for %v (%w); of %d ranks these never arrived: "+
				"%v; %s", h.cfg.Address, h.cfg.waited(start), ctx.Err(), h.cfg.Size, h.missing(),
				h.remedy())
		}
		h.mu.Lock()
		h.failed = []byte(err.Error())
		h.tellAll(frame{'X', h.failed})
		h.mu.Unlock()
		h.awaitLate(ctx, h.cfg.Size-come)
		h.close()
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = true
	h.tellAll(frame{'S', nil})
	return nil
}

// awaitLate has ranks that come now be told that the job does not begin, so many at most, as long
// as a rank may be silent. They would wait for a rank 0 that is not there any more.
func (h *hub) awaitLate(ctx context.Context, most int) {
	limit := time.After(beatsMissed * h.cfg.Beat)
	for range most {
		select {
		case <-h.arrived:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// lost tells of a rank that has gone again before all had come: of one that has died, if there
// is one, as others may have left for that reason.
func (h *hub) lost() error {
	missing := h.missing()
	h.mu.Lock()
	defer h.mu.Unlock()
	var first *rma.RankError
	for rank := range h.members {
		if f := h.members[rank].fate; f != Here && (first == nil || first.Left) {
			first = &rma.RankError{Rank: rank, Left: f == Left}
		}
	}
	return early(h.cfg.Address, missing, first)
}

// early is an error of the time before all ranks have come.
func early(address string, missing []int, gone *rma.RankError) error {
	if len(missing) == 0 {
		return fmt.Errorf("meeting at %s: %w", address, gone)
	}
	return fmt.Errorf("meeting at %s, where ranks %v had not yet come: %w", address, missing, gone)
}

// waited is for how long, for people: less than the limit where the wait was interrupted.
func (c *Config) waited(since time.Time) time.Duration {
	return min(c.Timeout, time.Since(since).Round(time.Millisecond))
}

// remedy says what to look for where ranks do not come.
func (h *hub) remedy() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	remedy := "were all ranks started, with this address and the same token, --nnodes and --nproc?"
	if len(h.refused) > 0 {
		remedy += " There came, and were not let in: " + strings.Join(h.refused, ", ")
	}
	return remedy
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

// tellAll tells all who are connected, under the lock.
func (h *hub) tellAll(f frame) {
	for rank := range h.members {
		if out := h.members[rank].out; out != nil {
			out.put(f)
		}
	}
}

// listenTo begins to follow a member, under the lock.
func (h *hub) listenTo(rank int) {
	conn := h.members[rank].conn
	h.readers.Go(func() { h.follow(rank, conn) })
}

// follow takes what a member says until it says no more.
func (h *hub) follow(rank int, c *conn) {
	for {
		kind, payload, err := c.receive(MaxGift)
		if err != nil {
			break
		}
		ok := true
		switch kind {
		case 'G':
			ok = h.give(rank, payload)
		case 'L':
			n, rest, err := takeNumbers(payload, 1)
			if ok = err == nil && len(rest) == 0 && uint64(n[0]) <= uint64(h.cfg.Size); ok {
				h.gone(rank, Left, n[0])
			}
		case 'B', 'N':
			ok = h.announce(rank, kind, payload)
		case 'K':
			ok = h.confirm(rank, payload)
		}
		if !ok {
			c.close()
		}
	}
	h.gone(rank, Died, 0)
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

// gone tells all what became of a rank, and which other one it missed.
func (h *hub) gone(rank int, fate Fate, missed uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.fate == Died || m.fate == fate || m.fate == Left && !h.began {
		return // one that has left is there until it hangs up, but not before all have come
	}
	m.fate = fate
	f := frame{'F', encodeFate(rank, peer{fate, m.given, missed})}
	if m.news = append(m.news, f); fate == Died {
		m.news = nil
	}
	h.tellAll(f)
	if !h.began {
		select {
		case h.missed <- struct{}{}:
		default:
		}
	}
}

// close ends all connections when what was to be told is told.
func (h *hub) close() {
	_ = h.listener.Close()
	h.mu.Lock()
	h.closed = true
	for rank := range h.members {
		if m := &h.members[rank]; m.out != nil {
			m.out.close()
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
