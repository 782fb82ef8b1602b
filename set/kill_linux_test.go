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
	"github.com/farhash/farhash/internal/testkit/replay"
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

// killStrings are words as strings of many lengths, a few of several pieces.
func killStrings(words []uint64) [][]byte {
	elements := make([][]byte, len(words))
	for i, word := range words {
		n := int(word % 40)
		if i == 3 {
			n = 20 * pieceWords
		}
		elements[i] = binary.LittleEndian.AppendUint64(make([]byte, n), word)
	}
	return elements
}

// killKinds are the sets, as messages have them.
var killKinds = [3]string{"words", "elements", "strings"}

// killSets is a set of each kind.
type killSets struct {
	words    *Set
	elements *Bytes
	strings  *Bytes
}

// runKilledRank is the program of a rank. Lines on in: "stop", then "verify RANK BATCHES" for
// each rank, then "end". Lines on out: "done BATCH WORDS ELEMENTS STRINGS", the last three being
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
	var s killSets
	if s.words, err = New(context.Background(), job, Config{Buckets: buckets}); err != nil {
		return err
	}
	s.elements, err = NewBytes(context.Background(), job,
		BytesConfig{Config: Config{Buckets: buckets}, ElementBytes: 12})
	if err != nil {
		return err
	}
	cfg := Config{Buckets: buckets, MaxBytes: 1 << 29}
	if s.strings, err = NewBytes(context.Background(), job, BytesConfig{Config: cfg}); err != nil {
		return err
	}
	for batch := 0; ; batch++ {
		select {
		case <-lines: // stop, or the parent is gone
			return answer(job, s, lines, out)
		default:
			if err := s.insert(rank, batch, out); err != nil {
				return err
			}
		}
	}
}

// insert inserts a batch, words one way and elements another, and acknowledges it.
func (s *killSets) insert(rank, batch int, out io.Writer) error {
	words := killWords(rank, batch)
	n := len(words)
	results := make([]Result, len(killKinds)*n)
	if err := s.words.FindOrPutBatch(words[1:], results[1:n]); err != nil {
		return err
	}
	var err error
	if results[0], err = s.words.FindOrPut(words[0]); err != nil {
		return err
	}
	if err := s.elements.FindOrPutPacked(killElements(words), results[n:2*n], nil); err != nil {
		return err
	}
	if err := s.strings.FindOrPutBatch(killStrings(words), results[2*n:]); err != nil {
		return err
	}
	var inserted [len(killKinds)]int
	for i, r := range results {
		if r == Inserted {
			inserted[i/n]++
		}
	}
	_, err = fmt.Fprintln(out, "done", batch, inserted[0], inserted[1], inserted[2])
	return err
}

// answer looks up what others have acknowledged, and checks the whole table.
func answer(job rma.Job, s killSets, lines <-chan string, out io.Writer) error {
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
			n := len(words)
			results := make([]Result, len(killKinds)*n)
			err := s.words.ContainsBatch(words, results[:n])
			if err == nil {
				err = s.elements.ContainsPacked(killElements(words), results[n:2*n])
			}
			if err == nil {
				err = s.strings.ContainsBatch(killStrings(words), results[2*n:])
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
	var occupiedBuckets [len(killKinds)]int
	for rank := range job.Size() { // the dead cannot check their parts
		err := errors.Join(s.words.check(context.Background(), rank),
			s.elements.check(context.Background(), rank),
			s.strings.check(context.Background(), rank))
		if err != nil {
			return err
		}
	}
	for i, t := range []*table{s.words.oldest.Load(), s.elements.oldest.Load(),
		s.strings.oldest.Load()} {
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
	_, err := fmt.Fprintln(out, "clean", occupiedBuckets[0], occupiedBuckets[1], occupiedBuckets[2])
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
	inserted [len(killKinds)]int
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
		var batch int
		var inserted [len(killKinds)]int
		if n, _ := fmt.Sscanf(scan.Text(), "done %d %d %d %d", &batch, &inserted[0], &inserted[1],
			&inserted[2]); n == 4 {
			p.batches++
			for i, n := range inserted {
				p.inserted[i] += n
			}
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
	rounds := replay.Often(2, 6) // of 8 deaths
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
	last.progress(t, 3) // it continues
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
	var inserted [len(killKinds)]int
	for rank, p := range ranks {
		_, err := fmt.Fprintln(last.in, "verify", rank, p.batches)
		must(t, err)
		for i := range inserted {
			inserted[i] += p.inserted[i]
		}
	}
	_, err := fmt.Fprintln(last.in, "end")
	must(t, err)
	var there [len(killKinds)]int
	last.await(t, "clean", func() bool { return strings.HasPrefix(last.line, "clean") })
	_, err = fmt.Sscanf(last.line, "clean %d %d %d", &there[0], &there[1], &there[2])
	must(t, err)
	for i, what := range killKinds {
		if over := there[i] - inserted[i]; over < 0 || over > (killRanks-1)*killBatch {
			t.Fatalf("%d %s in the table, %d acknowledged as inserted", there[i], what, inserted[i])
		}
	}
}
