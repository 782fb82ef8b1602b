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
	ctx, caught := CatchSignals(context.Background())
	if caught() != nil {
		t.Errorf("%v before any", caught())
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if caught() != syscall.SIGTERM || InterruptCode(caught) != ExitTerminate {
		t.Errorf("%v", caught())
	}
	var exit *ExitError
	if err := Interrupted(caught, "x"); !errors.As(err, &exit) ||
		exit.Code != ExitTerminate {
		t.Errorf("%v", err)
	}
}
