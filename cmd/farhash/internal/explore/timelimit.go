package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/explore"
)

// maxSeconds is the most that --max-seconds takes: ten years.
const maxSeconds = 10 * 365 * 24 * 3600

// limit is the time of --max-seconds; 0 is none.
func (f *exploreFlags) limit() time.Duration {
	return time.Duration(f.maxSeconds * float64(time.Second))
}

// timeIsOver reports whether --max-seconds has ended a search that was interrupted. Ranks of other
// processes have begun at about the same time, and may have ended this one a little earlier.
func (f *exploreFlags) timeIsOver(ctx context.Context) bool {
	var limit cli.TimeLimit
	const early = .9
	return errors.As(context.Cause(ctx), &limit) || ctx.Err() == nil && f.maxSeconds > 0 &&
		time.Since(f.begin).Seconds() > early*f.maxSeconds
}

// interruptCode is the exit code of a search that was interrupted.
func (f *exploreFlags) interruptCode(ctx context.Context) int {
	if f.timeIsOver(ctx) {
		return cli.ExitIncomplete
	}
	return cli.InterruptCode(ctx)
}

// noteTime says, of an answer that is incomplete because the search was interrupted, whether that
// was at its limit.
func (f *exploreFlags) noteTime(ctx context.Context, a *answer) {
	if a.Reason == string(explore.Interrupted) && f.timeIsOver(ctx) {
		a.Reason = string(explore.LimitReached)
		a.detail = fmt.Sprintf("the %g seconds of --max-seconds are over%s", f.maxSeconds, a.detail)
	}
}
