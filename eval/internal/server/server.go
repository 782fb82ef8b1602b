// Package server starts a program that serves a measurement, with a folder of its own for a socket
// and what else it keeps, and stops it.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/farhash/farhash/internal/system/launch"
)

const (
	startLimit    = 10 * time.Second
	socketPathMax = 100 // bytes; systems allow 103 or 107
)

// Server is a program that runs.
type Server struct {
	dir, program string
	process      *os.Process
	ended        chan struct{}

	mu    sync.Mutex
	said  bytes.Buffer
	cause error // why it could not be started, or how it ended
}

// New makes the folder. The program must be installed.
func New(program string) (*Server, error) {
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("%w: install it", err)
	}
	dir, err := os.MkdirTemp("", "farhash-"+program+"-")
	if err != nil {
		return nil, fmt.Errorf("a folder for %s: %w", program, err)
	}
	return &Server{dir: dir, program: program, ended: make(chan struct{})}, nil
}

// Dir is the folder, which Stop removes.
func (s *Server) Dir() string { return s.dir }

// Socket is the path of a socket in the folder.
func (s *Server) Socket() (string, error) {
	path := filepath.Join(s.dir, "socket")
	if len(path) > socketPathMax {
		return "", fmt.Errorf("%s is too long for a socket: set TMPDIR to a shorter folder", path)
	}
	return path, nil
}

// Start starts the program, once, and returns when ask, which may fail at first, has succeeded.
func (s *Server) Start(ctx context.Context, stdin string, args []string,
	ask func(context.Context) error) error {
	cmd := exec.Command(s.program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	started := make(chan error)
	go s.run(cmd, started)
	if err := <-started; err != nil {
		return err
	}
	return s.answers(ctx, ask)
}

// Write keeps what the server says.
func (s *Server) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(text)
}

// run starts the server and stays on its thread until it ends, as launch.Attributes need it.
func (s *Server) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.ended)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s, s, launch.Attributes()
	if err := cmd.Start(); err != nil {
		started <- fmt.Errorf("starting %s: %w", s.program, err)
		return
	}
	s.process = cmd.Process
	started <- nil
	err := cmd.Wait()
	s.mu.Lock()
	s.cause = err
	s.mu.Unlock()
}

// answers waits until the server does.
func (s *Server) answers(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			s.mu.Lock()
			defer s.mu.Unlock()
			return fmt.Errorf("%s has ended at once (%v): %s", s.program, s.cause,
				bytes.TrimSpace(s.said.Bytes()))
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for %s: %w", s.program, context.Cause(ctx)), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stop ends the server, which has nothing to lose, and removes its folder.
func (s *Server) Stop() error {
	if s.process != nil {
		_ = s.process.Kill() // it may have ended
		<-s.ended
	}
	return os.RemoveAll(s.dir)
}
