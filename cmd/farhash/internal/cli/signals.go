package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// repeated is how long a signal is taken for the first one once more: timeout and launchers send
// one to a process, and then to its group.
const repeated = 300 * time.Millisecond

// CatchSignals returns a context that the first SIGINT or SIGTERM ends, with a [Caught] as the
// cause. The next signal kills the process as by default.
func CatchSignals(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(Caught{<-signals})
		time.Sleep(repeated)
		signal.Stop(signals)
	}()
	return ctx
}

// TimeLimit is a limit of time that has ended a context.
type TimeLimit time.Duration

func (l TimeLimit) Error() string {
	return "the limit of " + time.Duration(l).String() + " is over"
}

// LimitTime ends ctx when a limit is over; 0 is none. stop ends that.
func LimitTime(ctx context.Context, limit time.Duration) (limited context.Context, stop func()) {
	if limit == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(TimeLimit(limit)) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// Caught is a signal that has ended a context.
type Caught struct{ os.Signal }

func (c Caught) Error() string { return c.String() }
