package tree

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

// MaxPayloadBytes is the largest payload of a rank in a gathering.
const MaxPayloadBytes = 1 << 16

// defaultSilence is for how long the kernel of another host may give no answer.
const defaultSilence = 3 * time.Second

// errLeft is the answer to a collective call of a rank that has left.
var errLeft = fmt.Errorf("rma: for this rank the job is %w", rma.ErrClosed)

// Config says which rank of which job this process is.
type Config struct {
	Rank, Size int
	Address    string        // HOST:PORT where rank 0 listens
	Token      string        // a secret of the ranks of this job, at least MinTokenBytes
	Timeout    time.Duration // how long to wait for the others
	// Silence is for how long the kernel of another host may give no answer until the ranks there
	// are lost; 0 is three seconds.
	Silence time.Duration

	Apart bool // ranks of one host watch each other like ranks of two

	// Elapsed is the time by which this rank counts the silence of others; nil: the time for which
	// this process has run. Tests set it.
	Elapsed func() time.Duration

	fan     int // children of a rank; 0 is maxChildren
	clock   *clock
	watcher *watcher
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
	if c.Silence <= 0 {
		c.Silence = defaultSilence
	}
	if c.fan == 0 {
		c.fan = maxChildren
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

// peer is what this rank knows of a rank.
type peer struct {
	state  State
	silent bool   // its host did not answer, and that is why it is taken for dead
	ended  bool   // its line, so that its memory is gone
	given  uint64 // gatherings that it contributed to, once it is gone
	missed uint32 // 1 + the lost rank because of which it left; 0: none
}

// Tree is this rank's connection to the others.
type Tree struct {
	cfg  Config
	root *root // of rank 0
	line *conn // to rank 0; nil in rank 0
	door *door // where ranks connect to this one; nil: none do

	turn   sync.Mutex // one gathering at a time
	given  uint64     // gatherings that this rank contributed to
	broken error      // why this rank is out of step

	mu       sync.Mutex
	up       *conn         // to the rank above
	down     map[int]*edge // to those below that are connected to this one
	peers    []peer
	gone     []int  // ranks that are not present, in the order in which this one has learnt it
	gathered uint64 // gatherings that have ended
	result   []run  // what the ranks gave in the last one
	last     []byte // the frame with that
	own      uint64 // gatherings that this rank has given for
	sum      []run  // what has come from this rank and from below in the one under way
	passed   int    // how much of it was sent up
	leaving  bool
	cut      bool          // the line has ended
	closed   bool          // by this rank
	change   chan struct{} // closed when any of these changes
	readers  sync.WaitGroup
}

// edge is the connection to a rank below.
type edge struct {
	*conn
	gave uint64 // the last gathering for which all below it that are connected to it have given
}

func newTree(cfg Config) *Tree {
	cfg.clock, cfg.watcher = newClock(cfg.Silence), newWatcher(cfg.Silence)
	cfg.clock.elapsed = cfg.Elapsed
	return &Tree{cfg: cfg, peers: make([]peer, cfg.Size), down: map[int]*edge{},
		change: make(chan struct{})}
}

// maxFrame is the length of the longest frame: what all ranks gave.
func maxFrame(size int) int { return 8 + size*(MaxPayloadBytes+12) }

// Gather sends mine to all ranks and returns what each rank sent. Collective.
func (t *Tree) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	if len(mine) > MaxPayloadBytes {
		return nil, fmt.Errorf("a payload of %d bytes is longer than %d", len(mine),
			MaxPayloadBytes)
	}
	all, err := t.collect(ctx, slices.Clone(mine))
	if err != nil {
		return nil, err
	}
	return spread(all, t.cfg.Size), nil
}

// Barrier returns when every rank has called it. Collective.
func (t *Tree) Barrier(ctx context.Context) error {
	_, err := t.collect(ctx, nil)
	return err
}

func (t *Tree) collect(ctx context.Context, mine []byte) ([]run, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	if t.broken != nil {
		return nil, t.broken
	}
	all, err := t.gather(ctx, mine)
	t.broken = err
	return all, err
}

func (t *Tree) gather(ctx context.Context, mine []byte) ([]run, error) {
	if t.isLeaving() {
		return nil, errLeft
	}
	t.given++
	t.mu.Lock()
	t.own = t.given
	t.add([]run{{t.cfg.Rank, 1, mine}})
	t.mu.Unlock()
	for {
		t.mu.Lock()
		gathered, all, leaving, cut, change := t.gathered, t.result, t.leaving, t.cut, t.change
		err := t.absent()
		t.mu.Unlock()
		switch {
		case gathered == t.given:
			return all, nil
		case leaving:
			return nil, errLeft
		case err != nil:
			return nil, t.othersToo(err)
		case cut:
			return nil, errLeft
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, fmt.Errorf("rma: rank %d waiting for the others: %w", t.cfg.Rank, ctx.Err())
		}
	}
}

// othersToo waits when a host did not answer: its other ranks are missed a moment later.
func (t *Tree) othersToo(err error) error {
	t.mu.Lock()
	silent := slices.ContainsFunc(t.gone, func(rank int) bool { return t.peers[rank].silent })
	t.mu.Unlock()
	if !silent {
		return err
	}
	time.Sleep(t.cfg.Silence / 4)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.absent()
}

// absent is the error of a rank that is gone and has not contributed to the gathering under way: of
// one that has died if there is one, as others may have left for that reason.
func (t *Tree) absent() error {
	missing := func(p *peer) bool { return p.given < t.given }
	if first := t.firstGone(missing); first != nil {
		return &LossError{*first, t.loss(first)}
	}
	return nil
}

// LossError says which ranks are lost, and is the rma.RankError of one of them.
type LossError struct {
	gone rma.RankError
	Text string // which ones, such as: ranks 2 and 3 have died
}

func (e *LossError) Error() string {
	return "rma: " + e.Text + ", and this call needs every rank"
}

func (e *LossError) Unwrap() error { return &e.gone }

// Loss describes why a rank is not present, and names all that were lost by now.
func (t *Tree) Loss(rank int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loss(t.reason(rank))
}

// maxNamed is how many lost ranks a message names.
const maxNamed = 16

// loss describes a loss, under the lock.
func (t *Tree) loss(of *rma.RankError) string {
	if of.Left {
		return fmt.Sprintf("rank %d has left the job", of.Rank)
	}
	ranks, silent := []int{of.Rank}, t.peers[of.Rank].silent
	for _, rank := range t.gone {
		if p := &t.peers[rank]; p.state == Died && rank != of.Rank && p.silent == silent {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	who := fmt.Sprintf("ranks %v have", ranks[:min(len(ranks), maxNamed)])
	switch more := len(ranks) - maxNamed; {
	case len(ranks) == 1:
		who = fmt.Sprintf("rank %d has", of.Rank)
	case more > 0:
		who = fmt.Sprintf("ranks %v and %d more have", ranks[:maxNamed], more)
	}
	if silent {
		return fmt.Sprintf("%s been out of reach for %v and so taken for dead (--timeout-lost "+
			"sets the limit)", who, t.cfg.Silence)
	}
	return who + " died"
}

// firstGone names a rank that is not present: one that has died, if there is one. Under the lock.
func (t *Tree) firstGone(counts func(p *peer) bool) *rma.RankError {
	var first *rma.RankError
	at := 0
	for _, rank := range t.gone {
		if !counts(&t.peers[rank]) {
			continue
		}
		gone := t.reason(rank)
		if first == nil || first.Left && !gone.Left || first.Left == gone.Left && rank < at {
			first, at = gone, rank
		}
	}
	return first
}

// reason says why a rank is not present. Where it left because another rank was lost, it names
// that one. Under the lock.
func (t *Tree) reason(rank int) *rma.RankError {
	p := t.peers[rank]
	switch missed := int(p.missed) - 1; {
	case p.state == Left && missed == t.cfg.Rank: // for this rank it is the other one that is lost
		return &rma.RankError{Rank: rank}
	case p.state == Left && missed >= 0:
		return &rma.RankError{Rank: missed}
	}
	return &rma.RankError{Rank: rank, Left: p.state == Left}
}

// Gone names a rank that is not present: one that has died, if there is one. nil: all are.
func (t *Tree) Gone() *rma.RankError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.firstGone(func(*peer) bool { return true })
}

// Reason says why a rank is not present. Where it left because another rank was lost, it names
// that one.
func (t *Tree) Reason(rank int) *rma.RankError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason(rank)
}

func (t *Tree) isLeaving() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaving
}

