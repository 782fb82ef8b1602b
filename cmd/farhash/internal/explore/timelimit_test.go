package explore

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
)

// A search that would take an hour ends at its limit, and says what it rests on.
func TestMaxSeconds(t *testing.T) {
	net := try.Net(t, "philosophers", 24)
	args := []string{"explore", net, "--engine", "explicit", "-q", "--max-seconds", ".1"}
	try.Here(t, args...).Has(t, cli.ExitIncomplete,
		"INCOMPLETE: limit reached: the 0.1 seconds of --max-seconds are over")
	o := try.ObjectHere(t, cli.ExitIncomplete, append(args, "--json")...)
	if o["reason"] != string(explore.LimitReached) || o["complete"] != false {
		t.Errorf("%v", o)
	}
	c := try.Run(t, try.Launched(t, "2", args...)...)
	if c.Code() != cli.ExitIncomplete {
		t.Errorf("two processes: exit code %d, %s", c.Code(), &c.Out)
	}
	for _, wrong := range []string{"-1", "NaN", "1e300"} {
		try.Refused(t, cli.ExitUsage, "--max-seconds must be above 0", "explore", net,
			"--max-seconds", wrong)
	}
}

// A signal is told from the limit, also where another rank was ended by one of the two.
func TestTimeIsOver(t *testing.T) {
	signalled, end := context.WithCancelCause(t.Context())
	end(cli.Caught{Signal: syscall.SIGTERM})
	limited, end := context.WithCancelCause(t.Context())
	end(cli.TimeLimit(time.Second))
	for what, test := range map[string]struct {
		ctx   context.Context
		limit float64
		since time.Duration
		over  bool
		code  int
	}{
		"a signal":                          {signalled, 1, 2 * time.Second, false, 143},
		"the limit":                         {limited, 1, time.Second, true, 3},
		"another rank's limit":              {t.Context(), 10, 95 * time.Second / 10, true, 3},
		"another rank's signal":             {t.Context(), 1e6, 2 * time.Second, false, 130},
		"another rank's signal, no limit":   {t.Context(), 0, time.Hour, false, 130},
		"a signal when the limit has ended": {signalled, 1, time.Hour, false, 143},
	} {
		f := exploreFlags{maxSeconds: test.limit, begin: time.Now().Add(-test.since)}
		a := answer{Reason: string(explore.Interrupted), detail: "; more"}
		f.noteTime(test.ctx, &a)
		over := a.Reason == string(explore.LimitReached)
		if over != test.over || f.interruptCode(test.ctx) != test.code {
			t.Errorf("%s: over %v, exit code %d", what, over, f.interruptCode(test.ctx))
		}
		if over && a.detail != "the "+map[bool]string{true: "1", false: "10"}[test.limit == 1]+
			" seconds of --max-seconds are over; more" {
			t.Errorf("%s: %q", what, a.detail)
		}
	}
}

// Nothing ends a context without a limit, and stop ends the timer of one that has one.
func TestLimitTime(t *testing.T) {
	ctx, stop := cli.LimitTime(t.Context(), 0)
	if stop(); ctx.Err() != nil {
		t.Error("without a limit the context has ended")
	}
	ctx, stop = cli.LimitTime(t.Context(), time.Millisecond)
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != cli.TimeLimit(time.Millisecond) ||
		cause.Error() != "the limit of 1ms is over" {
		t.Error(cause)
	}
	stop()
}
