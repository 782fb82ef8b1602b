package farhash

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/mpi"
	"github.com/farhash/farhash/rma/shm"
	"github.com/farhash/farhash/rma/ucx"
)

//go:embed VERSION
var version string

// Version is the version of farhash, such as "0.1.0": of the command, of libfarhash and of
// the package for Python as well.
func Version() string { return strings.TrimSpace(version) }

// TimeoutVariable is the environment variable that says how long a rank waits for
// the others to arrive, as a duration: "90s". An option given to Join comes first.
const TimeoutVariable = "FARHASH_TIMEOUT"

// LostVariable is the environment variable that says for how long another host may be out of
// reach before its ranks are lost, as a duration. It is for rma/ucx; without it that is three
// seconds.
const LostVariable = "FARHASH_TIMEOUT_LOST"

// EngineVariable is the environment variable that names the engine of a job of processes: "shm",
// "mpi" or "ucx". Without it the engine is rma/shm where all ranks are on one host, and rma/mpi
// where they are not.
const EngineVariable = "FARHASH_ENGINE"

// Option changes how a job is joined.
type Option func(*options)

type options struct {
	timeout  time.Duration
	lost     time.Duration
	oneSided bool
}

// Timeout bounds the wait for the other ranks to arrive; the default is a minute.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// OneSided prevents direct access of tables to memory: everything goes through the
// queues of the engine. For tests, and to measure that path.
func OneSided() Option { return func(o *options) { o.oneSided = true } }

func collect(opts []Option) (options, error) {
	switch wish := os.Getenv(EngineVariable); wish {
	case "", "shm", "mpi", "ucx":
	default:
		return options{}, fmt.Errorf("farhash: %s=%q is neither \"shm\", \"mpi\" nor \"ucx\"",
			EngineVariable, launch.Cut(wish))
	}
	var o options
	var err error
	if o.timeout, err = durationOf(TimeoutVariable); err != nil {
		return o, err
	}
	if o.lost, err = durationOf(LostVariable); err != nil {
		return o, err
	}
	for _, opt := range opts {
		opt(&o)
	}
	return o, nil
}

// durationOf is the positive duration in a variable, 0 where that is not set.
func durationOf(variable string) (time.Duration, error) {
	text := os.Getenv(variable)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("farhash: %s=%q is no positive duration such as 90s", variable,
			launch.Cut(text))
	}
	return d, nil
}

// SilenceLimit is for how long another host may be out of reach before its ranks are lost, by
// [LostVariable] or the default.
func SilenceLimit() (time.Duration, error) {
	d, err := durationOf(LostVariable)
	if d == 0 {
		d = ucx.DefaultSilence
	}
	return d, err
}

// Join makes this process a rank of the job that its launcher has started: farhash
// run, mpirun, srun or torchrun. Ranks on several hosts need a program that is built with
// MPI, see package rma/mpi, or with UCX, see package rma/ucx. Without a launcher this process
// is the only rank of a job of its own. Close the job when done.
//
// A process may join job after job, as often and in the same order on all ranks. How, depends on
// the engine:
//
//	a job of one  any number, also at the same time
//	rma/shm       the same
//	rma/ucx       the next one after Close of the last; before, it is an error at once
//	rma/mpi       one: Close ends MPI, which cannot begin again, and the next Join is an error at
//	              once; package rma/mpi has Start for several, one after the other
//
// Under mpirun the engine of a job of one host is rma/shm, unless [EngineVariable] says mpi: a
// program that joins twice there needs rma/mpi's Start on several hosts.
func Join(ctx context.Context, opts ...Option) (rma.Job, error) {
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	m, launched, err := launch.Detect()
	switch {
	case err != nil:
		return nil, fmt.Errorf("farhash: %w", err)
	case !launched:
		return local.SingleWith(local.Options{Hidden: o.oneSided}), nil
	}
	return joinLaunched(ctx, m, o)
}

