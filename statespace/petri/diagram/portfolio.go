package diagram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// errBeaten ends a rank, as another one has the answer.
var errBeaten = errors.New("diagram: another rank has the answer")

// errNoMore is why a rank has nothing to do: all orders or all processors are taken.
var errNoMore = errors.New("diagram: no order or no processor is left for this rank")

// ErrNoAnswer is what a rank that had no part in a search returns if no other rank has an answer.
var ErrNoAnswer = errors.New("diagram: no rank has an answer; those that have searched say why")

// ErrInterrupted is what a rank returns if no rank has an answer, and the context of another one
// has ended.
var ErrInterrupted = errors.New("diagram: another rank was interrupted")

// pollEvery is how often a rank looks whether another one has the answer.
const pollEvery = 20 * time.Millisecond

// ExploreTogether explores a net with the ranks of a job that search by their shares, each by an
// order and a strategy of its own. The first that has the answer returns it and ends the others,
// which return nil. If all have failed, each that has tried returns why, and the others
// ErrNoAnswer; all return ErrInterrupted if the context of another one has ended. Options.MaxBytes
// is of one rank, and Order and Strategy are not used. A job of one rank does what Explore does.
// Collective.
func ExploreTogether(ctx context.Context, job rma.Job, net *petri.Net, share Share, opts Options,
	properties ...property.Property) (res *Result, err error) {
	if job.Size() == 1 {
		return Explore(ctx, net, opts, properties...)
	}
	p, err := newPortfolio(ctx, job)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	mine, end := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.watch(mine, end) }()
	begin := time.Now()
	res, failure := exploreNth(mine, net, opts, share.Number, properties)
	end(nil)
	if err := <-ended; err != nil {
		return nil, err
	}
	if failure == nil {
		res.Elapsed = time.Since(begin)
		if first, err := p.claim(); err != nil || !first {
			return nil, err
		}
		return res, nil
	}
	return nil, p.outcome(ctx, failure)
}

// exploreNth explores by one of the pairs of a strategy and an order. A negative n has none.
func exploreNth(ctx context.Context, net *petri.Net, opts Options, n int,
	properties []property.Property) (*Result, error) {
	if n < 0 {
		return nil, errNoMore
	}
	strategies := []symbolic.Strategy{symbolic.Saturation, symbolic.Loops}
	opts.Strategy = strategies[n%len(strategies)]
	more, ok := func() bool { return ctx.Err() == nil }, false
	if opts.Order, ok = nth(net, n/len(strategies), more); !ok {
		return nil, errNoMore
	}
	opts.Order = opts.Order.racing(opts.Strategy)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return Explore(ctx, net, opts, properties...)
}

// nth is an order of a net by rising span, where the first is the one that Choose takes, and
// no two are the same.
func nth(net *petri.Net, n int, more func() bool) (Order, bool) {
	touched := touchedBy(net)
	all := orders(net, more)
	slices.SortStableFunc(all, func(a, b Order) int {
		return cmp.Compare(span(touched, inverse(a.Places)), span(touched, inverse(b.Places)))
	})
	for i, o := range all {
		same := func(other Order) bool { return slices.Equal(o.Places, other.Places) }
		if slices.ContainsFunc(all[:i], same) {
			continue
		}
		if n--; n < 0 {
			return o, true
		}
	}
	return Order{}, false
}

// portfolio is how the ranks tell each other what they have. The segment of rank 0 has a word for
// the rank that has the answer, its number plus 1, and one for each rank that has failed.
type portfolio struct {
	job    rma.Job
	window rma.Window
	q      rma.Queue
	words  rma.Buf
}

func newPortfolio(ctx context.Context, job rma.Job) (p *portfolio, err error) {
	p = &portfolio{job: job}
	p.window, err = job.NewWindow(ctx, rma.Spec{Name: "diagram: answer", Words: 1 + job.Size()})
	if err == nil {
		p.q, err = job.NewQueue(1)
	}
	if err == nil {
		p.words, err = p.q.Alloc(1 + job.Size())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("diagram: %w", err), p.close())
	}
	return p, nil
}

func (p *portfolio) close() (err error) {
	if p.q != nil {
		err = p.q.Close()
	}
	if p.window != nil {
		err = errors.Join(err, p.window.Close())
	}
	return err
}

// done waits for an operation and returns its value.
func (p *portfolio) done(h rma.Handle) (uint64, error) {
	if err := p.q.Submit(); err != nil {
		return 0, fmt.Errorf("diagram: %w", err)
	}
	if err := p.q.Wait(context.Background(), h); err != nil {
		return 0, fmt.Errorf("diagram: %w", err)
	}
	return p.q.Value(h)
}

// over reads whether a rank has the answer, or none will have.
func (p *portfolio) over() (won, lost bool, err error) {
	if _, err = p.done(p.q.Get(p.words, p.window, 0, 0)); err != nil {
		return false, false, err
	}
	lost = true
	gone := p.job.Failed()
	for rank, failed := range p.words[1:] {
		lost = lost && (failed != 0 || slices.Contains(gone, rank))
	}
	return p.words[0] != 0, lost, nil
}

// What the word of a rank has that has no answer.
const (
	hasFailed      = 1
	wasInterrupted = 2
)

// interrupted reports whether the context of a rank has ended, which over has read.
func (p *portfolio) interrupted() bool { return slices.Contains(p.words[1:], wasInterrupted) }

// watch ends this rank when another one has the answer, until ctx ends. It ends it as well, and
// returns why, when it cannot know that.
func (p *portfolio) watch(ctx context.Context, end context.CancelCauseFunc) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch won, _, err := p.over(); {
		case err != nil:
			end(err)
			return err
		case won:
			end(errBeaten)
			return nil
		}
	}
}

// claim notes that this rank has the answer, if it is the first one.
func (p *portfolio) claim() (first bool, err error) {
	before, err := p.done(p.q.CompareAndSwap(p.window, 0, 0, 0, uint64(p.job.Rank())+1))
	return err == nil && before == 0, err
}

// outcome waits for the other ranks after this one has failed: nil means that one of them has the
// answer. A rank that has not tried gets ErrNoAnswer if none has it, and any rank ErrInterrupted if
// the context of another one has ended.
func (p *portfolio) outcome(ctx context.Context, failure error) error {
	if errors.Is(failure, errBeaten) {
		return nil
	}
	how := uint64(hasFailed)
	if ctx.Err() != nil {
		how = wasInterrupted
	}
	if _, err := p.done(p.q.FetchAdd(p.window, 0, 1+p.job.Rank(), how)); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		switch won, lost, err := p.over(); {
		case err != nil || won:
			return err
		case ctx.Err() == nil && lost && p.interrupted():
			return ErrInterrupted
		case ctx.Err() != nil || lost && failure != errNoMore:
			return failure
		case lost:
			return ErrNoAnswer
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
