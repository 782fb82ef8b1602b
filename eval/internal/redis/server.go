package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"github.com/farhash/farhash/eval/internal/server"
)

// Own in place of an address has an experiment start a server of its own, and stop it.
const Own = "start"

// Program is what is started.
const Program = "redis-server"

// Server is a server that was started for the measurement. It listens on a socket in a
// folder of its own, or at a port, and keeps nothing on disk.
type Server struct {
	*server.Server
	Address  string
	password string // "" for none
}

// Start starts a server on a socket and returns when it answers.
func Start(ctx context.Context) (*Server, error) { return StartAt(ctx, "", "") }

// StartAt starts one at a port of an address of this host, or where that is "" on a
// socket, and returns when it answers.
func StartAt(ctx context.Context, host, password string) (*Server, error) {
	process, err := server.New(Program)
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w, or give the address of a server, HOST:PORT or unix:PATH", err)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{Server: process, password: password}
	listens, err := s.listens(host)
	if err == nil {
		config := ""
		if password != "" { // which nobody reads off the command line
			config = "requirepass " + password + "\n"
		}
		err = s.Start(ctx, config, append([]string{"-", "--save", "", "--appendonly", "no",
			"--daemonize", "no", "--dir", s.Dir()}, listens...), s.ping)
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
	path, err := s.Socket()
	s.Address = "unix:" + path
	return []string{"--port", "0", "--unixsocket", path, "--unixsocketperm", "700"}, err
}

// ping has the server answer.
func (s *Server) ping(ctx context.Context) error {
	c, err := Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	if err = c.Login(s.password); err == nil {
		_, err = c.Ask("PING")
	}
	return errors.Join(err, c.Close())
}
