package direct

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/farhash/farhash/rma"
)

// Window is a window whose segments are next to each other in memory.
type Window struct {
	rank, size int
	flat       []uint64                   // size segments
	words      int                        // of one segment
	hidden     bool                       // Words returns nil, so that tables use one-sided access
	near       Near                       // limits Words; nil: does not
	commit     func(begin, end int) error // of words of flat; nil: all memory has been taken
	release    func() error
	closeOnce  sync.Once
	closeErr   error
}

var _ rma.Committer = (*Window)(nil)

// Near reports whether a rank may directly access the segment of another, as on one host.
type Near func(rank, other int) bool

// NewWindow returns a window over flat, which holds size segments of equal
// length. release is called once by Close. Of a hidden window Words is nil.
func NewWindow(rank, size int, flat []uint64, hidden bool, release func() error) *Window {
	return &Window{rank: rank, size: size, flat: flat, words: len(flat) / size,
		hidden: hidden, release: release}
}

func (w *Window) Rank() int { return w.rank }
func (w *Window) Size() int { return w.size }
func (w *Window) Len() int  { return w.words }

// CPUAtomicsCoherent is true: queues use the atomics of the CPU.
func (w *Window) CPUAtomicsCoherent() bool { return true }

// Words is rank's segment, nil in a hidden window and for ranks that are not near.
func (w *Window) Words(rank int) []uint64 {
	if w.hidden || w.near != nil && !w.near(w.rank, rank) {
		return nil
	}
	return w.segment(rank)
}

func (w *Window) segment(rank int) []uint64 {
	return w.flat[rank*w.words : (rank+1)*w.words : (rank+1)*w.words]
}

// Close releases the memory. Later calls return what the first returned.
func (w *Window) Close() error {
	w.closeOnce.Do(func() {
		w.flat = nil // a later use panics instead of reaching memory that is gone
		w.closeErr = w.release()
	})
	return w.closeErr
}

// CommitBy has commit take the memory of [begin, end) words, counted from the first segment.
func (w *Window) CommitBy(commit func(begin, end int) error) { w.commit = commit }

// Commit takes the memory of words at (rank, off).
func (w *Window) Commit(rank, off, words int) error {
	_ = w.segment(rank)[off : off+words] // panics outside
	if w.commit == nil {
		return nil
	}
	begin := rank*w.words + off
	return w.commit(begin, begin+words)
}

// Show limits Words to the segments of near ranks.
func (w *Window) Show(near Near) { w.near = near }

// Registry has the open windows of a job. The zero value is ready.
type Registry struct {
	mu   sync.Mutex
	open map[*Window]bool
}

// Open is NewWindow, with the window known to the registry until it is closed.
func (r *Registry) Open(rank, size int, flat []uint64, hidden bool,
	release func() error) *Window {
	var w *Window
	w = NewWindow(rank, size, flat, hidden, func() error {
		r.mu.Lock()
		delete(r.open, w)
		r.mu.Unlock()
		return release()
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[*Window]bool{}
	}
	r.open[w] = true
	return w
}

// CloseAll closes the windows that are still open.
func (r *Registry) CloseAll() error {
	r.mu.Lock()
	open := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	var errs []error
	for _, w := range open {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}
