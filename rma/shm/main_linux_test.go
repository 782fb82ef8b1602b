package shm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
)

// rankVariable makes the test binary a rank that does what its input says, instead
// of testing: directory, job, rank and size.
const rankVariable = "SHM_TEST_RANK"

func TestMain(m *testing.M) {
	var cfg Config
	_, err := fmt.Sscan(os.Getenv(rankVariable), &cfg.Dir, &cfg.Job, &cfg.Rank, &cfg.Size)
	if err != nil {
		if os.Getenv("GORACE") == "" {
			// The race detector lets each process sleep for a second at its end.
			os.Setenv("GORACE", "atexit_sleep_ms=0")
		}
		os.Exit(m.Run())
	}
	cfg.Timeout = never
	a := &actor{cfg: cfg}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(a.play(strings.Fields(lines.Text())))
	}
}

// actor is a rank in a process of its own. It answers each line with a line.
type actor struct {
	cfg    Config
	job    rma.Job
	window rma.Window
	cells  *rma.Cells
}

// play does what a line says. The answer to what failed begins with "error".
func (a *actor) play(line []string) string {
	ctx, cancel := patience.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	var n int
	if len(line) > 1 {
		_, _ = fmt.Sscan(line[1], &n)
	}
	err := errors.New("unknown line")
	answer := line[0]
	switch line[0] {
	case "join":
		a.job, err = Join(ctx, a.cfg)
	case "window":
		if a.window, err = a.job.NewWindow(ctx, rma.Spec{Name: "test", Words: n}); err == nil {
			a.cells, err = rma.NewCells(a.job, a.window)
		}
	case "barrier":
		err = a.job.Barrier(ctx)
	case "failed":
		answer, err = fmt.Sprint(a.job.Failed()), nil
	case "add":
		answer, err = a.add(ctx, n)
	case "work":
		err = a.work(ctx, n)
	case "churn":
		err = a.churn(ctx)
	case "close":
		err = a.job.Close()
	}
	if err != nil {
		return strings.ReplaceAll(fmt.Sprintln("error", err), "\n", " ")
	}
	return answer
}

// add adds 1 to word 0 of a rank, through a queue, and tells what was there.
func (a *actor) add(ctx context.Context, rank int) (string, error) {
	q, err := a.job.NewQueue(1)
	if err != nil {
		return "", err
	}
	h := q.FetchAdd(a.window, rank, 0, 1)
	if err := errors.Join(q.Submit(), q.Wait(ctx, h)); err != nil {
		return "", err
	}
	seen, err := q.Value(h)
	return fmt.Sprint(seen), errors.Join(err, q.Close())
}

// work writes, reads and adds on all segments, dead ranks' included, until so many
// ranks have died, and then a while longer.
func (a *actor) work(ctx context.Context, deaths int) error {
	fmt.Println("working")
	for left := 1000; left > 0; {
		for rank := range a.job.Size() {
			mark := uint64(a.job.Rank())<<32 | uint64(left)
			if err := a.cells.Store(ctx, rank, 1+a.job.Rank(), mark); err != nil {
				return err
			}
			word, err := a.cells.Load(ctx, rank, 1+a.job.Rank())
			if err == nil && word != mark {
				err = fmt.Errorf("%d was stored at rank %d and %d loaded", mark, rank, word)
			}
			if err != nil {
				return err
			}
			if _, err := a.cells.Add(ctx, rank, 0, 1); err != nil {
				return err
			}
		}
		if left%100 != 0 || len(a.job.Failed()) >= deaths {
			left--
		}
	}
	return nil
}

// churn joins and makes windows, one after the other, and tells of each step.
func (a *actor) churn(ctx context.Context) error {
	fmt.Println("churning")
	var err error
	if a.job, err = Join(ctx, a.cfg); err != nil {
		return err
	}
	fmt.Println("joined")
	for n := 1; ; n++ {
		w, err := a.job.NewWindow(ctx, rma.Spec{Name: "churn", Words: n % 1000 * 100})
		if n%1000 == 0 { // no words: an error, after which all continues
			continue
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return err
		}
	}
}

// process is an actor as its test sees it.
type process struct {
	t      *testing.T
	rank   int
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	over   sync.Once
}

// startRank starts a rank, which ends with the test at the latest.
func startRank(t *testing.T, dir, job string, rank, size int) *process {
	t.Helper()
	p := &process{t: t, rank: rank, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(),
		fmt.Sprintf("%s=%s %s %d %d", rankVariable, dir, job, rank, size))
	p.cmd.Stderr = &p.stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(p.kill)
	return p
}

// startRanks starts all ranks of a job.
func startRanks(t *testing.T, dir, job string, size int) []*process {
	t.Helper()
	var ranks []*process
	for rank := range size {
		ranks = append(ranks, startRank(t, dir, job, rank, size))
	}
	return ranks
}

// tell gives a line to a rank.
func (p *process) tell(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatalf("rank %d: %v: %s", p.rank, err, &p.stderr)
	}
}

// answer is the next line of a rank.
func (p *process) answer() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("rank %d ended: %v: %s", p.rank, err, &p.stderr)
	}
	return strings.TrimSpace(line)
}

// expect takes the next line of a rank, which must contain so much.
func (p *process) expect(want string) {
	p.t.Helper()
	if got := p.answer(); !strings.Contains(got, want) {
		p.t.Fatalf("rank %d says %q, want %q", p.rank, got, want)
	}
}

// all tells all ranks a line and takes their answers, which must contain so much.
func all(ranks []*process, line, want string) {
	for _, p := range ranks {
		p.t.Helper()
		p.tell(line)
	}
	for _, p := range ranks {
		p.expect(want)
	}
}

// kill kills a rank and waits for its end.
func (p *process) kill() {
	p.over.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		_ = p.cmd.Wait()
	})
}

// end lets a rank come to the end of its input.
func (p *process) end() {
	p.t.Helper()
	p.over.Do(func() {
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil {
			p.t.Errorf("rank %d: %v: %s", p.rank, err, &p.stderr)
		}
	})
}
