package set

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

// The test of killed ranks: ranks are processes that insert batch after batch and
// acknowledge each on a pipe. The parent kills one after the other. The last one then
// looks up everything that any rank has acknowledged.

const (
	killRankEnv = "FARHASH_SET_TEST_RANK" // makes the test binary a rank
	killJobEnv  = "FARHASH_SET_TEST_JOB"
	killHidden  = "FARHASH_SET_TEST_HIDDEN"

	killRanks   = 9 // one of them is not killed
	killBatch   = 32
	killBatches = 2000 // of one rank; then it starts over, and finds all words
)

func init() {
	beforeTests = func() {
		var rank int
		if _, err := fmt.Sscan(os.Getenv(killRankEnv), &rank); err != nil {
			return
		}
		if err := runKilledRank(rank, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "rank", rank, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// killWords are the words of a batch. Even batches are the same for all ranks.
func killWords(rank, batch int) []uint64 {
	batch %= killBatches
	if batch%2 == 0 {
		rank = killRanks
	}
	words := make([]uint64, killBatch)
	for i := range words {
		words[i] = uint64(rank)<<40 | uint64(batch)<<16 | uint64(i)
	}
	return words
}

// killElements are words as elements of 12 bytes.
func killElements(words []uint64) []byte {
	var elements []byte
	for _, word := range words {
		elements = binary.LittleEndian.AppendUint64(elements, word)
		elements = binary.LittleEndian.AppendUint32(elements, ^uint32(word))
	}
	return elements
}

// runKilledRank is the program of a rank. Lines on in: "stop", then "verify RANK BATCHES" for
// each rank, then "end". Lines on out: "done BATCH WORDS ELEMENTS", the last two being
// how many were Inserted.
func runKilledRank(rank int, in io.Reader, out io.Writer) error {
	joining, cancel := context.WithCancel(context.Background())
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer cancel() // the parent is gone
		for scan := bufio.NewScanner(in); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	dir, err := lab.Folder()
	if err != nil {
		return err
	}
	job, err := shm.Join(joining, shm.Config{Rank: rank, Size: killRanks,
		Job: os.Getenv(killJobEnv), Hidden: os.Getenv(killHidden) != "", Dir: dir})
	if err != nil {
		return err
	}
	defer job.Close()
	const buckets = 1 << 19
	s, err := New(context.Background(), job, Config{Buckets: buckets})
	if err != nil {
		return err
	}
	e, err := NewElements(context.Background(), job,
		ElementsConfig{Config: Config{Buckets: buckets}, ElementBytes: 12})
	if err != nil {
		return err
	}
	for batch := 0; ; batch++ {
		select {
		case <-lines: // stop, or the parent is gone
			return answer(job, s, e, lines, out)
		default:
			if err := killInsert(s, e, rank, batch, out); err != nil {
				return err
			}
		}
	}
}

// killInsert inserts a batch, words one way and elements another, and acknowledges it.
func killInsert(s *Set, e *Elements, rank, batch int, out io.Writer) error {
	words := killWords(rank, batch)
	results := make([]Result, 2*len(words))
	if err := s.FindOrPutBatch(words[1:], results[1:len(words)]); err != nil {
		return err
	}
	var err error
	if results[0], err = s.FindOrPut(words[0]); err != nil {
		return err
	}
	if err := e.FindOrPutBatch(killElements(words), results[len(words):]); err != nil {
		return err
	}
	var inserted [2]int
	for i, r := range results {
		if r == Inserted {
			inserted[i/len(words)]++
		}
	}
	_, err = fmt.Fprintln(out, "done", batch, inserted[0], inserted[1])
	return err
}

// answer looks up what others have acknowledged, and checks the whole table.
func answer(job rma.Job, s *Set, e *Elements, lines <-chan string, out io.Writer) error {
	if _, err := fmt.Fprintln(out, "stopped"); err != nil {
		return err
	}
	for line := range lines {
		var rank, batches int
		if line == "end" {
			break
		}
		if _, err := fmt.Sscanf(line, "verify %d %d", &rank, &batches); err != nil {
			return err
		}
		for batch := range min(batches, killBatches) {
			words := killWords(rank, batch)
			results := make([]Result, 2*len(words))
			err := s.ContainsBatch(words, results[:len(words)])
			if err == nil {
				err = e.ContainsBatch(killElements(words), results[len(words):])
			}
			if err != nil {
				return err
			}
			for i, r := range results {
				if r != Found {
					return fmt.Errorf("acknowledged, and lost: item %d of batch %d of rank %d", i,
						batch, rank)
				}
			}
		}
	}
	var occupiedBuckets [2]int
	for rank := range job.Size() { // the dead cannot check their parts
		err := errors.Join(s.check(context.Background(), rank), e.check(context.Background(), rank))
		if err != nil {
			return err
		}
	}
	for i, t := range []*table{s.oldest.Load(), e.oldest.Load()} {
		all, err := t.readAll()
		if err != nil {
			return err
		}
		for _, bucket := range all {
			if bucket != 0 {
				occupiedBuckets[i]++
			}
		}
	}
	_, err := fmt.Fprintln(out, "clean", occupiedBuckets[0], occupiedBuckets[1])
	return err
}

// process is what the parent knows of a rank.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr strings.Builder
	rank   int

	mu       sync.Mutex
	changed  sync.Cond
	batches  int // acknowledged
	inserted [2]int
	line     string // the last line that was no acknowledgement
	ended    bool
}

func startProcess(t *testing.T, rank int, env ...string) *process {
	t.Helper()
	_, err := lab.Folder()
	must(t, err)
	p := &process{cmd: exec.Command(os.Args[0]), rank: rank}
	p.changed.L = &p.mu
	p.cmd.Env = append(os.Environ(), append(env, fmt.Sprintf("%s=%d", killRankEnv, rank))...)
	p.cmd.Stderr = &p.stderr
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	go p.watch(out)
	return p
}

// watch notes what the rank says, until it ends. A pipe gives lines whole.
func (p *process) watch(out io.Reader) {
	for scan := bufio.NewScanner(out); scan.Scan(); p.changed.Broadcast() {
		p.mu.Lock()
		var batch, words, elements int
		if n, _ := fmt.Sscanf(scan.Text(), "done %d %d %d", &batch, &words, &elements); n == 3 {
			p.batches++
			p.inserted[0] += words
			p.inserted[1] += elements
		} else {
			p.line = scan.Text()
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.changed.Broadcast()
}

// await waits until something holds of what the rank has said.
func (p *process) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !holds() {
		if p.ended {
			_ = p.cmd.Wait()
			t.Fatalf("rank %d ended and said no %q: %s", p.rank, what, p.stderr.String())
		}
		p.changed.Wait()
	}
}

// progress waits until the rank has acknowledged n more batches.
func (p *process) progress(t *testing.T, n int) {
	t.Helper()
	p.mu.Lock()
	n += p.batches
	p.mu.Unlock()
	p.await(t, "done", func() bool { return p.batches >= n })
}

// TestKill kills 8 of 9 ranks, one after the other in mid-insert, and checks with the last.
// All of it some times over, in turn by memory and through queues.
func TestKill(t *testing.T) {
	rounds := 6 // of 8 deaths
	if slow {
		rounds = 2
	}
	rng := rand.New(rand.NewPCG(9, uint64(os.Getpid())))
	for round := range rounds {
		killRound(t, rng, round)
	}
}

func killRound(t *testing.T, rng *rand.Rand, round int) {
	t.Helper()
	env := []string{fmt.Sprintf("%s=set-test-%d-%d", killJobEnv, os.Getpid(), round)}
	if round%2 == 1 {
		env = append(env, killHidden+"=1")
	}
	ranks := make([]*process, killRanks)
	for rank := range ranks {
		ranks[rank] = startProcess(t, rank, env...)
		defer func() { _ = ranks[rank].cmd.Process.Kill() }()
	}
	order := rng.Perm(killRanks)
	for _, victim := range order[1:] {
		p := ranks[victim]
		p.progress(t, 1+rng.IntN(12)) // after the first, all ranks have joined
		for range rng.IntN(1 << 14) { // some moment of its next batch
			rng.Uint64()
		}
		must(t, p.cmd.Process.Kill())
		p.await(t, "end", func() bool { return p.ended }) // with what it said before
		_ = p.cmd.Wait()
		if p.cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("rank %d ended by itself: %s", victim, p.stderr.String())
		}
	}
	last := ranks[order[0]]
	last.progress(t, 3) // it goes on
	_, err := fmt.Fprintln(last.in, "stop")
	must(t, err)
	last.await(t, "stopped", func() bool { return last.line == "stopped" })
	ask(t, ranks, last)
	must(t, last.in.Close(), last.cmd.Wait())
}

// ask has the survivor verify what was acknowledged, and compares the counts: a dead
// rank may have inserted one batch that it did not acknowledge.
func ask(t *testing.T, ranks []*process, last *process) {
	t.Helper()
	var inserted [2]int
	for rank, p := range ranks {
		_, err := fmt.Fprintln(last.in, "verify", rank, p.batches)
		must(t, err)
		for i := range inserted {
			inserted[i] += p.inserted[i]
		}
	}
	_, err := fmt.Fprintln(last.in, "end")
	must(t, err)
	var there [2]int
	last.await(t, "clean", func() bool { return strings.HasPrefix(last.line, "clean") })
	_, err = fmt.Sscanf(last.line, "clean %d %d", &there[0], &there[1])
	must(t, err)
	for i, what := range []string{"words", "elements"} {
		if over := there[i] - inserted[i]; over < 0 || over > (killRanks-1)*killBatch {
			t.Fatalf("%d %s in the table, %d acknowledged as inserted", there[i], what, inserted[i])
		}
	}
}
