package cache

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma/shm"
)

// The test of sudden death: ranks are processes that put and get a few hot keys without
// end. The parent kills all but one, one after the other. The last one continues, whatever
// locks and half-written buckets the others have left, and reads no mixed value.

const (
	killEnv   = "FARHASH_CACHE_TEST_RANK" // "rank job mode hidden" makes the binary one
	killRanks = 5
	killKeys  = 12
	killStep  = 200 // calls between two lines of output
)

func TestMain(m *testing.M) {
	if life := os.Getenv(killEnv); life != "" {
		if err := mortal(life, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, life, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if !replay.Nightly() {
		_ = flag.Set("rapid.checks", "30") // unless the command line says otherwise
	}
	os.Exit(mark.Main(m, "cache: ", os.Stderr))
}

// mortal is the program of a rank that may be killed: it prints "alive" now and then. When its
// input ends it stops, verifies every key once more and prints "clean".
func mortal(life string, in io.Reader, out io.Writer) error {
	var rank, mode int
	var hidden bool
	var name string
	if _, err := fmt.Sscan(life, &rank, &name, &mode, &hidden); err != nil {
		return err
	}
	ctx := context.Background()
	joining, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(in)
		cancel() // the input ends after the rank has joined, or because the parent is gone
		close(stop)
	}()
	dir, err := lab.Folder()
	if err != nil {
		return err
	}
	job, err := shm.Join(joining, shm.Config{Rank: rank, Size: killRanks, Job: name,
		Hidden: hidden, Dir: dir})
	if err != nil {
		return err
	}
	defer job.Close()
	c, err := New(ctx, job, Config{KeySize: 80, ValueSize: 104, Buckets: 2 * killRanks,
		Mode: Mode(mode)})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(rank), uint64(os.Getpid())))
	for {
		for range killStep {
			if err := hotCall(c, rng); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(out, "alive"); err != nil {
			return err
		}
		select {
		case <-stop:
			return verifyAll(c, out)
		default:
		}
	}
}

// hotCall puts or gets one of a few keys.
func hotCall(c *Cache, rng *rand.Rand) error {
	number := rng.Uint64N(killKeys) + 1
	key, value := spread(number, 80), spread(number<<32|rng.Uint64()>>32, 104)
	if rng.IntN(3) > 0 {
		_, err := c.Put(key, value)
		return err
	}
	found, err := c.Get(key, value)
	if !found || err != nil {
		return err
	}
	return ownValue(number, value)
}

func ownValue(number uint64, value []byte) error {
	got, err := gather(value)
	if err == nil && got>>32 != number {
		err = fmt.Errorf("key %d has a value of key %d", number, got>>32)
	}
	return err
}

// verifyAll puts every key, which must then be there: nobody else is left to evict it.
func verifyAll(c *Cache, out io.Writer) error {
	there := 0
	value := make([]byte, 104)
	for number := uint64(1); number <= killKeys; number++ {
		if _, err := c.Put(spread(number, 80), spread(number<<32, 104)); err != nil {
			return err
		}
		found, err := c.Get(spread(number, 80), value)
		if !found || err != nil {
			return fmt.Errorf("key %d is not there after it was put: %w", number, err)
		}
		if err := ownValue(number, value); err != nil {
			return err
		}
	}
	for number := uint64(1); number <= killKeys; number++ {
		if found, err := c.Get(spread(number, 80), value); err != nil {
			return err
		} else if found {
			there++
		}
	}
	if there == 0 {
		return errors.New("no key is there")
	}
	_, err := fmt.Fprintln(out, "clean")
	return err
}

// rankProcess is a rank as its parent sees it.
type rankProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr strings.Builder
}

func startRank(t *testing.T, life string) *rankProcess {
	t.Helper()
	_, err := lab.Folder()
	must(t, err)
	p := &rankProcess{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), killEnv+"="+life)
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err, p.cmd.Start())
	p.in, p.out = in, bufio.NewScanner(out)
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// hear waits for n lines, of which the last must be the one wanted.
func (p *rankProcess) hear(t *testing.T, n int, want string) {
	t.Helper()
	for range n {
		if !p.out.Scan() {
			_ = p.cmd.Wait()
			t.Fatalf("a rank ended before it said %q: %s", want, p.stderr.String())
		}
	}
	if p.out.Text() != want {
		t.Fatalf("a rank said %q, want %q", p.out.Text(), want)
	}
}

// TestKill kills 4 of 5 ranks in the middle of their work, in each mode, by memory and
// through queues.
func TestKill(t *testing.T) {
	rounds := 3
	if slow {
		rounds = 1
	}
	rng := rand.New(rand.NewPCG(3, uint64(os.Getpid())))
	for _, hidden := range []bool{false, true} {
		for _, mode := range modes {
			for round := range rounds {
				t.Run(fmt.Sprintf("hidden=%v/%v/%d", hidden, mode, round), func(t *testing.T) {
					killRound(t, rng, mode, hidden)
				})
			}
		}
	}
}

func killRound(t *testing.T, rng *rand.Rand, mode Mode, hidden bool) {
	job := fmt.Sprintf("cache-test-%d-%d", os.Getpid(), rng.Uint32())
	var ranks []*rankProcess
	for rank := range killRanks {
		ranks = append(ranks, startRank(t, fmt.Sprintln(rank, job, int(mode), hidden)))
	}
	order := rng.Perm(killRanks)
	for _, victim := range order[1:] {
		p := ranks[victim]
		p.hear(t, 1+rng.IntN(4), "alive")
		for range rng.IntN(1 << 14) { // some moment of its next calls
			rng.Uint64()
		}
		must(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait()
		if p.cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("rank %d ended by itself: %s", victim, p.stderr.String())
		}
	}
	last := ranks[order[0]]
	// What it said while others lived may wait in the pipe; what comes after is clean.
	must(t, last.in.Close())
	for last.out.Scan() && last.out.Text() == "alive" {
	}
	if last.out.Text() != "clean" {
		_ = last.cmd.Wait()
		t.Fatalf("the last rank said %q: %s", last.out.Text(), last.stderr.String())
	}
	must(t, last.cmd.Wait())
}
