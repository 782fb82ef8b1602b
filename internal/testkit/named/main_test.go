//go:build linux

package named

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
)

// workerEnv makes the test binary a worker: "program table journal number".
const workerEnv = "FARHASH_NAMED_WORKER"

// programs are what a worker can do. Each makes operations, and calls acknowledge after each, until
// that returns false.
var programs = map[string]func(w *worker) error{}

// worker is a worker in its own process.
type worker struct {
	path    string // of the table
	number  uint64
	journal *os.File
	done    uint64 // operations acknowledged
	ended   chan struct{}
}

func TestMain(m *testing.M) {
	if line := os.Getenv(workerEnv); line != "" {
		if err := runWorker(line); err != nil {
			fmt.Fprintln(os.Stderr, line, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runWorker(line string) error {
	w, program, journal := worker{ended: make(chan struct{})}, "", ""
	if _, err := fmt.Sscan(line, &program, &w.path, &journal, &w.number); err != nil {
		return err
	}
	go func() {
		_, _ = io.ReadAll(os.Stdin)
		close(w.ended)
	}()
	var err error
	if w.journal, err = os.OpenFile(journal, os.O_RDWR, 0); err != nil {
		return err
	}
	return programs[program](&w)
}

// acknowledge records that the next operation is done, and returns false when there are to be no
// more.
func (w *worker) acknowledge() (more bool, err error) {
	w.done++
	if _, err = w.journal.WriteAt(binary.LittleEndian.AppendUint64(nil, w.done), 0); err != nil {
		return false, err
	}
	select {
	case <-w.ended:
		return false, nil
	default:
		return true, nil
	}
}

// process is what the test knows of a worker.
type process struct {
	t       *testing.T
	number  uint64
	journal string
	cmd     *exec.Cmd
	in      io.Closer
	over    chan error
	running bool
	stopped bool
}

// start starts a worker.
func start(t *testing.T, program, path string, number uint64) *process {
	t.Helper()
	p := &process{t: t, number: number, running: true, over: make(chan error, 1),
		journal: fmt.Sprintf("%s.journal%d", path, number)}
	if err := os.WriteFile(p.journal, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d", workerEnv, program, path,
		p.journal, number), "GOMAXPROCS=2")
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err = errors.Join(err, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.in = in
	go func() { p.over <- p.cmd.Wait() }()
	t.Cleanup(func() {
		if p.running {
			_ = p.cmd.Process.Kill()
			<-p.over
		}
	})
	return p
}

// acknowledged is how many operations of a worker are.
func (p *process) acknowledged() uint64 {
	b, err := os.ReadFile(p.journal)
	if err != nil || len(b) < 8 {
		p.t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b)
}

// await waits until so many operations of a worker are acknowledged.
func (p *process) await(n uint64) {
	p.t.Helper()
	for p.acknowledged() < n {
		select {
		case err := <-p.over:
			p.running = false
			p.t.Fatalf("worker %d has ended after %d operations: %v", p.number, p.acknowledged(),
				err)
		case <-time.After(time.Millisecond / 4):
		}
	}
}

// kill kills a worker.
func (p *process) kill() {
	p.running = false
	_ = p.cmd.Process.Kill()
	<-p.over
}

// finish ends a worker in good order.
func (p *process) finish() {
	p.t.Helper()
	p.resume()
	p.running = false
	_ = p.in.Close()
	if err := <-p.over; err != nil {
		p.t.Fatalf("worker %d: %v", p.number, err)
	}
}

// stop stops a worker until it is resumed.
func (p *process) stop() {
	p.stopped = true
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
}

func (p *process) resume() {
	p.stopped = false
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
}

// newPath is the path of a table for one test. It is in memory.
func newPath(t *testing.T) string {
	t.Helper()
	folder, err := lab.Folder()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "table")
}
