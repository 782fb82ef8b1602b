//go:build mpi && cgo

package mpi

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/neighbours"
	"github.com/farhash/farhash/rma/internal/remote"
)

// errClosed is the answer to a call of a rank that has left.
var errClosed = fmt.Errorf("rma/mpi: for this rank the job is %w", rma.ErrClosed)

// abandonGrace is how long a rank that has failed waits for the others.
const abandonGrace = 5 * time.Second

// rollTime is how long a rank that could not join waits to hear who else could not.
const rollTime = 2 * time.Second

// spins is how often C polls for completion, letting other threads run in between, before Go
// examines the context.
const spins = 50

// member is this process's membership in a job of MPI.
type member struct {
	c          *C.fh_job
	lib        library
	rank, size int
	owns       bool              // MPI ends with this job
	ofComm     bool              // JoinComm made it: it is closed and freed by itself
	near       *neighbours.Group // the ranks of this host
	serves     bool              // all ranks take messages at any time
	swaps      bool              // and do atomics that come so
	carried    bool              // and all else: MPI makes no windows
	inbox      remote.Inbox
	owner      remote.Owner
	reserves   bool // windows take memory in parts
	trying     bool // whether they can: the window being made is of this rank alone

	closing atomic.Bool
	mu      sync.Mutex // one collective call at a time
	broken  error      // why this rank is out of step
	made    uint32     // how many windows were begun
	windows []*window  // made and not freed, in the same order on every rank
}

var _ rma.Job = (*member)(nil)

// Join makes this process a rank of the job that MPI has started.
func Join(ctx context.Context, cfg Config) (rma.Job, error) {
	return joinAs(ctx, cfg, overrides{})
}

func joinAs(ctx context.Context, cfg Config, p overrides) (rma.Job, error) {
	cfg.complete()
	mpiState.mu.Lock()
	defer mpiState.mu.Unlock()
	if mpiState.joined {
		return nil, errors.New("rma/mpi: this process is a rank of a job already; close it " +
			"first, or join several jobs between mpi.Start and its stop")
	}
	owns := !mpiState.held
	if owns {
		if err := begin(ctx, cfg); err != nil {
			return nil, err
		}
	} else if p.first == 0 {
		if err := freeClosed(ctx); err != nil {
			return nil, err
		}
	}
	j := &member{lib: ask(), owns: owns}
	mpiState.joined = owns
	var world C.fh_facts
	C.fh_phase(&world)
	return j.join(ctx, world.world, cfg, p) // if not, MPI stays: it cannot end without the others
}

// JoinComm makes this process a rank of a job of the processes of a communicator of the program,
// which is given by its Fortran handle (MPI_Comm_c2f) and is no intercommunicator. Several jobs may
// be open at once, whatever processes their communicators have in common. Close waits until all
// ranks have closed, as MPI_Win_free does. All this is between [Start] and its stop. Collective
// among the processes of the communicator.
func JoinComm(ctx context.Context, comm int32, cfg Config) (rma.Job, error) {
	return joinCommAs(ctx, comm, cfg, overrides{})
}

func joinCommAs(ctx context.Context, comm int32, cfg Config, p overrides) (rma.Job, error) {
	cfg.complete()
	mpiState.mu.Lock()
	held := mpiState.held
	mpiState.mu.Unlock()
	if !held {
		return nil, errors.New("rma/mpi: jobs of communicators are joined between mpi.Start and " +
			"its stop")
	}
	j := &member{lib: ask(), ofComm: true}
	return j.join(ctx, C.int(comm), cfg, p)
}

// join makes the job: over MPI, or over shared memory where all ranks have it in common.
func (j *member) join(ctx context.Context, comm C.int, cfg Config, p overrides) (rma.Job, error) {
	if err := j.connect(ctx, comm, cfg, p); err != nil {
		return nil, err
	}
	if j.near.OneHost() {
		return &onOneHost{neighbours.OneHostJob{Job: j.near.Memory}, j}, nil
	}
	return j, nil
}

// connect connects to the other ranks and tests what MPI can do.
func (j *member) connect(ctx context.Context, comm C.int, cfg Config, p overrides) error {
	within, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	err := j.collective(within, func() C.int { return C.fh_join(comm, C.int(p.first), &j.c) })
	j.rank, j.size = int(C.fh_rank(j.c)), int(C.fh_size(j.c))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w; %s", err, j.callRoll(int32(comm)))
		}
		return fmt.Errorf("rma/mpi: joining the other ranks: %w", err)
	}
	if err := j.shareHosts(within, cfg, p.host); err != nil || j.near.OneHost() {
		return err
	}
	if err := j.openMessages(within, cfg.Hidden, p.carried, p.store); err != nil {
		return err
	}
	if err := j.tryOut(within); err != nil || mpiState.passive {
		return err
	}
	return j.tryReserve(within)
}

