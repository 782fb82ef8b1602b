package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestCaughtSignal: the context ends at the first signal, and says which one it was.
func TestCaughtSignal(t *testing.T) {
	ctx := CatchSignals(context.Background())
	if ctx.Err() != nil || InterruptCode(ctx) != ExitInterrupt {
		t.Errorf("%v before any", context.Cause(ctx))
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if context.Cause(ctx) != (Caught{syscall.SIGTERM}) || InterruptCode(ctx) != ExitTerminate {
		t.Errorf("%v", context.Cause(ctx))
	}
	var exit *ExitError
	if err := Interrupted(ctx, "x"); !errors.As(err, &exit) ||
		exit.Code != ExitTerminate {
		t.Errorf("%v", err)
	}
}
