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

// maxHandshakes is the number of handshakes at the same time.
const maxHandshakes = 64

// hub is the process of rank 0 as the server of all members.
type hub struct {
	cfg      Config
	listener net.Listener
	arrived  chan struct{} // a rank has connected
	missed   chan struct{} // one has gone before all had connected

	mu       sync.Mutex
	members  []member
	received int      // payloads of the gathering under way
	refused  []string // which hosts, and why, before all had connected
	began    bool
	failed   []byte // why the job does not begin
	closed   bool
	readers  sync.WaitGroup
	writers  sync.WaitGroup
}

// member is a rank as the hub sees it.
type member struct {
	conn    *conn
	out     *outbox // the frames for it
	held    bool    // a process with the token is taking this place
	payload []byte  // of the gathering under way
	gave    bool
	given   uint64
	state   State
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

// accept admits ranks until the listener is closed.
func (h *hub) accept() {
	slots := make(chan struct{}, maxHandshakes)
	for {
		c, err := h.listener.Accept()
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				h.handshake(c)
			}()
		default:
			_ = c.Close()
		}
	}
}

// handshake admits a rank that has a place and knows the token.
func (h *hub) handshake(c net.Conn) {
	held := false
	g, err := admit(c, h.cfg, func(rank int) verdict {
		v := h.place(rank)
		held = v == welcome
		return v
	})
	switch {
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

// maxRefused is how many refusals are kept, for the error where ranks do not come.
const maxRefused = 4

// refuse keeps the host of a process that was not admitted, and why.
func (h *hub) refuse(c net.Conn, err error) {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	text := fmt.Sprintf("%s (%v)", host, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.began && len(h.refused) < maxRefused && !slices.Contains(h.refused, text) {
		h.refused = append(h.refused, text)
	}
}

// place reserves the place of a rank, or says why it cannot.
func (h *hub) place(rank int) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, v := &h.members[rank], welcome
	switch {
	case h.closed || h.members[0].state != Here || m.state == Left:
		v = ending
	case h.began:
		v = begun
	case m.held || m.conn != nil:
		v = taken
	}
	m.held = m.held || v == welcome
	return v
}

// enter makes a connection belong to a member.
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
	for other := range h.members { // what was sent to the others before
		if state := h.members[other].state; state != Here {
			h.members[rank].out.put(frame{'F', encodeState(other, peer{state: state})})
		}
	}
	if h.failed != nil {
		h.members[rank].out.put(frame{'X', h.failed})
	}
	h.arrived <- struct{}{} // which has room for all
}

// connect starts to send frames to a member.
func (h *hub) connect(rank int, c net.Conn) {
	conn, out := newConn(c, h.cfg.Beat), newOutbox()
	h.members[rank].conn, h.members[rank].out = conn, out
	h.writers.Go(func() { write(conn, out) })
}

// write sends the frames for a member, until no more come.
func write(c *conn, out *outbox) {
	go c.pulse()
	for f, more := out.next(); more; f, more = out.next() {
		_ = c.send(f.kind, f.payload)
	}
	c.closeWrite()
}

// assemble waits until all ranks have connected, and has them begin.
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
		h.sendAll(frame{'X', h.failed})
		h.mu.Unlock()
		h.awaitLate(ctx, h.cfg.Size-come)
		h.close()
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = true
	h.sendAll(frame{'S', nil})
	return nil
}

// awaitLate waits for up to n ranks that connect now, as long as a rank may be silent. They learn
// that the job does not begin, and would otherwise wait for a rank 0 that is gone.
func (h *hub) awaitLate(ctx context.Context, n int) {
	limit := time.After(maxMissedBeats * h.cfg.Beat)
	for range n {
		select {
		case <-h.arrived:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// lost is the error of a rank that has gone before all had connected: of one that has died, if
// there is one, as others may have left for that reason.
func (h *hub) lost() error {
	missing := h.missing()
	h.mu.Lock()
	defer h.mu.Unlock()
	var first *rma.RankError
	for rank := range h.members {
		if f := h.members[rank].state; f != Here && (first == nil || first.Left) {
			first = &rma.RankError{Rank: rank, Left: f == Left}
		}
	}
	return early(h.cfg.Address, missing, first)
}

// early is an error of the time before all ranks have connected.
func early(address string, missing []int, gone *rma.RankError) error {
	if len(missing) == 0 {
		return fmt.Errorf("connecting at %s: %w", address, gone)
	}
	return fmt.Errorf("connecting at %s, where ranks %v had not yet come: %w", address, missing,
		gone)
}

// waited is how long this rank has waited, rounded for messages: at most the timeout.
func (c *Config) waited(since time.Time) time.Duration {
	return min(c.Timeout, time.Since(since).Round(time.Millisecond))
}

// remedy says what to check where ranks do not come.
func (h *hub) remedy() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	remedy := "were all ranks started, with this address and the same token, --nnodes and --nproc?"
	if len(h.refused) > 0 {
		remedy += " These came and were not admitted: " + strings.Join(h.refused, ", ")
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

// sendAll sends a frame to all members that are connected, under the lock.
func (h *hub) sendAll(f frame) {
	for rank := range h.members {
		if out := h.members[rank].out; out != nil {
			out.put(f)
		}
	}
}

// listenTo starts to receive from a member, under the lock.
func (h *hub) listenTo(rank int) {
	conn := h.members[rank].conn
	h.readers.Go(func() { h.follow(rank, conn) })
}

// follow takes the frames of a member until the connection ends.
func (h *hub) follow(rank int, c *conn) {
	for {
		kind, payload, err := c.receive(MaxPayloadBytes)
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
		}
		if !ok {
			c.close()
		}
	}
	h.gone(rank, Died, 0)
}

// give takes the payload of a rank, and ends the gathering when all have come.
func (h *hub) give(rank int, payload []byte) (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.gave || m.state != Here {
		return false // a rank waits for the end of a gathering before the next one
	}
	m.gave, m.payload = true, payload
	m.given++
	if h.received++; h.received < len(h.members) {
		return true
	}
	var payloads [][]byte
	for i := range h.members {
		payloads = append(payloads, h.members[i].payload)
		h.members[i].gave, h.members[i].payload = false, nil
	}
	h.received = 0
	h.sendAll(frame{'R', join(payloads)})
	return true
}

// gone sends the new state of a rank to all, and the lost rank because of which it left.
func (h *hub) gone(rank int, state State, missed uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := &h.members[rank]
	if m.state == Died || m.state == state || m.state == Left && !h.began {
		return // one that has left is present until it closes, but not before all have connected
	}
	m.state = state
	p := peer{state: state, given: m.given, missed: missed}
	h.sendAll(frame{'F', encodeState(rank, p)})
	if !h.began {
		select {
		case h.missed <- struct{}{}:
		default:
		}
	}
}

// close ends all connections when all frames have been sent.
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
	h.readers.Wait() // a member that reads the end closes the connection
	for rank := range h.members {
		if c := h.members[rank].conn; c != nil {
			c.close()
		}
	}
}