// callRoll says which ranks have not come in time. Those that have tell each other so.
func (j *member) callRoll(comm int32) string {
	if C.fh_call_roll(C.int(comm)) != 0 {
		return "which ranks have not come is not known"
	}
	present := make([]uint8, j.size)
	present[j.rank] = 1
	end := time.Now().Add(rollTime)
	var pace backoff.Backoff
	for slices.Contains(present, 0) && time.Now().Before(end) &&
		C.fh_hear_roll(C.int(comm), (*C.uint8_t)(&present[0])) == 0 {
		pace.Pause()
	}
	var missing []int
	for rank, here := range present {
		if here == 0 {
			missing = append(missing, rank)
		}
	}
	if len(missing) == 0 {
		return "all ranks have come, but were too slow" + onProcessors()
	}
	return fmt.Sprintf("these have not come: %v; they were started, but have not called Join, or "+
		"are slow%s", missing, onProcessors())
}

// tryReserve finds out whether MPI makes windows of memory that is there, leaves it alone until it
// is used, and whether loads see what others write there. Cards that pin memory take all of it.
// Collective.
func (j *member) tryReserve(ctx context.Context) error {
	can, err := j.all(ctx, memory.CanReserve())
	if err != nil || !can {
		return err
	}
	j.trying = true
	w, err := j.newWindow(ctx, rma.Spec{Name: "rma/mpi: reserved", Words: direct.UnitBytes / 4,
		Reserve: true})
	if j.trying = false; err != nil {
		return j.broken // nil: windows are made in another way
	}
	j.reserves, err = j.all(ctx, C.fh_unified(w.c) != 0 && !w.part.Touched())
	return errors.Join(err, w.Close())
}

// all reports whether all ranks say yes. Collective.
func (j *member) all(ctx context.Context, yes bool) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	least, err := j.least(ctx, []uint64{uint64(flag(yes))})
	return err == nil && least[0] == 1, err
}

// Reserves reports whether memory of windows can be taken in parts. All ranks agree.
func (j *member) Reserves() bool { return j.reserves }

// Room is how many bytes the file system of shared memory has left.
func (j *member) Room() uint64 { return j.near.Room() }

func (j *member) Rank() int { return j.rank }
func (j *member) Size() int { return j.size }

// Barrier returns when every rank has called it.
func (j *member) Barrier(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.collective(ctx, func() C.int { return C.fh_barrier(j.c) })
}

// collective makes one collective call, and none after one has failed. The lock is held.
func (j *member) collective(ctx context.Context, start func() C.int) error {
	if j.closing.Load() {
		return errClosed
	}
	if j.broken == nil {
		j.broken = j.collectiveOnce(ctx, start)
	}
	return j.broken
}

func (j *member) collectiveOnce(ctx context.Context, start func() C.int) error {
	if code := start(); code != 0 {
		return j.lib.fault("beginning a collective call", code)
	}
	var pace backoff.Backoff
	for {
		var gone C.int
		switch code := C.fh_meet(j.c, spins, &gone); code {
		case C.FH_PENDING:
		case C.FH_GONE:
			return &rma.RankError{Rank: int(gone), Left: true}
		default:
			return j.lib.fault("a collective call", code)
		}
		if j.closing.Load() {
			return errClosed
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("rma/mpi: rank %d waiting for the others: %w", j.rank, err)
		}
		pause(&pace)
	}
}

// pause lets time pass, in which the thread that owns MPI makes progress for others. Where there
// is none, a goroutine that waits does so itself.
func pause(pace *backoff.Backoff) {
	if !mpiState.passive {
		pace.Pause()
	}
}

// transfer makes a collective call that takes some words and brings others. They are in
// memory of C, which is not given back if the call does not come to its end. The lock is
// held.
func (j *member) transfer(ctx context.Context, mine []uint64, brings int,
	start func(mine, all *C.uint64_t) C.int) ([]uint64, error) {
	mem := (*C.uint64_t)(C.fr_calloc(C.size_t(len(mine)+brings), 8))
	words := unsafe.Slice((*uint64)(unsafe.Pointer(mem)), len(mine)+brings)
	copy(words, mine)
	there := (*C.uint64_t)(unsafe.Pointer(&words[len(mine)]))
	if err := j.collective(ctx, func() C.int { return start(mem, there) }); err != nil {
		return nil, err
	}
	all := append([]uint64(nil), words[len(mine):]...)
	C.free(unsafe.Pointer(mem))
	return all, nil
}

