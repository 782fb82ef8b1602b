package explore

import (
	"context"
	"time"
)

// Walker is what an Expander may be as well, for Options.Walk: it also walks at random from an
// initial state, and notes findings on its way.
type Walker interface {
	Expander
	// Walk takes up to so many steps, from where it was. It stops where a step has changed a
	// finding from 0, and returns the name of the state there. more is false if walks can find
	// nothing more. known has the largest of each finding over all ranks; ranks take different
	// walks.
	Walk(rank int, known []uint64, steps int) (at Walk, more bool)
}

// Walk names a state that a walk of the model has led to. The model can repeat the walk.
type Walk struct {
	Number uint64
	Length int // in steps, at least 1
}

// walked is set in the level of a witness that a walk has met; the rest is the length.
const walked = 1 << 63

const (
	walkSlice = time.Millisecond // a walk goes on for so long at once
	walkSteps = 128              // between looks at the clock
	walkReads = 16               // walks go on for so many times as long as it takes to read known
	// maxWalk is the largest share of the time.
	maxWalk = 0.9
)

// walks are the walks of a rank.
type walks struct {
	Walker // nil where there are none
	share  float64
	known  []uint64
	spent  time.Duration
	until  time.Duration // as long as spent is less, known is not read again
}

// newWalks has the rank walk if that is asked for and the model can.
func (s *search) newWalks() walks {
	walker, ok := s.expander.(Walker)
	if s.opts.Walk == 0 || !ok {
		return walks{}
	}
	return walks{Walker: walker, share: s.opts.Walk, known: make([]uint64, s.findings)}
}

// walk walks, where walks have had less than their share of the time. All that this rank has
// gathered is in the set then.
func (w *worker) walk(ctx context.Context) error {
	if w.walks.Walker == nil {
		return nil
	}
	begun := time.Now()
	due := time.Duration(w.walks.share*float64(begun.Sub(w.started))) - w.walks.spent
	if due < walkSlice {
		return nil
	}
	if err := w.know(ctx); err != nil {
		return err
	}
	for more := true; more && time.Since(begun) < walkSlice; {
		var at Walk
		var err error
		if at, more, err = w.walkOn(); err != nil {
			return err
		}
		if !more {
			w.walks.Walker = nil
		}
		if w.expander.Found() == w.found.n {
			continue
		}
		fresh := w.found.look(nil, at.Number)
		w.walks.until = 0 // known lacks them
		for i := range fresh {
			fresh[i].length = at.Length
		}
		copy(w.noted, w.found.live)
		if err := w.announce(ctx, fresh); err != nil {
			return err
		}
		break
	}
	w.walks.spent += time.Since(begun)
	return nil
}

// know reads the findings of all ranks, unless that would take much of the time of walks.
func (w *worker) know(ctx context.Context) (err error) {
	if w.walks.spent < w.walks.until {
		return nil
	}
	begun := time.Now()
	w.walks.known, err = w.control.merged(ctx, nobody)
	w.walks.until = w.walks.spent + walkReads*time.Since(begun)
	return err
}

// walkOn has the model walk on.
func (w *worker) walkOn() (at Walk, more bool, err error) {
	defer w.recoverPanic(&err)
	at, more = w.walks.Walk(w.job.Rank(), w.walks.known, walkSteps)
	return at, more, nil
}

// walksTo are the walks that have shown findings; nil if none is taken.
func (s *search) walksTo(ctx context.Context, findings []uint64) (map[int]Walk, error) {
	if s.opts.Walk == 0 {
		return nil, nil
	}
	walks := map[int]Walk{}
	for i, word := range findings {
		if word == 0 {
			continue
		}
		at, err := s.firstWitness(ctx, i)
		if err != nil {
			return nil, err
		}
		if at != nil && at.walk() != nil { // nil: a checkpoint has shown it
			walks[i] = *at.walk()
		}
	}
	return walks, nil
}

// level is the level of a witness as other ranks read it, with walked for one of a walk.
func (f witness) level(now uint64) uint64 {
	if f.length > 0 {
		return walked | uint64(f.length)
	}
	return now
}

// walk is the walk to a witness; nil if it was not met by one.
func (p *place) walk() *Walk {
	if p.level&walked == 0 {
		return nil
	}
	return &Walk{Number: p.task, Length: int(p.level &^ walked)}
}
