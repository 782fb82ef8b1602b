package bench

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
	"github.com/farhash/farhash/rma"
)

// RedisStart in place of an address has KVBench start a server of its own, and stop it.
const RedisStart = "start"

const (
	redisProgram    = "redis-server"
	redisStartLimit = 10 * time.Second
	socketPathMax   = 100 // bytes; systems allow 103 or 107
)

// redisServer is a server that was started for the measurement. It listens on a socket in a
// folder of its own, or at a port, and keeps nothing on disk.
type redisServer struct {
	dir      string
	address  string
	password string // "" for none
	process  *os.Process
	ended    chan struct{}

	mu    sync.Mutex
	said  bytes.Buffer
	cause error // why it could not be started, or how it ended
}

// Write keeps what the server says.
func (s *redisServer) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(text)
}

// startRedis starts a server on a socket and returns when it answers.
func startRedis(ctx context.Context) (*redisServer, error) { return startRedisAt(ctx, "", "") }

// startRedisAt starts one at a port of an address of this host, or where that is "" on a
// socket, and returns when it answers.
func startRedisAt(ctx context.Context, host, password string) (*redisServer, error) {
	program, err := exec.LookPath(redisProgram)
	if err != nil {
		return nil, fmt.Errorf("there is no program %s to start: install it, or give the "+
			"address of a server, HOST:PORT or unix:PATH", redisProgram)
	}
	dir, err := os.MkdirTemp("", "farhash-redis-")
	if err != nil {
		return nil, fmt.Errorf("a folder for %s: %w", redisProgram, err)
	}
	s := &redisServer{dir: dir, password: password, ended: make(chan struct{})}
	listens, err := s.listens(host)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.Command(program, append([]string{"-", "--save", "", "--appendonly", "no",
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
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// listens chooses where the server does, and returns the flags for that.
func (s *redisServer) listens(host string) ([]string, error) {
	if host != "" {
		free, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, fmt.Errorf("a port for %s: %w", redisProgram, err)
		}
		s.address = free.Addr().String()
		_, port, err := net.SplitHostPort(s.address)
		return []string{"--bind", host, "--port", port}, errors.Join(err, free.Close())
	}
	path := filepath.Join(s.dir, "socket")
	if len(path) > socketPathMax {
		return nil, fmt.Errorf("%s is too long for a socket: set TMPDIR to a shorter folder", path)
	}
	s.address = "unix:" + path
	return []string{"--port", "0", "--unixsocket", path, "--unixsocketperm", "700"}, nil
}

// run starts the server and stays on its thread until it ends, as launch.Attributes need it.
func (s *redisServer) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.ended)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s, s, launch.Attributes()
	if err := cmd.Start(); err != nil {
		started <- fmt.Errorf("starting %s: %w", redisProgram, err)
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
func (s *redisServer) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisStartLimit)
	defer cancel()
	for {
		c, err := dialRedis(ctx, s.address)
		if err == nil {
			err = c.login(s.password)
			if err == nil {
				_, err = c.ask("PING")
			}
			return errors.Join(err, c.close())
		}
		select {
		case <-s.ended:
			s.mu.Lock()
			defer s.mu.Unlock()
			return fmt.Errorf("%s has ended at once (%v): %s", redisProgram, s.cause,
				bytes.TrimSpace(s.said.Bytes()))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", redisProgram, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stop ends the server, which has nothing to lose, and removes its folder.
func (s *redisServer) stop() error {
	if s.process != nil {
		_ = s.process.Kill() // it may have ended
		<-s.ended
	}
	return os.RemoveAll(s.dir)
}

// redisAddress is where the server listens; rank 0 starts it if it is to be started and is not
// yet. Collective.
func (b *KVBench) redisAddress(ctx context.Context, job rma.Job) (string, error) {
	if b.cfg.Redis != RedisStart {
		return b.cfg.Redis, nil
	}
	address := ""
	if job.Rank() == 0 {
		var err error
		if address, err = b.ownRedis(ctx); err != nil {
			return "", err
		}
	}
	return tellAll(ctx, job, address)
}

// ownRedis is where the server of this process listens.
func (b *KVBench) ownRedis(ctx context.Context) (address string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		if b.server, err = startRedis(ctx); err != nil {
			return "", err
		}
	}
	return b.server.address, nil
}

// tellAll tells every rank the text of rank 0. Collective.
func tellAll(ctx context.Context, job rma.Job, text string) (string, error) {
	all, err := gatherTexts(ctx, job, []byte(text))
	if err != nil {
		return "", err
	}
	return string(all[0]), nil
}

// Close stops the server that was started, if one was.
func (b *KVBench) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return nil
	}
	server := b.server
	b.server = nil
	return server.stop()
}
