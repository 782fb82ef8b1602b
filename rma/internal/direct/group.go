package direct

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
)

// LineWords is the number of words that a group keeps for each rank: two cache
// lines, so that ranks do not write to the same ones.
const LineWords = 16

const (
	wordState    = 0
	wordArrived  = 1
	wordExchange = 2 // two banks of ValueWords words
	// ValueWords is the number of values that an exchange carries.
	ValueWords = 7
)

// State is the state of a rank.
type State uint64

// The states of a rank, in the order in which it goes through them.
const (
	Absent State = iota
	Joined
	Left   // closed the job in good order
	Failed // died
)

// Values is the contribution of a rank to an exchange.
type Values [ValueWords]uint64

// errClosed is the answer to a collective call of a rank that has left.
var errClosed = fmt.Errorf("rma: for this rank the job is %w", rma.ErrClosed)

// Group makes the collective calls of a job in shared words.
type Group struct {
	rank, size int
	alive      func(rank int) bool

	mu       sync.Mutex // one collective call at a time
	barriers uint64     // barriers this rank has arrived at
	broken   error      // why this rank is out of step
	checked  int        // rank that was checked last, while waiting for another

	closing atomic.Bool  // collective calls are to return
	use     sync.RWMutex // read-locked while words are in use
	words   []uint64     // LineWords per rank; nil when closed
}

// NewGroup returns rank's view of a group over words, LineWords for each of
// size ranks. alive reports whether a rank that joined still runs; it is called
// rarely.
func NewGroup(rank, size int, words []uint64, alive func(rank int) bool) *Group {
	return &Group{rank: rank, size: size, words: words[:size*LineWords], alive: alive}
}

func (g *Group) word(rank, i int) *uint64 { return &g.words[rank*LineWords+i] }

// said is the state in the words of a rank.
func (g *Group) said(rank int) State { return State(atomic.LoadUint64(g.word(rank, wordState))) }

// state is the state of a rank, where a dead rank cannot write its own.
func (g *Group) state(rank int) State {
	s := g.said(rank)
	if s == Joined && rank != g.rank && !g.alive(rank) {
		// It may have left between the two checks.
		if s = g.said(rank); s == Joined {
			return Failed
		}
	}
	return s
}

// SetState records the state of a rank.
func (g *Group) SetState(rank int, s State) {
	g.use.RLock()
	defer g.use.RUnlock()
	if g.words != nil {
		atomic.StoreUint64(g.word(rank, wordState), uint64(s))
	}
}

// Failed lists the ranks that died.
func (g *Group) Failed() []int {
	g.use.RLock()
	defer g.use.RUnlock()
	var failed []int
	for rank := range g.size {
		if g.words != nil && g.state(rank) == Failed {
			failed = append(failed, rank)
		}
	}
	return failed
}

// Close records that this rank has left, unless it has failed. Collective calls
// that wait return, and when Close does, nobody uses the words any more.
func (g *Group) Close() {
	g.closing.Store(true)
	g.use.Lock()
	defer g.use.Unlock()
	if g.words != nil && g.said(g.rank) == Joined {
		atomic.StoreUint64(g.word(g.rank, wordState), uint64(Left))
	}
	g.words = nil
}

// Join records this rank as joined and waits until every rank has. It gives up
// after timeout, or when a rank has gone again, and names the ranks that are
// missing.
func (g *Group) Join(ctx context.Context, timeout time.Duration) error {
	g.SetState(g.rank, Joined)
	start := time.Now()
	deadline := start.Add(timeout)
	var pace backoff.Backoff
	for {
		missing := g.missing()
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("rma: rank %d waited %v for the job of %d ranks; "+
				"these never arrived: %v; were all ranks started, and with the same job name?",
				g.rank, timeout, g.size, missing)
		}
		if !pace.Pause() {
			continue
		}
		err := ctx.Err()
		for rank := 0; rank < g.size && err == nil; rank++ {
			err = g.gone(rank) // no rank leaves in good order before all have joined
		}
		if err != nil {
			return fmt.Errorf("rma: rank %d waited %v for ranks %v of the job: %w", g.rank,
				time.Since(start).Round(time.Millisecond), g.missing(), err)
		}
	}
}

func (g *Group) missing() []int {
	var missing []int
	for rank := range g.size {
		if g.said(rank) == Absent {
			missing = append(missing, rank)
		}
	}
	return missing
}

// gone is a RankError if a rank has died or left. Where it has left, and another one has died, it
// names that one: ranks leave when they find that one has died.
func (g *Group) gone(rank int) error {
	switch g.state(rank) {
	case Failed:
		return &rma.RankError{Rank: rank}
	case Left:
		for other := range g.size {
			if g.state(other) == Failed {
				return &rma.RankError{Rank: other}
			}
		}
		return &rma.RankError{Rank: rank, Left: true}
	}
	return nil
}

// Barrier returns when every rank has called it, or with a RankError when one
// cannot any more.
func (g *Group) Barrier(ctx context.Context) error {
	return g.collective(func() error { return g.meet(ctx) })
}

// Exchange sends mine to every rank and returns what each rank sent. It is a
// barrier as well.
func (g *Group) Exchange(ctx context.Context, mine Values) ([]Values, error) {
	all := make([]Values, g.size)
	err := g.collective(func() error {
		bank := wordExchange + int(g.barriers%2)*ValueWords
		for i, value := range mine {
			atomic.StoreUint64(g.word(g.rank, bank+i), value)
		}
		if err := g.meet(ctx); err != nil {
			return err
		}
		for rank := range all {
			for i := range all[rank] {
				all[rank][i] = atomic.LoadUint64(g.word(rank, bank+i))
			}
		}
		return nil
	})
	return all, err
}

// collective makes one collective call at a time, and none after one has failed.
func (g *Group) collective(call func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.use.RLock()
	defer g.use.RUnlock()
	if g.words == nil {
		return errClosed
	}
	if g.broken == nil {
		g.broken = call()
	}
	return g.broken
}

// meet arrives at the next barrier and waits for the others there.
func (g *Group) meet(ctx context.Context) error {
	g.barriers++
	atomic.StoreUint64(g.word(g.rank, wordArrived), g.barriers)
	for rank := range g.size {
		if err := g.awaitArrival(ctx, rank); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) awaitArrival(ctx context.Context, rank int) error {
	var pace backoff.Backoff
	for !g.arrived(rank) {
		if !pace.Pause() {
			continue
		}
		if g.closing.Load() {
			return errClosed
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("rma: waiting for rank %d: %w", rank, err)
		}
		// Another rank than the one that is awaited may be dead.
		g.checked = (g.checked + 1) % g.size
		for _, r := range [...]int{rank, g.checked} {
			// A rank may arrive and be gone between two checks.
			if err := g.gone(r); err != nil && !g.arrived(r) {
				return err
			}
		}
	}
	return nil
}

// arrived reports whether a rank has arrived at the barrier where this one waits.
func (g *Group) arrived(rank int) bool {
	return atomic.LoadUint64(g.word(rank, wordArrived)) >= g.barriers
}