// Exchange gives mine to every rank and returns what each rank gave. The lock is held,
// save by Join, which is alone.
func (j *member) Exchange(ctx context.Context, mine direct.Values) ([]direct.Values, error) {
	words, err := j.transfer(ctx, mine[:], len(mine)*j.size,
		func(mine, all *C.uint64_t) C.int {
			return C.fh_gather(j.c, mine, all, direct.ValueWords)
		})
	if err != nil {
		return nil, err
	}
	all := make([]direct.Values, j.size)
	for rank := range all {
		copy(all[rank][:], words[rank*direct.ValueWords:])
	}
	return all, nil
}

// least returns the least that any rank has given, word by word. As Exchange.
func (j *member) least(ctx context.Context, mine []uint64) ([]uint64, error) {
	words := C.int(len(mine))
	return j.transfer(ctx, mine, len(mine), func(mine, least *C.uint64_t) C.int {
		return C.fh_least(j.c, mine, least, words)
	})
}

// agree returns the same error on all ranks where one has failed. As Exchange.
func (j *member) agree(ctx context.Context, what string, mine error) error {
	vote := uint64(math.MaxUint64)
	if mine != nil {
		vote = uint64(j.rank)
	}
	least, err := j.least(ctx, []uint64{vote})
	if mine != nil || err != nil {
		return errors.Join(mine, err)
	}
	if least[0] != math.MaxUint64 {
		return &rma.PeerError{What: "rma/mpi: " + what, Rank: int(least[0])}
	}
	return nil
}

// Failed lists no rank: when a rank dies, the launcher of MPI ends the job.
func (j *member) Failed() []int { return nil }

// Close leaves the job. It waits until all ranks have, as MPI demands, unless MPI is held
// by Start and the job has all processes.
func (j *member) Close() error { return j.end(context.Background()) }

// Abandon is Close for a rank that has failed: it waits for the others only for a while.
// If they are not done by then, the launcher ends them when this process ends.
func (j *member) Abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonGrace)
	defer cancel()
	return j.end(ctx)
}

// end leaves the job, and gives back what belongs to it alone.
func (j *member) end(ctx context.Context) error {
	if j.closing.Swap(true) {
		return nil
	}
	err := j.leave()
	switch {
	case err != nil:
	case j.owns:
		err = j.finish(ctx)
	case j.ofComm:
		if err = j.awaitOthers(ctx); err == nil {
			err = j.free()
		}
	}
	return err
}

// leave announces to the others that this rank makes no further collective call.
func (j *member) leave() error {
	j.mu.Lock() // collective calls under way have ended
	defer j.mu.Unlock()
	if err := j.lib.fault("leaving the job", C.fh_leave(j.c)); err != nil {
		return err
	}
	if !j.owns && !j.ofComm {
		mpiState.mu.Lock()
		defer mpiState.mu.Unlock()
		mpiState.closed = append(mpiState.closed, j)
	}
	return nil
}

// finish waits for the others, frees everything and ends MPI.
func (j *member) finish(ctx context.Context) error {
	mpiState.mu.Lock()
	defer mpiState.mu.Unlock()
	if !mpiState.joined {
		return nil
	}
	mpiState.joined = false
	if err := j.awaitOthers(ctx); err != nil {
		return err
	}
	err := j.free()
	end()
	return err
}

// awaitOthers waits until all ranks have left.
func (j *member) awaitOthers(ctx context.Context) error {
	var pace backoff.Backoff
	for {
		code := C.fh_all_left(j.c)
		if code != C.FH_PENDING {
			return j.lib.fault("waiting for all ranks to leave", code)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("rma/mpi: rank %d has left and others have not: %w", j.rank, err)
		}
		pause(&pace)
	}
}

// free gives everything back. Collective.
func (j *member) free() error {
	var errs []error
	j.inbox.End()
	j.owner.End()
	for _, w := range j.windows {
		errs = append(errs, w.free())
	}
	j.windows = nil
	errs = append(errs, j.lib.fault("freeing the job", C.fh_free_job(j.c)))
	return errors.Join(append(errs, j.near.Close())...)
}
