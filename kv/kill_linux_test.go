package kv

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma/shm"
)

// The test of killed ranks: ranks are processes. Each counts up a key of its own, prints every
// number once it is acknowledged, and writes keys that all write. The parent kills all but
// rank 0, which then prints what the keys have. Where the table moves each rank also puts a new
// key for each number, and deletes one: the table moves again and again.

const (
	killEnv   = "FARHASH_KV_TEST_RANK" // "rank job hidden moves" makes the binary a rank
	killRanks = 4
	killLines = 300 // numbers that a rank prints before it is killed
	killKeys  = 20  // new ones that a rank keeps
)

func TestMain(m *testing.M) {
	if parameters := os.Getenv(killEnv); parameters != "" {
		if err := runKilledRank(parameters); err != nil {
			fmt.Fprintln(os.Stderr, parameters, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(mark.Main(m, "kv: ", os.Stderr))
}

// runKilledRank is the program of a rank.
func runKilledRank(parameters string) error {
	var rank int
	var hidden, moves bool
	var name string
	if _, err := fmt.Sscan(parameters, &rank, &name, &hidden, &moves); err != nil {
		return err
	}
	ctx := context.Background()
	joining, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(os.Stdin)
		cancel() // before it has joined this means that the parent is gone
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
	cfg := Config{Slots: 8, Bytes: 1 << 14, MaxKey: 8, MaxValue: 8, Copies: true}
	if moves {
		cfg.MaxSlots = 50
	}
	m, err := New(ctx, job, forRanks(cfg, job.Size()))
	if err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		if err := round(m, rank, n); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
		select {
		case <-stop:
			return reportAll(m)
		default:
		}
	}
}

// round is one round of a rank.
func round(m *Map, rank int, n uint64) error {
	own, hot := []byte{byte(rank)}, []byte{byte(100 + n%3)}
	value := binary.LittleEndian.AppendUint64(nil, n)
	if canGrow(m) {
		_, err := m.Put(temporaryKey(rank, n), value)
		if n > killKeys {
			_, deleteErr := m.Delete(temporaryKey(rank, n-killKeys))
			err = errors.Join(err, deleteErr)
		}
		if err != nil {
			return err
		}
	}
	if _, err := m.Put(own, value); err != nil {
		return err
	}
	if n%5 == 0 {
		_, err := m.Delete(hot)
		return err
	}
	_, err := m.Put(hot, value)
	return err
}

// temporaryKey is the key of a number. It is deleted later.
func temporaryKey(rank int, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(nil, n<<8|1<<63|uint64(rank))
}

// reportAll prints the number of every rank, and walks the map.
func reportAll(m *Map) error {
	for rank := range killRanks {
		value, _, ok, err := m.Get([]byte{byte(rank)}, nil)
		if err != nil || !ok {
			return fmt.Errorf("the key of rank %d: there %v, %w", rank, ok, err)
		}
		last := binary.LittleEndian.Uint64(value)
		fmt.Println("rank", rank, last)
		for n := last; canGrow(m) && n > last-min(last, killKeys-1); n-- {
			if _, _, ok, err := m.Get(temporaryKey(rank, n), nil); err != nil || !ok {
				return fmt.Errorf("key %d of %d that rank %d has put: there %v, %w", n, last, rank,
					ok, err)
			}
		}
	}
	if canGrow(m) && m.latest.Load().gen < 10 {
		return fmt.Errorf("the table has moved %d times only", m.latest.Load().gen-1)
	}
	return m.Check(context.Background())
}

func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, moves := range []bool{false, true} {
		for _, hidden := range []bool{false, true} {
			name := fmt.Sprintf("kvkill%d%v%v", os.Getpid(), hidden, moves)
			if err := kill(name, hidden, moves); err != nil {
				t.Errorf("hidden %v, table moves %v: %v", hidden, moves, err)
			}
		}
	}
}

// child is what the parent knows of a rank.
type child struct {
	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Scanner
	last  uint64 // number printed last
}

func kill(name string, hidden, moves bool) error {
	children := make([]child, killRanks)
	if _, err := lab.Folder(); err != nil {
		return err
	}
	for rank := range children {
		c := &children[rank]
		c.cmd = exec.Command(os.Args[0])
		c.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %v %v", killEnv, rank, name,
			hidden, moves))
		c.cmd.Stderr = os.Stderr
		in, inErr := c.cmd.StdinPipe()
		out, outErr := c.cmd.StdoutPipe()
		if err := errors.Join(inErr, outErr); err != nil {
			return err
		}
		c.in, c.lines = in, bufio.NewScanner(out)
		if err := c.cmd.Start(); err != nil {
			return err
		}
		defer func() { _ = c.cmd.Process.Kill() }()
	}
	for rank := killRanks - 1; rank > 0; rank-- {
		c := &children[rank]
		if err := c.read(killLines); err != nil {
			return err
		}
		if err := errors.Join(c.cmd.Process.Kill(), c.read(1<<30)); err != nil {
			return err
		}
		_ = c.cmd.Wait()
	}
	return children[0].verify(children)
}

// read reads the numbers that a rank prints, up to some, or to its end.
func (c *child) read(lines int) error {
	for range lines {
		if !c.lines.Scan() {
			return c.lines.Err()
		}
		n, err := strconv.ParseUint(c.lines.Text(), 10, 64)
		if err != nil {
			return fmt.Errorf("a rank prints %q: %w", c.lines.Text(), err)
		}
		c.last = n
	}
	return nil
}

// verify stops the last rank and compares what it prints with what all have printed before.
func (c *child) verify(children []child) error {
	_ = c.in.Close()
	reported := 0
	for c.lines.Scan() {
		var rank int
		var n uint64
		if _, err := fmt.Sscanf(c.lines.Text(), "rank %d %d", &rank, &n); err != nil {
			c.last, err = strconv.ParseUint(c.lines.Text(), 10, 64)
			if err != nil {
				return err
			}
			continue
		}
		reported++
		if last := children[rank].last; n != last && n != last+1 {
			return fmt.Errorf("rank %d has put %d, acknowledged; its key has %d", rank, last, n)
		}
	}
	if reported != killRanks {
		return fmt.Errorf("the last rank reports %d keys", reported)
	}
	return c.cmd.Wait()
}
