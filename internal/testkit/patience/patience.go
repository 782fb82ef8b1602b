// Package patience has time limits of tests that follow the load of the machine. A limit that ends
// a test which hangs, and one after which a rank is taken for dead, are right on a machine that
// does nothing else. On one with ten times as many busy threads as processors, or in a guest that
// is emulated, the same work takes ten times as long.
//
// The time of a [Clock] passes more slowly while the machine is loaded. So a limit is right however
// the load changes until it is reached:
//
//	ctx, cancel := patience.WithTimeout(ctx, time.Minute)
//	stop := patience.AfterFunc(time.Minute, func() { panic("this rank does not end") })
//
// A limit that the product itself keeps by the time of the machine is stretched once, by the load
// of that moment. All ranks of a job must stretch alike:
//
//	cfg.Silence = patience.Stretch(2 * time.Second)
//	cmd.Env = append(cmd.Env, patience.Environ()) // its limits are stretched as now
package patience

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// variable has the factor for a process that a test starts: all ranks of a job have the same one.
const variable = "FARHASH_TEST_PATIENCE"

// A round of work takes so long on a machine that is not loaded, and somewhat less on a new one.
const (
	roundSteps = 2_000_000
	roundTakes = 10 * time.Millisecond
)

// measureEvery is how often a clock measures a round, which costs that much of a processor.
const measureEvery = 2 * time.Second

// Stretch is a limit as long as the load of the machine wants it, and never shorter than given.
func Stretch(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * stretchFactor())
}

// Environ is a variable for the environment of processes, which Stretch then as this process does
// at this moment. Their clocks follow the load all the same.
func Environ() string { return fmt.Sprintf("%s=%.3f", variable, stretchFactor()) }

func stretchFactor() float64 {
	if given, err := strconv.ParseFloat(os.Getenv(variable), 64); err == nil && given >= 1 {
		return given
	}
	return factor(round(), runnable(), runtime.NumCPU())
}

// WithTimeout is a context that ends when a clock that starts now has counted the limit. Then
// [context.Cause] says so, and wraps [context.DeadlineExceeded].
func WithTimeout(parent context.Context, limit time.Duration) (context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	clock := NewClock()
	ticker := time.NewTicker(min(max(limit/64, time.Millisecond), time.Second/4))
	go func() {
		defer ticker.Stop()
		for clock.Elapsed() < limit {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(&over{limit, time.Since(clock.begun)})
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// AfterFunc calls a function when a clock that starts now has counted the limit, unless it is
// stopped before.
func AfterFunc(limit time.Duration, fn func()) (stop func()) {
	ctx, cancel := WithTimeout(context.Background(), limit)
	context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != context.Canceled {
			fn()
		}
	})
	return cancel
}

// over is the cause of a context that a clock has ended.
type over struct{ limit, took time.Duration }

func (o *over) Error() string {
	return fmt.Sprintf("%v without load, which took %v, are over", o.limit,
		o.took.Round(time.Millisecond))
}

func (o *over) Unwrap() error { return context.DeadlineExceeded }

// Clock counts time as it would pass on a machine that is not loaded.
type Clock struct {
	begun time.Time
	load  func(now time.Time) float64

	mu      sync.Mutex
	seen    time.Time
	elapsed time.Duration
}

// NewClock starts a clock.
func NewClock() *Clock {
	now := time.Now()
	m := &meter{measured: now}
	return &Clock{begun: now, seen: now, load: m.load}
}

// Elapsed is the time that the clock has counted. The clock takes the load at this moment for the
// load since the last call, so call it several times a second.
func (c *Clock) Elapsed() time.Duration { return c.advance(time.Now()) }

func (c *Clock) advance(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += time.Duration(float64(now.Sub(c.seen)) / c.load(now))
	c.seen = now
	return c.elapsed
}

// meter measures the load for a clock.
type meter struct {
	measured time.Time
	round    time.Duration
}

func (m *meter) load(now time.Time) float64 {
	if now.Sub(m.measured) >= measureEvery {
		m.measured, m.round = now, round()
	}
	return factor(m.round, runnable(), runtime.NumCPU())
}

// factor is how much slower work is if a round takes so long, and so many threads want to run.
func factor(round time.Duration, runnable, processors int) float64 {
	return max(1, float64(round)/float64(roundTakes), float64(runnable)/float64(processors))
}

// runnable is how many threads want to run. 0: unknown.
func runnable() int {
	text, _ := os.ReadFile("/proc/loadavg")
	return parseRunnable(text)
}

// parseRunnable reads /proc/loadavg: ".2 .1 .3 20/178 4711".
func parseRunnable(loadavg []byte) int {
	fields := bytes.Fields(loadavg)
	if len(fields) < 4 {
		return 0
	}
	running, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, _ := strconv.Atoi(string(running))
	return n
}

// round is how long a round of work takes now.
func round() time.Duration {
	begin, x := time.Now(), uint64(88172645463325252)
	for range roundSteps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x) // so that the work is done
	return time.Since(begin)
}