// joinLaunched joins a job of processes.
func joinLaunched(ctx context.Context, m launch.Membership, o options) (rma.Job, error) {
	if os.Getenv(EngineVariable) == "ucx" {
		return joinUCX(ctx, m, o)
	}
	useMPI, err := chooseMPI(m, os.Getenv(EngineVariable), mpi.Built)
	switch {
	case err != nil:
		return nil, fmt.Errorf("farhash: %w", err)
	case useMPI:
		return mpi.Join(ctx, mpi.Config{Timeout: o.timeout, Hidden: o.oneSided})
	}
	return shm.Join(ctx, shm.Config{Rank: m.Rank, Size: m.Size, Job: m.Job,
		Timeout: o.timeout, Hidden: o.oneSided})
}

// chooseMPI decides between rma/mpi and rma/shm. built reports whether there is a choice.
func chooseMPI(m launch.Membership, wish string, built bool) (bool, error) {
	spread := m.LocalSize != 0 && m.LocalSize != m.Size
	where := fmt.Sprintf("%s started %d ranks, %d of them on this host", m.Launcher, m.Size,
		m.LocalSize)
	byMPI := m.Launcher == launch.OpenMPI || m.Launcher == launch.MPICH ||
		m.Launcher == launch.Slurm
	switch {
	case wish == "mpi": // which says by itself how to build it, or who must start it
		return true, nil
	case !spread:
		return false, nil
	case wish == "shm":
		return false, fmt.Errorf("%s, and %s=shm needs all on one host", where, EngineVariable)
	case !byMPI:
		return false, fmt.Errorf("%s; ranks on several hosts are started by mpirun, mpiexec "+
			"or srun, or by farhash run --rendezvous", where)
	case !built:
		return false, fmt.Errorf("%s; ranks on several hosts need a program built with "+
			"-tags 'mpi openmpi' or 'mpi mpich', or with -tags ucx and %s=ucx", where,
			EngineVariable)
	}
	return true, nil
}

// Run calls fn on the ranks of a job. Under a launcher this process is one of them
// and fn is called once; otherwise n goroutines of this process are, and fn is
// called n times at once. Run returns when this process's ranks have returned.
func Run(ctx context.Context, n int, fn func(job rma.Job) error, opts ...Option) error {
	o, err := collect(opts)
	if err != nil {
		return err
	}
	m, launched, err := launch.Detect()
	switch {
	case err != nil:
		return fmt.Errorf("farhash: %w", err)
	case !launched:
		return local.RunWith(local.Options{Hidden: o.oneSided}, n, fn)
	}
	job, err := joinLaunched(ctx, m, o)
	if err != nil {
		return err
	}
	if err := fn(job); err != nil {
		giveUp(job, err)
		return err
	}
	return job.Close()
}

// echoDelay is how long a rank that failed because of another one delays its end: launchers end a
// job with the first rank that fails, and the other may not have printed its error yet.
const echoDelay = time.Second

// giveUp closes the job of a rank that has failed. An engine whose Close waits for the other
// ranks then waits for a short time only: they may be waiting for this one.
func giveUp(job rma.Job, why error) {
	if j, ok := job.(interface{ Abandon() error }); ok {
		_ = j.Abandon()
	} else {
		_ = job.Close()
	}
	var gone *rma.RankError
	var failed *rma.PeerError
	if errors.As(why, &gone) || errors.As(why, &failed) {
		time.Sleep(echoDelay)
	}
}

// Launched reports whether a launcher has started this process as a rank, and which. Environment
// variables that no job can be joined with are an error.
func Launched() (launcher string, launched bool, err error) {
	if _, err := collect(nil); err != nil {
		return "", false, err
	}
	m, launched, err := launch.Detect()
	return m.Launcher, launched, err
}

// joinUCX joins a job whose ranks connect by TCP, at the rendezvous in the environment.
func joinUCX(ctx context.Context, m launch.Membership, o options) (rma.Job, error) {
	r, err := launch.DetectRendezvous()
	if err != nil {
		return nil, fmt.Errorf("farhash: %s=ucx: %w", EngineVariable, err)
	}
	if text := launch.TokenWarning(""); text != "" && m.Rank == 0 {
		fmt.Fprintln(os.Stderr, "farhash: warning:", text)
	}
	return ucx.Join(ctx, ucx.Config{Rank: m.Rank, Size: m.Size, Rendezvous: r.Address,
		Token: r.Token, Timeout: o.timeout, Silence: o.lost, Hidden: o.oneSided})
}
