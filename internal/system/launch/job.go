package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stage says how far the end of a job has been forced. It only grows.
type stage int

const (
	running    stage = iota
	graced           // a rank failed, the others may finish
	terminated       // they got SIGTERM
	killed           // they got SIGKILL
	abandoned        // what they left behind is no longer waited for
)

// abandonAfter is how long Run waits for output that stays open when the user has
// asked twice to end the job.
const abandonAfter = time.Second

// jobRun is a job in the course of Run. One goroutine, Run's, uses it; the
// others report to it.
type jobRun struct {
	opts   Options
	key    string
	stdout *sink
	stderr *sink
	ranks  []*rankRun
	exits  chan rankExit // a rank has exited
	closed chan int      // a stream of this rank is at its end

	alive  int // ranks that have not exited
	open   int // streams of output that are not at their end
	stage  stage
	timer  *time.Timer // of the next stage; nil until there is one
	code   int         // of the rank that failed first
	failed bool
	struck bool // a signal ended the rank that failed
	ended  bool // a rank has ended by itself

	passedOn    map[syscall.Signal]bool // signals that the ranks got from the user
	interrupted bool                    // SIGINT was one of them
	forced      bool                    // and came again
}

// rankRun is one rank.
type rankRun struct {
	cmd   *exec.Cmd
	pipes []*os.File // the ends of its output that this process reads
	open  int        // how many of them are not at their end
	alive bool
}

type rankExit struct {
	rank  int
	state *os.ProcessState
	err   error // of waiting, not of the rank
}

func newJobRun(opts Options) *jobRun {
	stdout, stderr := newSinks(opts.Stdout, opts.Stderr)
	return &jobRun{
		opts: opts, key: opts.Job, stdout: stdout, stderr: stderr,
		exits: make(chan rankExit, opts.Ranks), closed: make(chan int, 2*opts.Ranks),
		passedOn: make(map[syscall.Signal]bool),
	}
}

// start starts one rank with its streams. Ranks are counted from this host's first one here.
func (j *jobRun) start(rank int, path string) (err error) {
	cmd := exec.Command(path, j.opts.Args...)
	cmd.Args[0] = j.opts.Program
	cmd.Env = rankEnv(os.Environ(), j.opts.Env, j.opts.First+rank, j.opts.Size,
		j.opts.Ranks, j.key)
	cmd.SysProcAttr = Attributes()
	var s streams
	defer func() {
		closeAll(s.theirs)
		if err != nil {
			closeAll(s.ours)
		}
	}()
	if cmd.Stdout, err = s.output(j.stdout, j.opts.First+rank == 0 && !j.opts.Prefix); err != nil {
		return err
	}
	if cmd.Stderr, err = s.output(j.stderr, false); err != nil {
		return err
	}
	var input stdin
	if j.opts.First+rank == 0 {
		if input, err = openStdin(j.opts.Stdin); err != nil {
			return err
		}
	}
	if input.feed != nil {
		s.theirs = append(s.theirs, input.file)
	}
	if input.file != nil {
		cmd.Stdin = input.file
	}
	if err = cmd.Start(); err != nil {
		closeAll([]*os.File{input.feed})
		return err
	}
	input.start(j.opts.Stdin)
	j.follow(rank, cmd, s)
	return nil
}

// follow starts the goroutines that report on a rank.
func (j *jobRun) follow(rank int, cmd *exec.Cmd, s streams) {
	prefix := ""
	if j.opts.Prefix {
		prefix = "[" + strconv.Itoa(j.opts.First+rank) + "] "
	}
	j.ranks = append(j.ranks, &rankRun{
		cmd: cmd, pipes: s.ours, open: len(s.ours), alive: true,
	})
	j.alive++
	j.open += len(s.ours)
	for i, pipe := range s.ours {
		go func() {
			forward(s.sinks[i], pipe, prefix)
			j.closed <- rank
		}()
	}
	go func() {
		state, err := cmd.Process.Wait()
		j.exits <- rankExit{rank, state, err}
	}()
}

// abort ends the ranks of a job that did not start as a whole.
func (j *jobRun) abort() {
	j.signal(syscall.SIGKILL)
	for ; j.alive > 0; j.alive-- {
		<-j.exits
	}
	j.closePipes()
}

// wait waits for the end of the job.
func (j *jobRun) wait(ctx context.Context, signals <-chan os.Signal) (int, error) {
	var err error
	done := ctx.Done()
	for j.alive > 0 || j.open > 0 && j.stage < abandoned {
		var alarm <-chan time.Time
		if j.timer != nil {
			alarm = j.timer.C
		}
		select {
		case e := <-j.exits:
			j.exited(e)
		case rank := <-j.closed:
			j.ranks[rank].open--
			j.open--
		case s := <-signals:
			j.received(s.(syscall.Signal))
		case <-alarm:
			j.advance()
		case <-done:
			done = nil
			err = fmt.Errorf("run: stopped: %w", context.Cause(ctx))
			j.stopAt(terminated)
		}
	}
	if j.timer != nil {
		j.timer.Stop()
	}
	j.closePipes()
	return j.code, err
}

// received passes a signal on to the ranks.
func (j *jobRun) received(s syscall.Signal) {
	switch {
	case s == syscall.SIGPIPE:
		// The reader of the output is gone; forward has closed the pipe.
	case s == syscall.SIGINT && j.interrupted:
		j.force()
	default:
		j.interrupted = j.interrupted || s == syscall.SIGINT
		j.passedOn[s] = true
		j.signal(s)
	}
}

// signal sends s to the process groups of the ranks that have not exited or
// have left something behind that holds their output.
func (j *jobRun) signal(s syscall.Signal) {
	for _, r := range j.ranks {
		if r.alive || r.open > 0 {
			signalGroup(r.cmd.Process.Pid, s)
		}
	}
}

func (j *jobRun) closePipes() {
	for _, r := range j.ranks {
		closeAll(r.pipes)
	}
}

// remaining lists the ranks that have not exited.
func (j *jobRun) remaining() string {
	var list []string
	for rank, r := range j.ranks {
		if r.alive {
			list = append(list, strconv.Itoa(j.opts.First+rank))
		}
	}
	if len(list) == 1 {
		return "rank " + list[0]
	}
	return "ranks " + strings.Join(list, ", ")
}

func (j *jobRun) say(format string, args ...any) {
	j.stderr.write(fmt.Appendf(nil, "farhash run: "+format+"\n", args...))
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // of a file that is closed already, or nil, an error
	}
}
