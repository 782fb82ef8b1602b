package tree

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farhash/farhash/rma"
)

// root is what rank 0 does beside the work of the top of the tree: it admits all ranks, learns by
// their lines who is gone, and knows who has given in the gathering under way. The lock is the
// tree's.
type root struct {
	*Tree
	arrived chan struct{} // a rank has connected
	missed  chan struct{} // one has gone before all had connected

	members []member // by rank; nothing of rank 0
	refused []string // which hosts, and why, before all had connected
	began   bool
	failed  []byte // why the job does not begin

	gave     []bool   // by rank, in the gathering under way
	payloads [][]byte // by rank
	lacking  int
}

// member is a rank as rank 0 sees it.
type member struct {
	line    *conn
	held    bool   // a process with the token is taking this place
	address string // where the ranks below it connect to it
}

// openRoot listens.
func openRoot(ctx context.Context, t *Tree) error {
	d, err := openDoor(ctx, t.cfg, t.cfg.Address)
	if err != nil {
		return fmt.Errorf("rank 0 listening at the rendezvous: %w; the address must be one of "+
			"this host, and the port free", err)
	}
	size := t.cfg.Size
	t.door = d
	t.root = &root{Tree: t, members: make([]member, size), arrived: make(chan struct{}, size),
		missed: make(chan struct{}, 1), gave: make([]bool, size),
		payloads: make([][]byte, size), lacking: size}
	go d.admit(t.root)
	return nil
}

// maxRefused is how many refusals are kept, for the error where ranks do not come.
const maxRefused = 4

// refuse keeps the host of a process that was not admitted, and why.
func (r *root) refuse(c net.Conn, err error) {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	text := fmt.Sprintf("%s (%v)", host, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.began && len(r.refused) < maxRefused && !slices.Contains(r.refused, text) {
		r.refused = append(r.refused, text)
	}
}

// place reserves the place of a rank, or says why it cannot.
func (r *root) place(rank int) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, v := &r.members[rank], welcome
	switch {
	case r.closed || r.peers[0].state != Here || r.peers[rank].state == Left:
		v = ending
	case r.began:
		v = begun
	case rank == 0 || m.held || m.line != nil:
		v = taken
	}
	m.held = m.held || v == welcome
	return v
}

func (r *root) vacate(rank int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[rank].held = false
}

// enter makes a connection the line of a rank.
func (r *root) enter(rank int, c net.Conn, port uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = c.Close()
		return
	}
	line := newConn(c, &r.cfg)
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	r.members[rank] = member{line: line,
		address: net.JoinHostPort(host, strconv.Itoa(int(port)))}
	r.readers.Go(func() { r.follow(rank, line) })
	if len(r.gone) > 0 {
		line.put('F', encodeStates(r.known()))
	}
	if r.failed != nil {
		line.put('X', r.failed)
	}
	r.arrived <- struct{}{} // which has room for all
}

