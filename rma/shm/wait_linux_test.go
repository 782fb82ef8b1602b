package shm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
)

// A rank that is interrupted while it waits for rank 0 tells how long it has waited, and not how
// long it would have.
func TestInterruptedWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Join(ctx, Config{Rank: 1, Size: 2, Job: "wait", Dir: lab.TempFolder(t),
		Timeout: time.Hour})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "1h") {
		t.Errorf("error %v", err)
	}
}
