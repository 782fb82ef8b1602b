package farhash

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/shm"
)

// TimeoutVariable is the environment variable that says how long a rank waits for
// the others to arrive, as a duration: "90s". An option given to Join comes first.
const TimeoutVariable = "FARHASH_TIMEOUT"

// Option changes how a job is joined.
type Option func(*options)

type options struct {
	timeout  time.Duration
	oneSided bool
}

// Timeout bounds the wait for the other ranks to arrive; the default is a minute.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// OneSided keeps tables from using memory directly: everything goes through the
// queues of the engine. For tests, and to measure that path.
func OneSided() Option { return func(o *options) { o.oneSided = true } }

func collect(opts []Option) (options, error) {
	var o options
	if text := os.Getenv(TimeoutVariable); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return o, fmt.Errorf("farhash: %s=%q is no positive duration such as 90s",
				TimeoutVariable, text)
		}
		o.timeout = d
	}
	for _, opt := range opts {
		opt(&o)
	}
	return o, nil
}

// Join makes this process a rank of the job that its launcher has started: farhash
// run, mpirun, srun or torchrun on one host. Without a launcher it is the only
// rank of a job of its own. Close the job when done.
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
	return joinShared(ctx, m, o)
}

// joinShared joins a job of processes of this host.
func joinShared(ctx context.Context, m launch.Membership, o options) (rma.Job, error) {
	if m.LocalSize != 0 && m.LocalSize != m.Size {
		return nil, fmt.Errorf("farhash: %s started %d ranks, %d of them on this host; "+
			"the ranks of a job must be processes of one host", m.Launcher, m.Size, m.LocalSize)
	}
	return shm.Join(ctx, shm.Config{Rank: m.Rank, Size: m.Size, Job: m.Job,
		Timeout: o.timeout, Hidden: o.oneSided})
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
	job, err := joinShared(ctx, m, o)
	if err != nil {
		return err
	}
	if err := fn(job); err != nil {
		_ = job.Close()
		return err
	}
	return job.Close()
}

// Launched tells whether a launcher has started this process as a rank, and which.
func Launched() (launcher string, launched bool, err error) {
	m, launched, err := launch.Detect()
	return m.Launcher, launched, err
}
