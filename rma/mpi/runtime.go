//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/system/launch"
)

// How long a rank waits for the others to arrive: so long, and longer for each rank with which it
// shares a processor.
const (
	defaultTimeout = time.Minute
	sharedTimeout  = 5 * time.Second
)

// progressInterval is how often the engine enters MPI for other ranks when this one
// does not. An operation on the memory of a rank that computes takes that much longer at most.
const progressInterval = 100 * time.Microsecond

// overrides is what tests have a rank believe.
type overrides struct {
	host  string // the name of this host; "" is the real one
	first int    // how many ranks of MPI the job has, 0 for all

	carried bool // MPI makes no windows
	store   int  // bytes for requests of others; 0: as many as there are
}

func (c *Config) complete() {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout + time.Duration((here()-1)/runtime.NumCPU())*sharedTimeout
	}
}

// finalizeTimeout is how long MPI_Finalize may take. All ranks have left by then, so
// nothing is lost with a library that never returns from it.
const finalizeTimeout = 5 * time.Second

// mpiState is the state of MPI in this process.
var mpiState struct {
	mu      sync.Mutex
	running bool      // the thread that owns MPI runs
	held    bool      // by Start
	passive bool      // no thread owns MPI
	joined  bool      // by a job that will stop MPI
	over    bool      // MPI cannot be initialised again
	hangs   bool      // MPI_Finalize did not return in time
	closed  []*member // closed and not yet freed, as that is collective
}

// levels are the thread levels by their names.
var levels = [...]string{"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"}

// Start initialises MPI, unless the program has, and keeps it for jobs that are joined
// one after the other. Close of such a job waits for nobody; stop does. Collective.
func Start(ctx context.Context, cfg Config) (stop func() error, err error) {
	cfg.complete()
	mpiState.mu.Lock()
	defer mpiState.mu.Unlock()
	if mpiState.running {
		return nil, errors.New("rma/mpi: MPI is in use by this engine already")
	}
	if err := begin(ctx, cfg); err != nil {
		return nil, err
	}
	mpiState.held = true
	return sync.OnceValue(func() error {
		mpiState.mu.Lock()
		defer mpiState.mu.Unlock()
		err := freeClosed(context.Background())
		mpiState.held = false
		end()
		return err
	}), nil
}

// begin starts the thread that owns MPI. The lock is held.
func begin(ctx context.Context, cfg Config) error {
	l := ask()
	if mpiState.over {
		return fmt.Errorf("rma/mpi: %s has been finalised and cannot be initialised again; "+
			"join several jobs between mpi.Start and its stop", l.text)
	}
	if m, _, _ := launch.Detect(); l.wouldAbort(m.Launcher, os.Getenv) {
		return fmt.Errorf("rma/mpi: srun has started this program without PMIx or PMI2, and %s "+
			"ends it in MPI_Init; %s", l.text, l.together(launch.Slurm))
	}
	l.prepare()
	C.fh_crowd(C.int(here()), C.int(runtime.NumCPU()))
	mpiState.passive = cfg.Passive
	if cfg.Passive {
		C.fh_attach()
	} else if errno := C.fh_start(C.long(progressInterval.Nanoseconds())); errno != 0 {
		return fmt.Errorf("rma/mpi: no thread for MPI: error %d", int(errno))
	}
	mpiState.running = true
	facts, err := initialised(ctx, l, cfg.Timeout)
	if err == nil {
		err = usable(l, facts, cfg.Passive)
	}
	if err != nil {
		end()
	}
	return err
}

// initialised waits for the end of MPI_Init.
func initialised(ctx context.Context, l library, timeout time.Duration) (C.fh_facts, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var facts C.fh_facts
	var pace backoff.Backoff
	for {
		switch C.fh_phase(&facts) {
		case C.FH_RUNNING:
			return facts, nil
		case C.FH_FAILED:
			if mpiState.passive && facts.ours == 0 {
				return facts, errors.New("rma/mpi: the program has not initialised MPI, which " +
					"Config.Passive leaves to it")
			}
			return facts, l.fault("initialising MPI", facts.code)
		}
		if pace.Pause() && ctx.Err() != nil {
			return facts, fmt.Errorf("rma/mpi: %s was not initialised within %v; "+
				"were all ranks started?%s: %w", l.text, timeout, onProcessors(), ctx.Err())
		}
	}
}

