package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

const token = "a token of the tests"

// never is the timeout of ranks whose wait another event ends.
const never = time.Hour

// guarded is a context that ends what would never end.
func guarded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := patience.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// job runs fn on all ranks of a job at once.
func job(t *testing.T, ranks int, fn func(s *Tree) error) {
	t.Helper()
	jobAs(t, Config{Size: ranks}, fn)
}

// jobAs is job with a configuration.
func jobAs(t *testing.T, cfg Config, fn func(s *Tree) error) {
	t.Helper()
	cfg.Address, cfg.Token, cfg.Timeout = twohosts.FreeAddress(t), token, never
	ctx := guarded(t)
	var wg sync.WaitGroup
	for rank := range cfg.Size {
		cfg := cfg
		cfg.Rank = rank
		wg.Go(func() {
			s, err := Join(ctx, cfg)
			if err == nil {
				err = fn(s)
				s.Leave()
				err = errors.Join(err, s.AwaitOthers(t.Context()))
				s.Close()
			}
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
}

func TestGather(t *testing.T) {
	for _, ranks := range []int{1, 2, 5} {
		job(t, ranks, func(s *Tree) error {
			for round := range 20 {
				size := func(rank int) int {
					return (round*rank*997 + round) % (MaxPayloadBytes + 1)
				}
				all, err := s.Gather(t.Context(), bytes.Repeat([]byte{byte(s.cfg.Rank)},
					size(s.cfg.Rank)))
				if err != nil {
					return err
				}
				for rank, payload := range all {
					if !bytes.Equal(payload, bytes.Repeat([]byte{byte(rank)}, size(rank))) {
						return fmt.Errorf("round %d: rank %d gave %d bytes", round, rank,
							len(payload))
					}
				}
			}
			return nil
		})
	}
}

// shortSilence is for how long hosts may be out of reach when tests unplug them.
const shortSilence = 20 * time.Millisecond

// A rank that leaves, or hangs up, or whose host does not answer, is missed by who waits for it.
func TestGone(t *testing.T) {
	for how, go1 := range map[string]func(s *Tree){
		"left":         func(s *Tree) { s.Leave() },
		"hung up":      func(s *Tree) { _ = s.line.Conn.Close() },
		"out of reach": func(s *Tree) { _ = s.AwaitOthers(t.Context()) }, // until rank 0 hangs up
	} {
		cfg := Config{Size: 3, Apart: how == "out of reach", Silence: shortSilence}
		jobAs(t, cfg, func(s *Tree) error {
			if _, err := s.Gather(t.Context(), nil); err != nil {
				return err
			}
			if s.cfg.Rank == 1 {
				go1(s)
				return nil
			}
			if s.cfg.Rank == 0 && cfg.Apart {
				unplug(s.root.members[1].line)
			}
			_, err := s.Gather(t.Context(), nil)
			var gone *rma.RankError
			if !errors.As(err, &gone) || gone.Rank != 1 || gone.Left != (how == "left") {
				return fmt.Errorf("rank 1 has %s: %v", how, err)
			}
			_, again := s.Gather(t.Context(), nil)
			if again != err {
				return fmt.Errorf("after %v: %v", err, again)
			}
			states, _ := s.States()
			if (states[1] == Left) != (how == "left") || states[1] == Here {
				return fmt.Errorf("rank 1 has %s: states %v", how, states)
			}
			return nil
		})
	}
}

// Rank 0 that dies is missed by all.
func TestHubGone(t *testing.T) {
	job(t, 3, func(s *Tree) error {
		if _, err := s.Gather(t.Context(), nil); err != nil {
			return err
		}
		if s.cfg.Rank == 0 {
			s.Close()
			return nil
		}
		_, err := s.Gather(t.Context(), nil)
		var gone *rma.RankError
		if !errors.As(err, &gone) || gone.Rank != 0 || gone.Left {
			return err
		}
		return nil
	})
}

// A gathering ends with its context, and with Leave.
func TestGatherEnds(t *testing.T) {
	job(t, 2, func(s *Tree) error {
		if s.cfg.Rank == 0 {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			if _, err := s.Gather(ctx, nil); err == nil {
				t.Log("the other came first")
			} else if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("a gathering with a context that has ended: %v", err)
			}
			return nil
		}
		go s.Leave()
		var gone *rma.RankError
		if _, err := s.Gather(t.Context(), nil); err == nil {
			t.Log("the others came first")
		} else if !errors.Is(err, errLeft) && !errors.As(err, &gone) { // rank 0 has left before
			return err
		}
		return nil
	})
}

// Ranks that do not come are named, to rank 0 and to those who have come.
func TestMissing(t *testing.T) {
	const missing = "these never arrived: [1 3]"
	h := newRoot(t, 4, func(cfg Config) {
		cfg.Rank = 2
		if _, err := Join(context.Background(), cfg); !strings.Contains(fmt.Sprint(err), missing) {
			t.Errorf("rank 2: %v", err)
		}
	})
	if err := h.assemble(overdue(t)); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(fmt.Sprint(err), missing) {
		t.Errorf("rank 0: %v", err)
	}
	cfg := Config{Rank: 1, Size: 2, Address: twohosts.FreeAddress(t), Token: token, Timeout: never}
	_, err := Join(overdue(t), cfg)
	if said := fmt.Sprint(err); !strings.Contains(said, "rank 1 waited ") ||
		!strings.Contains(said, "s for rank 0 at "+cfg.Address) {
		t.Errorf("without a rank 0: %v", err)
	}
}

// overdue is a context whose time is over.
func overdue(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	t.Cleanup(cancel)
	return ctx
}

// An error says how long a rank has waited, in milliseconds, and never longer than the timeout.
func TestWaited(t *testing.T) {
	cfg := Config{Timeout: time.Minute}
	if got := cfg.waited(time.Now().Add(-time.Hour)); got != time.Minute {
		t.Errorf("an hour after the begin it has waited %v, and the timeout was a minute", got)
	}
	cfg.Timeout = 1 << 62
	if got := cfg.waited(time.Now().Add(-time.Hour)); got < time.Hour || got%time.Millisecond != 0 {
		t.Errorf("an hour after the begin it has waited %v", got)
	}
}

// A process with another token or of another job, or no rank at all, is not admitted, and
// stops nobody.
func TestForeignProcesses(t *testing.T) {
	address := twohosts.FreeAddress(t)
	var wg sync.WaitGroup
	cfg := Config{Size: 2, Address: address, Token: token, Timeout: never}
	wg.Go(func() {
		s, err := Join(t.Context(), cfg)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := s.Gather(t.Context(), nil); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	for _, c := range []struct {
		says   string
		change func(c *Config)
	}{
		{"another token", func(c *Config) { c.Token += "x" }},
		{"has 2 ranks", func(c *Config) { c.Size = 3 }},
		{"a rank 0 already", func(c *Config) {}},
	} {
		other := cfg
		if c.says == "a rank 0 already" {
			other.Rank = 0
		} else {
			other.Rank = 1
		}
		c.change(&other)
		other.fan = maxChildren
		conn, _, err := connect(t.Context(), other)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q: %v", c.says, err)
		}
	}
	for _, text := range []string{"", "GET / HTTP/1.0\r\n\r\n" + strings.Repeat("x", helloBytes)} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text))
		if text != "" {
			if said, _ := io.ReadAll(conn); len(said) != 0 {
				t.Errorf("a foreign process got %q", said)
			}
		}
		conn.Close()
	}
	cfg.Rank = 1
	s, err := Join(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Gather(t.Context(), nil); err != nil {
		t.Error(err)
	}
	s.Close()
	wg.Wait()
}

// If ranks do not come, the error of rank 0 lists the processes that it has not admitted.
func TestRefusedAreListed(t *testing.T) {
	address := twohosts.FreeAddress(t)
	cfg := Config{Size: 3, Address: address, Token: token, Timeout: never}
	ctx, give := context.WithCancel(t.Context())
	failure := make(chan string)
	go func() {
		_, err := Join(ctx, cfg)
		failure <- fmt.Sprint(err)
	}()
	for range 5 { // the others are as the first
		for _, change := range []func(c *Config){
			func(c *Config) { c.Token += "x" }, func(c *Config) { c.Size = 4 },
		} {
			other := cfg
			other.Rank = 2
			change(&other)
			other.fan = maxChildren
			if _, _, err := connect(t.Context(), other); !errors.Is(err, errRefused) {
				t.Error(err)
			}
		}
	}
	give()
	said := <-failure
	for _, want := range []string{"never arrived: [1 2]", "another token", "a rank 2 of 4"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not in %q, once", want, said)
		}
	}
}