// States returns the state of each rank, and a channel that is closed when one changes or a
// gathering ends.
func (t *Tree) States() ([]State, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	states := make([]State, len(t.peers))
	for rank, p := range t.peers {
		states[rank] = p.state
	}
	return states, t.change
}

// Ended reports whether the connection of a rank has ended, whether it has left before or not.
func (t *Tree) Ended(rank int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peers[rank].ended
}

// Alone reports whether rank 0 is lost, so that this rank learns no more of the others.
func (t *Tree) Alone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut
}

// LocalAddr is the address of this host by which this rank is connected to the others.
func (t *Tree) LocalAddr() net.Addr {
	if t.line == nil {
		return t.door.Addr()
	}
	return t.line.LocalAddr()
}

// AfterSilence returns a channel that is closed when this process has run for as long as a rank may
// be silent. It never is when the tree is closed before.
func (t *Tree) AfterSilence() <-chan struct{} { return t.cfg.clock.after(t.cfg.Silence) }

// Sever has rank 0 end the connection to a rank, which so is lost as when its host is out of reach.
// For tests.
func (t *Tree) Sever(rank int) {
	t.mu.Lock()
	line := t.root.members[rank].line
	t.mu.Unlock()
	line.close()
}

// Leave announces that this rank takes part in no further gathering. It waits for nobody, and a
// gathering that waits here returns.
func (t *Tree) Leave() { t.leave(0) }

