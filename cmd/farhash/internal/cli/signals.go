package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// repeated is how long a signal is taken for the first one once more: timeout and launchers send
// one to a process, and then to its group.
const repeated = 300 * time.Millisecond

// CatchSignals returns a context that the first SIGINT or SIGTERM ends, and which of
// them it was. The next one kills the process as by default.
func CatchSignals(ctx context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		cancel(caughtSignal{s})
		time.Sleep(repeated)
		signal.Stop(signals)
	}()
	return ctx, func() os.Signal {
		var c caughtSignal
		if errors.As(context.Cause(ctx), &c) {
			return c.Signal
		}
		return nil // another rank was interrupted
	}
}

type caughtSignal struct{ os.Signal }

func (c caughtSignal) Error() string { return c.String() }