// A rank does not send its token to a process that does not know it, and finds that it is no job.
func TestImpostor(t *testing.T) {
	for fill, says := range map[byte]string{0: "does not know the token", 'H': "no farhash job"} {
		impostor(t, fill, says)
	}
}

// impostor answers a rank with bytes.
func impostor(t *testing.T, fill byte, says string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(bytes.Repeat([]byte{fill}, nonceBytes+8+proofBytes))
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	_, err = Join(t.Context(), Config{Rank: 1, Size: 2, Address: l.Addr().String(), Token: token,
		Timeout: never})
	if !strings.Contains(fmt.Sprint(err), says) {
		t.Error(err)
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{Size: 2, Address: "nowhere", Token: token}, "no HOST:PORT"},
		{Config{Size: 2, Address: ":1", Token: token}, "names no host"},
		{Config{Size: 2, Address: "a:1", Token: "short"}, "token of the job has 5 bytes"},
		{Config{Size: 2, Rank: 2, Address: "a:1", Token: token}, "not a rank"},
		{Config{Size: 1, Address: "192.0.2.77:1", Token: token, Timeout: never},
			"one of this host"},
	} {
		if _, err := Join(t.Context(), c.cfg); !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.says)
		}
	}
}

// Whatever foreign processes send is read without a panic, and not beyond what is allowed.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 'G', 1, 2, 3})
	f.Add(encodeRuns(3, []run{{0, 1, []byte{1}}, {1, 1, []byte{2, 3}}}))
	f.Add(encodeStates([]state{{1, peer{state: Died, given: 7}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, payload, err := readFrame(bytes.NewReader(data), 10)
		if err == nil && len(payload) > 10 {
			t.Errorf("%d bytes of payload", len(payload))
		}
		if n, runs, err := decodeRuns(data, span{0, 2}); err == nil &&
			!bytes.Equal(encodeRuns(n, runs), data) {
			t.Errorf("%q is %v", data, runs)
		}
		if states, err := decodeStates(data, 2); err == nil &&
			!bytes.Equal(encodeStates(states), data) {
			t.Errorf("%q is %v", data, states)
		}
	})
}