// assemble waits until all ranks have connected, and has them begin.
func (r *root) assemble(ctx context.Context) error {
	start := time.Now()
	for come := 1; come < r.cfg.Size; come++ {
		var err error
		select {
		case <-r.arrived:
			continue
		case <-r.missed:
			err = r.lost()
		case <-ctx.Done():
			err = fmt.Errorf("rank 0 waited at %s for %v (%w); of %d ranks these never arrived: "+
				"%v; %s", r.cfg.Address, r.cfg.waited(start), ctx.Err(), r.cfg.Size, r.missing(),
				r.remedy())
		}
		r.mu.Lock()
		r.failed = []byte(err.Error())
		r.tellAll('X', r.failed)
		r.mu.Unlock()
		r.awaitLate(ctx, r.cfg.Size-come)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = true
	for rank := 1; rank < r.cfg.Size; rank++ {
		m := &r.members[rank]
		switch parent, _ := place(rank, r.cfg.Size, r.cfg.fan); parent {
		case 0:
			m.line.put('S', nil)
			r.attach(rank, m.line)
		default:
			m.line.put('S', []byte(r.members[parent].address))
		}
	}
	return nil
}

// awaitLate waits for up to n ranks that connect now, as long as a rank may be silent. They learn
// that the job does not begin, and would otherwise wait for a rank 0 that is gone.
func (r *root) awaitLate(ctx context.Context, n int) {
	limit := time.After(r.cfg.Silence)
	for range n {
		select {
		case <-r.arrived:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// lost is the error of a rank that has gone before all had connected.
func (r *root) lost() error { return early(r.cfg.Address, r.missing(), r.Gone()) }

// early is an error of the time before all ranks have connected.
func early(address string, missing []int, gone *rma.RankError) error {
	if len(missing) == 0 {
		return fmt.Errorf("connecting at %s: %w", address, gone)
	}
	return fmt.Errorf("connecting at %s, where ranks %v had not yet come: %w", address, missing,
		gone)
}

// remedy says what to check where ranks do not come.
func (r *root) remedy() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	remedy := "were all ranks started, with this address and the same token, --nnodes and --nproc?"
	if len(r.refused) > 0 {
		remedy += " These came and were not admitted: " + strings.Join(r.refused, ", ")
	}
	return remedy + r.door.trouble()
}

func (r *root) missing() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var missing []int
	for rank := 1; rank < len(r.members); rank++ {
		if r.members[rank].line == nil {
			missing = append(missing, rank)
		}
	}
	return missing
}

// tellAll sends a frame on all lines, under the lock.
func (r *root) tellAll(kind byte, payload []byte) {
	frame := encodeFrame(kind, payload)
	for rank := range r.members {
		if line := r.members[rank].line; line != nil {
			line.putFrame(frame)
		}
	}
}

// follow takes the frames of a line until it ends.
func (r *root) follow(rank int, line *conn) {
	silent := false
	for {
		kind, payload, err := line.receive(maxFrame(r.cfg.Size))
		if err != nil {
			silent = line.wasSilent(err)
			break
		}
		if !r.take(rank, line, kind, payload) {
			line.close()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(rank, line)
	r.part(rank, peer{state: Died, silent: silent})
}

// take takes a frame of a line. It reports false where that is malformed.
func (r *root) take(rank int, line *conn, kind byte, payload []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch kind {
	case 'G':
		number, runs, err := decodeRuns(payload, span{0, r.cfg.Size})
		if err != nil || number > r.gathered+1 {
			return false
		}
		if number == r.gathered+1 { // else it has come before, another way
			r.add(runs)
		}
	case 'M':
		line.watch(false)
	case 'O':
		line.watch(true)
		r.attach(rank, line)
	case 'L', 'D':
		n, rest, err := takeNumbers(payload, 1)
		if err != nil || len(rest) != 0 || uint64(n[0]) > uint64(r.cfg.Size) {
			return false
		}
		if kind == 'L' {
			r.part(rank, peer{state: Left, missed: n[0]})
		} else if int(n[0]) < r.cfg.Size && r.members[n[0]].line != nil {
			r.members[n[0]].line.watch(true)
		}
	}
	return true
}

// add takes what ranks gave, and ends the gathering when all have. Under the lock.
func (r *root) add(runs []run) {
	for _, of := range runs {
		for rank := of.first; rank < of.first+of.count; rank++ {
			if !r.gave[rank] && r.peers[rank].state == Here {
				r.gave[rank], r.payloads[rank] = true, of.payload
				r.lacking--
			}
		}
	}
	if r.lacking > 0 {
		return
	}
	var all []run
	for rank, payload := range r.payloads {
		all = append(all, run{rank, 1, payload})
	}
	all = joinRuns(all)
	clear(r.gave)
	clear(r.payloads)
	r.lacking = r.cfg.Size
	r.finish(r.gathered+1, all, encodeRuns(r.gathered+1, all))
}

// part sends the new state of a rank to all. Under the lock.
func (r *root) part(rank int, now peer) {
	known := r.peers[rank]
	if known.ended || known.state == now.state || known.state == Left && !r.began {
		return // one that has left is present until it closes, but not before all have connected
	}
	if now.given = r.gathered; r.gave[rank] {
		now.given++
	}
	news := []state{{rank, now}}
	r.learn(news)
	if !r.began {
		r.tellAll('F', encodeStates(news))
		select {
		case r.missed <- struct{}{}:
		default:
		}
	}
}
