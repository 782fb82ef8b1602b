package remote

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// Window is what a [Queue] knows of a window of its engine.
type Window struct {
	C        unsafe.Pointer // the window of the library
	Views    [][]uint64     // by rank: its segment for direct access; nil: none
	Coherent bool           // atomics of processors and of the library agree
	engine   string
	rank     int
	words    int
	parts    *Parts // nil: all memory has been taken
	closed   atomic.Bool
}

var _ rma.Committer = (*Window)(nil)

func (w *Window) Rank() int { return w.rank }
func (w *Window) Size() int { return len(w.Views) }
func (w *Window) Len() int  { return w.words }

// CPUAtomicsCoherent is what the engine has found out.
func (w *Window) CPUAtomicsCoherent() bool { return w.Coherent }

// Words is the segment of a rank of this host; nil for others and in a hidden window.
func (w *Window) Words(rank int) []uint64 { return w.Views[rank] }

// Inside is the window of the library, if that is the one of an engine; else nil.
func (w *Window) Inside(engine string) unsafe.Pointer {
	if w.engine != engine {
		return nil
	}
	return w.C
}

// Close ends this rank's use of the window. The engine frees it when every rank has closed it, in
// the next NewWindow or at the end of the job.
func (w *Window) Close() error {
	if !w.closed.Swap(true) && w.parts != nil {
		w.parts.End()
	}
	return nil
}

// CommitBy has p take the memory of the window.
func (w *Window) CommitBy(p *Parts) { w.parts = p }

// Commit takes the memory of words at (rank, off).
func (w *Window) Commit(rank, off, words int) error {
	if rank < 0 || rank >= w.Size() || off < 0 || words < 0 || off > w.words-words {
		panic(fmt.Sprintf("%s: words %d to %d of rank %d are outside a window of %d ranks with "+
			"%d words each", w.engine, off, off+words, rank, w.Size(), w.words))
	}
	if w.parts == nil {
		return nil
	}
	return w.parts.Commit(rank, off, words)
}

// Closed reports whether this rank has closed the window.
func (w *Window) Closed() bool { return w.closed.Load() }

// known is what an operation needs of the window that it names.
func (w *Window) known() *Window { return w }

// windowOf is the Window in one that an operation names. A window of another engine is a bug of the
// caller.
func windowOf(w rma.Window) *Window { return w.(interface{ known() *Window }).known() }

// Server is a Window that answers requests.
type Server struct {
	Window
	handlers *Handlers
	number   uint32
}

var _ rma.Server = (*Server)(nil)

// Init makes a window of some words on each of size ranks. Its number is the same on all ranks.
func (s *Server) Init(engine string, rank, size, words int, number uint32, handlers *Handlers) {
	s.engine, s.rank, s.words, s.Views = engine, rank, words, make([][]uint64, size)
	s.number, s.handlers = number, handlers
}

// Number is the same on all ranks.
func (s *Server) Number() uint32 { return s.number }

// Serve has handler answer what other ranks ship to this one's segment; nil ends that.
func (s *Server) Serve(handler rma.Handler) {
	if handler != nil && s.Closed() {
		panic(s.engine + ": a handler for a window that this rank has closed")
	}
	s.handlers.Serve(s.number, handler)
}

// Close ends this rank's use of the window, and when it returns no handler uses it.
func (s *Server) Close() error {
	if !s.Closed() {
		s.Serve(nil)
	}
	return s.Window.Close()
}
