package rma

import (
	"context"
	"errors"
	"fmt"
)

// Job is this rank's membership in a group of ranks.
type Job interface {
	Rank() int // 0 to Size()-1
	Size() int
	// NewWindow makes a window with one zeroed segment per rank. It is
	// collective: every rank calls it, in the same order, with the same Spec;
	// where they differ every rank gets the same error. The memory is set aside
	// when NewWindow returns, except with Spec.Reserve: using it cannot fail.
	NewWindow(ctx context.Context, spec Spec) (Window, error)
	// Barrier returns when every rank has called it. Collective. Once a barrier or
	// NewWindow has failed because a rank is lost or ctx has ended, this rank is out
	// of step with the others: its later collective calls return the same error.
	Barrier(ctx context.Context) error
	// NewQueue returns an ordered stream of operations on any windows of the job,
	// with room for depth of them in flight. One goroutine uses it.
	NewQueue(depth int) (Queue, error)
	// Failed lists the ranks that died or left without Close, in rising order.
	Failed() []int
	// Close leaves the job and closes its windows. Collective calls of this rank that wait
	// return an error. Where the memory of a rank ends with its process (rma/mpi, rma/ucx),
	// Close waits until the other ranks have left or are lost.
	Close() error
}

// Spec describes a window to be made.
type Spec struct {
	Name  string // for messages: "set: buckets"
	Words int    // 64-bit words in each rank's segment, at least 1
	// Key says which window it is where many have one name; empty: the Name does. Every rank gives
	// the same one.
	Key string
	// Reserve makes a window that is only addresses at first: it may be larger than memory, and
	// [Committer].Commit takes the memory in parts. An engine that cannot do so ([Reserves]) takes
	// all memory at once, as without Reserve.
	Reserve bool
}

// Window is the segments of all ranks, which this rank accesses.
type Window interface {
	Rank() int
	Size() int
	// Len is the number of 64-bit words of each segment.
	Len() int
	// CPUAtomicsCoherent: CPU atomics on Words are atomic with respect to
	// compare-and-swap and fetch-and-add of the engine.
	CPUAtomicsCoherent() bool
	// Words is a rank's segment as memory of this process, for direct access; nil where
	// only one-sided operations access it.
	Words(rank int) []uint64
	// Close releases this rank's use of the memory. The other ranks keep theirs.
	Close() error
}

// Handle names an operation in flight on a queue.
type Handle int

// NoHandle is what a finished Op waits for.
const NoHandle Handle = -1

// Queue is an ordered stream of one-sided operations of one goroutine, on the
// windows of its job. Offsets and lengths count 64-bit words. Nothing is sent before
// Submit. An operation outside the segment panics, and so does waiting for one that
// was not submitted: these are bugs of the protocol, not input errors.
type Queue interface {
	// Alloc returns a zeroed buffer that the engine can read and write. It is valid until
	// the queue is closed.
	Alloc(words int) (Buf, error)
	// Get copies len(dst) words at (rank, off) into dst.
	Get(dst Buf, w Window, rank, off int) Handle
	// Put copies src to (rank, off). src must not change before it is done.
	Put(src Buf, w Window, rank, off int) Handle
	// CompareAndSwap stores newWord at (rank, off) if old is there. Value is
	// the word that was there.
	CompareAndSwap(w Window, rank, off int, old, newWord uint64) Handle
	// FetchAdd adds delta at (rank, off). Value is the word that was there before.
	FetchAdd(w Window, rank, off int, delta uint64) Handle
	// Submit starts everything posted since the last Submit.
	Submit() error
	// Done reports whether h, submitted and not yet released, is complete.
	Done(h Handle) bool
	// Wait returns when h is done, or with an error when ctx ends first.
	Wait(ctx context.Context, h Handle) error
	// Value returns the word that a compare-and-swap or fetch-and-add saw (0
	// after Get and Put) and releases h, which must be done.
	Value(h Handle) (uint64, error)
	// Stats are the queue's counters, for the queue's goroutine to read and add to.
	Stats() *Stats
	Close() error
}

// Buf is memory of a queue. Slicing it gives a shorter Buf.
type Buf []uint64

// Stats counts the operations of a queue.
type Stats struct {
	Gets            uint64
	Puts            uint64
	CompareAndSwaps uint64
	FetchAdds       uint64
	Ships           uint64 // shipped requests
	Bytes           uint64 // payload of gets, puts, atomics, requests and answers
	RoundTrips      uint64 // waits of step machines
	Retries         uint64 // compare-and-swaps that lost
}

// Add adds t to s.
func (s *Stats) Add(t Stats) {
	s.Gets += t.Gets
	s.Puts += t.Puts
	s.CompareAndSwaps += t.CompareAndSwaps
	s.FetchAdds += t.FetchAdds
	s.Ships += t.Ships
	s.Bytes += t.Bytes
	s.RoundTrips += t.RoundTrips
	s.Retries += t.Retries
}

// Since is s less an earlier reading of the same counters.
func (s Stats) Since(before Stats) Stats {
	s.Gets -= before.Gets
	s.Puts -= before.Puts
	s.CompareAndSwaps -= before.CompareAndSwaps
	s.FetchAdds -= before.FetchAdds
	s.Ships -= before.Ships
	s.Bytes -= before.Bytes
	s.RoundTrips -= before.RoundTrips
	s.Retries -= before.Retries
	return s
}

// ErrClosed is in the error of every call on a job or a table that this rank has closed.
var ErrClosed = errors.New("closed")

// RankError says that a call cannot succeed because a rank is lost.
type RankError struct {
	Rank int
	Left bool // it closed the job in good order; false: it died
}

func (e *RankError) Error() string {
	if e.Left {
		return fmt.Sprintf("rma: rank %d has left the job, and this call needs every rank", e.Rank)
	}
	return fmt.Sprintf("rma: rank %d has died, and this call needs every rank", e.Rank)
}

// PeerError says that another rank has failed; the error of that rank says why. Where it failed
// because a third rank was lost, Lost names that one.
type PeerError struct {
	What string
	Rank int
	Lost *RankError // nil: no lost rank is the cause
}

func (e *PeerError) Error() string {
	if e.Lost != nil {
		return fmt.Sprintf("%s: %v", e.What, e.Lost)
	}
	return fmt.Sprintf("%s: rank %d failed; its message says why", e.What, e.Rank)
}

func (e *PeerError) Unwrap() error {
	if e.Lost == nil {
		return nil
	}
	return e.Lost
}
