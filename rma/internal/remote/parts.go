package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// unitWords is how much memory is taken together.
const unitWords = memory.UnitBytes / 8

// The words of a rank in the control window of a reserved window. A rank that needs memory of
// another host adds 1 to the request word of each unit and then to the first word. The owner
// answers a unit with its request word and a code:
//
//	| requests that are answered (60) | code (4) |
//
// Nobody but the owner writes answers, and nobody but the others writes requests: atomics of
// processors and of the library need not agree. Requests of ranks that have died are answered too.
const (
	wordRequests = iota // of all units
	firstUnit           // a request and an answer for each unit
)

// The codes of an answer.
const (
	codeNone = iota
	codeTaken
	codeNoMemory
	codeNoSpace
	codeBits = 4
)

// ControlWords is how many words of each rank the control window has for segments of so many.
func ControlWords(words int) int { return firstUnit + 2*unitsOf(words) }

// unitsOf is the number of units of a segment.
func unitsOf(words int) int { return (words + unitWords - 1) / unitWords }

func requestAt(unit int) int { return firstUnit + 2*unit }
func answerAt(unit int) int  { return firstUnit + 2*unit + 1 }

// Take takes the memory of words of a segment.
type Take func(off, words int) error

// Parts takes the memory of a reserved window in parts: on this host itself, and on
// others by asking their owners.
type Parts struct {
	job     rma.Job
	name    string
	words   int // of a segment
	control rma.Window
	takes   []Take // by rank; nil: the owner is asked

	own   []uint64 // control words of this rank
	heard uint64   // requests that were there when the units were last examined

	known  sync.Map     // [rank, unit] of other hosts that have memory
	use    sync.RWMutex // read-locked while cells are in use
	cells  *rma.Cells   // made when they are needed; nil when closed
	once   sync.Once
	broken error
	open   context.Context // ends when the window is closed
	close  context.CancelFunc
}

// NewParts returns the parts of w, whose job makes the control window. own is this rank's segment
// of it, and takes take the memory of the ranks of this host, this rank's included.
func NewParts(job rma.Job, name string, w, control rma.Window, own []uint64, takes []Take) *Parts {
	p := &Parts{job: job, name: name, words: w.Len(), control: control, takes: takes, own: own}
	p.open, p.close = context.WithCancel(context.Background())
	return p
}

// Commit takes the memory of words at (rank, off), which are within the segment.
func (p *Parts) Commit(rank, off, words int) error {
	if take := p.takes[rank]; take != nil {
		return take(off, words)
	}
	p.use.RLock()
	defer p.use.RUnlock()
	err := p.ask(rank, off/unitWords, unitsOf(off+words))
	if err != nil && p.open.Err() != nil {
		return fmt.Errorf("committing memory of window %q: %w", p.name, rma.ErrClosed)
	}
	return err
}

