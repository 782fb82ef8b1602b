package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/farhash/farhash/internal/launch"
)

// Own in place of an address has an experiment start a server of its own, and stop it.
const Own = "start"

const (
	Program       = "redis-server"
	startLimit    = 10 * time.Second
	socketPathMax = 100 // bytes; systems allow 103 or 107
)

// Server is a server that was started for the measurement. It listens on a socket in a
// folder of its own, or at a port, and keeps nothing on disk.
type Server struct {
	dir      string
	Address  string
	password string // "" for none
	process  *os.Process
	ended    chan struct{}

	mu    sync.Mutex
	said  bytes.Buffer
	cause error // why it could not be started, or how it ended
}

// Write keeps what the server says.
func (s *Server) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(text)
}

// Start starts a server on a socket and returns when it answers.
func Start(ctx context.Context) (*Server, error) { return StartAt(ctx, "", "") }

// StartAt starts one at a port of an address of this host, or where that is "" on a
// socket, and returns when it answers.
func StartAt(ctx context.Context, host, password string) (*Server, error) {
	path, err := exec.LookPath(Program)
	if err != nil {
		return nil, fmt.Errorf("there is no program %s to start: install it, or give the "+
			"address of a server, HOST:PORT or unix:PATH", Program)
	}
	dir, err := os.MkdirTemp("", "farhash-redis-")
	if err != nil {
		return nil, fmt.Errorf("a folder for %s: %w", Program, err)
	}
	s := &Server{dir: dir, password: password, ended: make(chan struct{})}
	listens, err := s.listens(host)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.Command(path, append([]string{"-", "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--dir", dir}, listens...)...)
	if password != "" { // which nobody reads off the command line
		cmd.Stdin = strings.NewReader("requirepass " + password + "\n")
	}
	started := make(chan error)
	go s.run(cmd, started)
	if err = <-started; err == nil {
		err = s.answers(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// listens chooses where the server does, and returns the flags for that.
func (s *Server) listens(host string) ([]string, error) {
	if host != "" {
		free, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, fmt.Errorf("a port for %s: %w", Program, err)
		}
		s.Address = free.Addr().String()
		_, port, err := net.SplitHostPort(s.Address)
		return []string{"--bind", host, "--port", port}, errors.Join(err, free.Close())
	}
	path := filepath.Join(s.dir, "socket")
	if len(path) > socketPathMax {
		return nil, fmt.Errorf("%s is too long for a socket: set TMPDIR to a shorter folder", path)
	}
	s.Address = "unix:" + path
	return []string{"--port", "0", "--unixsocket", path, "--unixsocketperm", "700"}, nil
}

// run starts the server and stays on its thread until it ends, as launch.Attributes need it.
func (s *Server) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.ended)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s, s, launch.Attributes()
	if err := cmd.Start(); err != nil {
		started <- fmt.Errorf("starting %s: %w", Program, err)
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
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		c, err := Dial(ctx, s.Address)
		if err == nil {
			err = c.Login(s.password)
			if err == nil {
				_, err = c.Ask("PING")
			}
			return errors.Join(err, c.Close())
		}
		select {
		case <-s.ended:
			s.mu.Lock()
			defer s.mu.Unlock()
			return fmt.Errorf("%s has ended at once (%v): %s", Program, s.cause,
				bytes.TrimSpace(s.said.Bytes()))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", Program, context.Cause(ctx))
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
