package launch

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// notifySignals catches the signals that are passed on to the ranks. One that
// this process was started to ignore, as nohup does, stays ignored. SIGPIPE is
// caught to outlive the reader of the output until the ranks have ended.
func notifySignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 16)
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
	} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals, func() { signal.Stop(signals) }
}

// exited records the end of a rank. The first failure starts the end of
// the job.
func (j *jobRun) exited(e rankExit) {
	r := j.ranks[e.rank]
	r.alive = false
	j.alive--
	code, how := outcome(e)
	if code == ExitRankLost && j.struck {
		j.code = code
	}
	if j.opts.Survive && died(e) && !j.asked(e) && j.stage <= graced {
		j.outlived(e, code, how)
		return
	}
	j.ended = j.ended || !died(e)
	if code == 0 || j.failed && !j.cause(e, code) {
		return
	}
	if j.code != ExitRankLost || !died(e) {
		j.code = code
	}
	j.failed, j.struck = true, j.struck || died(e)
	if j.stage <= graced && !j.asked(e) {
		next := ""
		if j.alive > 0 {
			next = fmt.Sprintf("; stopping the other ranks in %v", j.opts.Grace)
		}
		j.say("rank %d (pid %d) %s%s", j.opts.First+e.rank, r.cmd.Process.Pid, how, next)
	}
	j.stopAt(graced)
}

// outlived records that a rank was killed, in a job that survives that.
func (j *jobRun) outlived(e rankExit, code int, how string) {
	next := ""
	switch {
	case j.alive > 0 && j.stage == running:
		next = "; the other ranks continue"
	case j.alive == 0 && !j.ended:
		j.code = code
	}
	j.say("rank %d (pid %d) %s%s", j.opts.First+e.rank, j.ranks[e.rank].cmd.Process.Pid, how, next)
}

// cause reports whether a rank that ends after a failure is the reason for it, where ranks that
// noticed the loss were faster to end: one that a signal killed, or one that failed in another way
// than by ExitRankLost where all before it ended by that.
func (j *jobRun) cause(e rankExit, code int) bool {
	lost := j.code == ExitRankLost && code != ExitRankLost
	return j.stage == graced && (died(e) || lost) && !j.struck && !j.asked(e)
}

// died reports whether a signal ended the rank.
func died(e rankExit) bool {
	return e.err == nil && e.state.Sys().(syscall.WaitStatus).Signaled()
}

// asked reports whether the user's own signal ended the rank, at once or by way of
// the exit code that stands for it.
func (j *jobRun) asked(e rankExit) bool {
	if e.err != nil {
		return false
	}
	status := e.state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return j.passedOn[status.Signal()]
	}
	return j.passedOn[syscall.Signal(status.ExitStatus()-exitSignal)]
}

// outcome returns the exit code of a rank and what happened to it.
func outcome(e rankExit) (code int, how string) {
	if e.err != nil {
		return 1, fmt.Sprintf("could not be waited for: %v", e.err)
	}
	status := e.state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		s := status.Signal()
		return exitSignal + int(s), fmt.Sprintf("was killed by signal %d (%v)", int(s), s)
	}
	how = fmt.Sprintf("exited with code %d", status.ExitStatus())
	if status.ExitStatus() == ExitRankLost {
		how += ", as it lost another rank"
	}
	return status.ExitStatus(), how
}

// stopAt brings the job to a stage, unless it is there already.
func (j *jobRun) stopAt(to stage) {
	if to <= j.stage {
		return
	}
	j.stage = to
	var next time.Duration
	switch to {
	case graced:
		next = j.opts.Grace
	case terminated:
		j.signal(syscall.SIGTERM)
		next = j.opts.Grace
	case killed:
		// Output that stays open is waited for, as in a job that ends well.
		j.signal(syscall.SIGKILL)
		j.timer = nil
		return
	case abandoned:
		j.timer = nil
		return
	}
	j.timer = time.NewTimer(next)
}

// force kills the ranks at once, and waits only shortly for processes that they left.
func (j *jobRun) force() {
	if j.forced {
		return
	}
	j.forced = true
	j.stage = killed
	j.signal(syscall.SIGKILL)
	j.timer = time.NewTimer(abandonAfter)
}

// advance begins the next stage when the time of the present one is over.
func (j *jobRun) advance() {
	next := j.stage + 1
	if j.alive > 0 {
		switch next {
		case terminated:
			j.say("stopping %s, still running after %v", j.remaining(), j.opts.Grace)
		case killed:
			j.say("killing %s, still running %v after SIGTERM", j.remaining(), j.opts.Grace)
		}
	}
	j.stopAt(next)
}
