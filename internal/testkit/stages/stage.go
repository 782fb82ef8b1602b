package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
)

// variableName is the variable with the folder in which test binaries leave their outcomes. It does
// not begin with FARHASH_, as tests keep such variables from their ranks.
const variableName = "STAGES_FOLDER"

// logs is the folder with the output of each stage, which can be followed while it runs.
const logs = "bin/stages"

// A stage is a target of make.
type stage struct {
	name      string
	folder    string // of outcomes, and of the output
	wall, cpu time.Duration
	err       error
	outcomes  []outcome // of test binaries
	output    string
}

// run runs the stage. The output of a stage that runs beside others appears at its end.
func (s *stage) run(self string, limit time.Duration, atEnd bool) {
	if s.err = os.Mkdir(s.folder, 0o700); s.err != nil {
		return
	}
	log, err := os.Create(filepath.Join(logs, s.name+".log"))
	if err != nil {
		s.err = err
		return
	}
	defer log.Close()
	var output strings.Builder
	cmd := exec.Command("make", "--keep-going", "--no-print-directory", s.name,
		fmt.Sprintf("TESTFLAGS=-vet=off -exec '%s exec'", self))
	cmd.Env = append(os.Environ(), variableName+"="+s.folder)
	cmd.Stdout = io.MultiWriter(log, &output, os.Stdout)
	if atEnd {
		cmd.Stdout = io.MultiWriter(log, &output)
	}
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = 5 * time.Second // a process that the stage has left may hold the output
	inGroup(cmd)
	begin := time.Now()
	s.err = s.wait(cmd, limit)
	s.wall = time.Since(begin)
	if cmd.ProcessState != nil {
		s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	s.output = output.String()
	if atEnd {
		fmt.Printf("stage %s has ended:\n%s", s.name, s.output)
	}
	if s.outcomes, err = readOutcomes(s.folder); err != nil {
		s.err = errors.Join(s.err, err)
	}
}

// wait runs the command until it ends or the limit has passed. Ctrl-C reaches the command as well,
// though it has a process group of its own.
func (s *stage) wait(cmd *exec.Cmd, limit time.Duration) error {
	toGroup := func(signal syscall.Signal) { signalGroup(cmd, signal) }
	stopPassing, err := startPassing(cmd, toGroup)
	if err != nil {
		return err
	}
	var over atomic.Bool
	stop := patience.AfterFunc(limit, func() {
		over.Store(true)
		toGroup(syscall.SIGQUIT) // has go test and tests print their stacks
		time.AfterFunc(10*time.Second, func() { toGroup(syscall.SIGKILL) })
	})
	err = cmd.Wait()
	stopPassing()
	stop()
	toGroup(syscall.SIGKILL) // processes that the stage has left
	if over.Load() {
		return fmt.Errorf("not ended after %v", limit)
	}
	return err
}

// An outcome is how a test binary ended. It lies in a file of its own.
type outcome struct {
	Dir      string // of the package
	Args     []string
	WallS    float64
	CPUS     float64
	ExitCode int
	Hung     bool     // it was ended after its limit
	Race     bool     // the race detector has found something
	Failed   []string // tests
	Again    bool     // they run once more; until then go test knows of no failure
	Binary   string   // kept if it failed
	Env      []string // kept if it failed
	Output   string   // kept if it failed
}

// write puts the outcome into a file of the folder.
func (o *outcome) write(folder string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "outcome*.json")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// readOutcomes reads all outcomes of the folder.
func readOutcomes(folder string) ([]outcome, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "outcome*.json"))
	if err != nil {
		return nil, err
	}
	all := make([]outcome, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &all[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}