// GiveUp is Leave for a rank that cannot continue without another one, which it has lost.
func (t *Tree) GiveUp(lost int) { t.leave(uint32(lost) + 1) }

func (t *Tree) leave(missed uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaving = true
	t.changed()
	if t.root != nil {
		t.root.part(0, peer{state: Left, missed: missed})
	} else {
		t.line.put('L', appendNumbers(nil, missed))
	}
}

// AwaitOthers returns when every other rank has left or died.
func (t *Tree) AwaitOthers(ctx context.Context) error {
	for {
		t.mu.Lock()
		change, over := t.change, t.deserted() || t.cut // without rank 0 it learns no more
		t.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("rank %d has left and rank %d stays: %w", t.cfg.Rank, t.staying(),
				ctx.Err())
		}
	}
}

// deserted reports whether every other rank has left or died. Under the lock.
func (t *Tree) deserted() bool {
	others := len(t.gone)
	if t.peers[t.cfg.Rank].state != Here {
		others--
	}
	return others == t.cfg.Size-1
}

// staying is a rank that has not left.
func (t *Tree) staying() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rank, p := range t.peers {
		if p.state == Here && rank != t.cfg.Rank {
			return rank
		}
	}
	return t.cfg.Rank
}

// Close closes the connections. For the others this rank has died if it has not left before.
func (t *Tree) Close() {
	t.door.shut()
	t.mu.Lock()
	t.closed = true
	conns := []*conn{t.line, t.up}
	for _, e := range t.down {
		conns = append(conns, e.conn)
	}
	if t.root != nil {
		for rank := range t.root.members {
			conns = append(conns, t.root.members[rank].line)
		}
	}
	t.mu.Unlock()
	for _, c := range conns {
		if c != nil {
			c.end()
		}
	}
	for _, c := range conns {
		if c != nil {
			<-c.written
		}
		if c != nil && (c == t.line || c == t.up) {
			c.close()
		}
	}
	t.readers.Wait() // a rank below that reads the end closes the connection
	for _, c := range conns {
		if c != nil {
			c.close()
		}
	}
	t.cfg.clock.end()
	t.cfg.watcher.end()
}

// changed wakes the goroutines that wait for a change. Under the lock.
func (t *Tree) changed() {
	close(t.change)
	t.change = make(chan struct{})
}
