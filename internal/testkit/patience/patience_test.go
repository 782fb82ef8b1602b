package patience

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFactor(t *testing.T) {
	for _, c := range []struct {
		round    time.Duration
		runnable int
		want     float64
	}{
		{roundTakes / 2, 1, 1}, {roundTakes, 2, 1}, {5 * roundTakes, 2, 5}, {roundTakes, 12, 6},
		{5 * roundTakes, 20, 10},
	} {
		if got := factor(c.round, c.runnable, 2); got != c.want {
			t.Errorf("a round of %v, %d runnable on 2 processors: %g, want %g", c.round, c.runnable,
				got, c.want)
		}
	}
}

func TestRunnable(t *testing.T) {
	for text, want := range map[string]int{"6.9 5.1 3.7 20/178 27417\n": 20, "": 0, "a b c d": 0} {
		if got := parseRunnable([]byte(text)); got != want {
			t.Errorf("%q: %d runnable, want %d", text, got, want)
		}
	}
}

// A process that a test starts stretches as the test does.
func TestEnviron(t *testing.T) {
	name, value, _ := strings.Cut(Environ(), "=")
	if Stretch(time.Minute) < time.Minute {
		t.Error("a limit is shortened")
	}
	t.Setenv(name, value)
	if again := Environ(); again != name+"="+value {
		t.Errorf("%s, want the value %s", again, value)
	}
	t.Setenv(name, "7.5")
	if got := Stretch(time.Minute); got != 450*time.Second {
		t.Errorf("7.5 minutes are %v", got)
	}
}

// A clock counts each second by the load of that second.
func TestClockFollowsTheLoad(t *testing.T) {
	load := 1.
	c := NewClock()
	c.load = func(time.Time) float64 { return load }
	now := c.begun
	for _, step := range []struct {
		load float64
		want time.Duration
	}{{1, 10 * time.Second}, {10, 11 * time.Second}, {5, 13 * time.Second}, {1, 23 * time.Second}} {
		load, now = step.load, now.Add(10*time.Second)
		if got := c.advance(now); got != step.want {
			t.Errorf("after ten seconds at load %g the clock has %v, want %v", load, got, step.want)
		}
	}
}

// A clock measures a round seldom, and its load is at least 1.
func TestMeterMeasuresSeldom(t *testing.T) {
	begin := time.Now()
	m := &meter{measured: begin}
	if load := m.load(begin.Add(measureEvery - 1)); load < 1 || m.round != 0 {
		t.Errorf("at first the load is %g, a round %v", load, m.round)
	}
	if load := m.load(begin.Add(measureEvery)); load < 1 || m.round == 0 {
		t.Errorf("later the load is %g, a round %v", load, m.round)
	}
	m.round = 50 * roundTakes
	if load := m.load(begin.Add(2*measureEvery - 1)); load < 50 {
		t.Errorf("with slow rounds the load is %g", load)
	}
}

func TestWithTimeout(t *testing.T) {
	ctx, cancel := WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) ||
		!strings.Contains(cause.Error(), "1ms without load") {
		t.Errorf("it has ended because %v", cause)
	}
	ctx, cancel = WithTimeout(t.Context(), time.Hour)
	cancel()
	if cause := context.Cause(ctx); cause != context.Canceled {
		t.Errorf("it was cancelled because %v", cause)
	}
}

func TestAfterFunc(t *testing.T) {
	over := make(chan struct{})
	AfterFunc(time.Hour, func() { t.Error("an hour is over") })()
	AfterFunc(time.Millisecond, func() { close(over) })
	<-over
}