// usable refuses an MPI that cannot carry the job.
func usable(l library, facts C.fh_facts, passive bool) error {
	if facts.level < 2 && !passive {
		who := "the program has initialised it so; initialise it with MPI_Init_thread and " +
			"MPI_THREAD_SERIALIZED or more, or leave it to this engine"
		if facts.ours != 0 {
			who = "the library gives no more; use one that was built with threads"
		}
		return fmt.Errorf("rma/mpi: %s runs at MPI_THREAD_%s, and MPI_THREAD_SERIALIZED is "+
			"needed: %s", l.text, levels[facts.level], who)
	}
	m, launched, err := launch.Detect()
	if err != nil {
		return fmt.Errorf("rma/mpi: %w", err)
	}
	if launched && m.Size != int(facts.size) {
		return l.strange(m, int(facts.size))
	}
	return nil
}

// strange is the error of a launcher that is not of this library, which sees so many ranks.
func (l library) strange(m launch.Membership, sees int) error {
	return fmt.Errorf("rma/mpi: %s has started %d ranks, and %s, with which this program "+
		"is linked, sees %d: they do not belong together; %s",
		m.Launcher, m.Size, l.text, sees, l.together(m.Launcher))
}

// Alone returns an error if MPI, which the program has initialised, sees this process alone, while
// the launcher has started several: each would be a job of its own.
func Alone(ranks int) error {
	m, launched, err := launch.Detect()
	if err != nil || !launched || ranks != 1 || m.Size == 1 {
		return nil
	}
	return ask().strange(m, ranks)
}

// wouldAbort reports whether the library ends the program in MPI_Init: Open MPI does under an srun
// that offers no way in which ranks find each other.
func (l library) wouldAbort(launcher string, get func(variable string) string) bool {
	return l.kind == openMPI && launcher == launch.Slurm &&
		get("PMIX_RANK")+get("PMIX_NAMESPACE")+get("PMI_FD")+get("PMI_RANK") == ""
}

// together is how a program with this library is started.
func (l library) together(launcher string) string {
	switch {
	case launcher == launch.Slurm:
		return "start the program with srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list), " +
			"or with the launcher of that library"
	case l.kind == openMPI:
		return "start the program with the mpirun of Open MPI (mpirun.openmpi), " +
			"or build it with the other MPI: -tags 'mpi mpich', or libfarhash-mpich"
	case l.kind == mpich:
		return "start the program with the mpiexec of MPICH (mpiexec.hydra), " +
			"or build it with the other MPI: -tags 'mpi openmpi', or libfarhash-openmpi"
	}
	return "start the program with the launcher of that library"
}

// end has the thread that owns MPI finalise it, if the engine has initialised it, and end.
// It does not wait for a library that hangs. The lock is held.
func end() {
	C.fh_finish()
	deadline := time.Now().Add(finalizeTimeout)
	var facts C.fh_facts
	var pace backoff.Backoff
	for {
		phase := C.fh_phase(&facts)
		if phase == C.FH_FINISHED || phase == C.FH_FAILED || time.Now().After(deadline) {
			mpiState.running = false
			mpiState.hangs = phase == C.FH_RUNNING
			mpiState.over = phase != C.FH_FINISHED || facts.ours != 0
			return
		}
		pace.Pause()
	}
}

// freeClosed frees the jobs that were closed while MPI was held. Collective among the ranks of
// each. The lock is held.
func freeClosed(ctx context.Context) error {
	var errs []error
	for _, j := range mpiState.closed {
		errs = append(errs, j.awaitOthers(ctx), j.free())
	}
	mpiState.closed = nil
	return errors.Join(errs...)
}

// worldRank is the number of this process in MPI, once that is initialised.
func worldRank() int {
	var facts C.fh_facts
	C.fh_phase(&facts)
	return int(facts.rank)
}