// ask asks the owner for the memory of units that this rank does not know to have it.
func (p *Parts) ask(rank, first, last int) error {
	if err := p.open.Err(); err != nil {
		return err // the control window is closed as well
	}
	p.once.Do(func() { p.cells, p.broken = rma.NewCells(p.job, p.control) })
	if p.broken != nil {
		return p.broken
	}
	waits := map[int]uint64{} // by unit: the number of the request
	for unit := first; unit < last; unit++ {
		if _, known := p.known.Load([2]int{rank, unit}); known {
			continue
		}
		answer, err := p.cells.Load(p.open, rank, answerAt(unit))
		if err != nil {
			return err
		}
		if code(answer) == codeTaken {
			p.known.Store([2]int{rank, unit}, true)
			continue
		}
		before, err := p.cells.Add(p.open, rank, requestAt(unit), 1)
		if err != nil {
			return err
		}
		waits[unit] = before + 1
	}
	if len(waits) == 0 {
		return nil
	}
	if _, err := p.cells.Add(p.open, rank, wordRequests, 1); err != nil {
		return err
	}
	for unit, request := range waits {
		if err := p.await(rank, unit, request); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the owner has answered a request for a unit.
func (p *Parts) await(rank, unit int, request uint64) error {
	var pace backoff.Backoff
	for {
		answer, err := p.cells.Load(p.open, rank, answerAt(unit))
		if err != nil {
			return err
		}
		if code(answer) == codeTaken {
			p.known.Store([2]int{rank, unit}, true)
			return nil
		}
		if answer>>codeBits >= request {
			return p.refused(rank, code(answer))
		}
		pace.Pause()
	}
}

func code(answer uint64) uint64 { return answer & (1<<codeBits - 1) }

// refused is the error of the owner, as far as its answer says it.
func (p *Parts) refused(rank int, code uint64) error {
	err, remedy := error(syscall.ENOMEM), "ask for less, or use more hosts"
	if code == codeNoSpace {
		err, remedy = syscall.ENOSPC, "its file system of shared memory is full: enlarge it "+
			"(mount -o remount,size=...)"
	}
	return fmt.Errorf("the host of rank %d has no more memory for window %q: %w; %s", rank, p.name,
		err, remedy)
}

// answer takes the memory that others have asked this rank for, and reports whether they have.
func (p *Parts) answer() bool {
	requests := atomic.LoadUint64(&p.own[wordRequests])
	if requests == p.heard {
		return false
	}
	p.heard = requests
	for unit := range unitsOf(p.words) {
		request := atomic.LoadUint64(&p.own[requestAt(unit)])
		last := atomic.LoadUint64(&p.own[answerAt(unit)])
		if code(last) == codeTaken || request == last>>codeBits {
			continue
		}
		off := unit * unitWords
		code := codeOf(p.takes[p.control.Rank()](off, min(unitWords, p.words-off)))
		atomic.StoreUint64(&p.own[answerAt(unit)], request<<codeBits|code)
	}
	return true
}

func codeOf(err error) uint64 {
	switch {
	case err == nil:
		return codeTaken
	case errors.Is(err, syscall.ENOSPC):
		return codeNoSpace
	}
	return codeNoMemory
}

// End ends this rank's use. Commits under way return an error.
func (p *Parts) End() {
	p.close()
	p.use.Lock()
	defer p.use.Unlock()
	if p.cells != nil {
		_ = p.cells.Close()
		p.cells = nil
	}
	_ = p.control.Close()
}

// How long an owner waits before it looks for requests again: the most is for each rank with which
// it shares a processor.
const (
	minWait = 50 * time.Microsecond
	maxWait = time.Millisecond
)

// Owner answers the requests for the memory of this rank. It uses no library, so a rank may wait
// for the answer in any call. The zero Owner is ready.
type Owner struct {
	Share int // ranks of this host for each processor; set before Add, 0 means 1

	mu      sync.Mutex
	parts   map[*Parts]bool
	stop    chan struct{}
	running sync.WaitGroup
}

// Add has requests for the memory of a window answered, until Remove.
func (o *Owner) Add(p *Parts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop == nil {
		o.parts, o.stop = map[*Parts]bool{}, make(chan struct{})
		o.running.Go(o.run)
	}
	o.parts[p] = true
}

// Remove ends what Add has begun. Nil is nothing. Afterwards the memory is not used any more.
func (o *Owner) Remove(p *Parts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.parts, p)
}

func (o *Owner) run() {
	wait := minWait
	for {
		select {
		case <-o.stop:
			return
		case <-time.After(wait):
		}
		if wait = min(2*wait, time.Duration(max(1, o.Share))*maxWait); o.answer() {
			wait = minWait
		}
	}
}

// answer answers the requests that there are.
func (o *Owner) answer() (answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range o.parts {
		answered = p.answer() || answered
	}
	return answered
}

// End ends everything. Add is not called any more.
func (o *Owner) End() {
	o.mu.Lock()
	stop := o.stop
	o.mu.Unlock()
	if stop != nil {
		close(stop)
		o.running.Wait()
	}
}
