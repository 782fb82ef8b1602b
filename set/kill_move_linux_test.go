package set

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma/shm"
)

// The test of a rank that is killed while it moves a table: ranks are processes. The last one kills
// itself at a line of code that has a mark. The others then find all that was acknowledged, move
// what it has left, and insert more.

const (
	killMoveEnv   = "FARHASH_SET_TEST_MOVE" // place, visit and kind of set of a killMove
	killMoveRanks = 3
	killMoveSize  = killMoveRanks * 2 * pieceBuckets // buckets at first
	killMoveKeys  = killMoveSize / 2                 // inserted before the move
	killMoveMore  = killMoveSize / 8                 // after it
)

// killMove is a moment at which a rank is killed.
type killMove struct {
	place    *mark.Mark
	visit    int // when it comes there for the visit-th time
	elements bool
	hidden   bool // ranks reach memory through queues
}

// killMoves are the moments, by their numbers.
func killMoves() (all []killMove) {
	for _, elements := range []bool{false, true} {
		for _, hidden := range []bool{false, true} {
			at := func(place *mark.Mark, visits ...int) {
				for _, visit := range visits {
					all = append(all, killMove{place, visit, elements, hidden})
				}
			}
			if hidden {
				at(closesQueued, 1, 5)
			} else {
				at(closesBucket, 1, 1000)
			}
			at(bucketsClosed, 1, 9)
			if elements && !hidden {
				at(claimsWord, 100) // in the middle of a copy
			}
			at(pieceCopied, 1, 3)
			at(allMoved, 1)
		}
	}
	return all
}

func (k *killMove) String() string {
	return fmt.Sprintf("%v, visit %d, elements %v, hidden %v", k.place, k.visit, k.elements,
		k.hidden)
}

func init() {
	before := beforeTests
	beforeTests = func() {
		var rank, number int
		if _, err := fmt.Sscan(os.Getenv(killMoveEnv), &number); err != nil {
			before()
			return
		}
		_, err := fmt.Sscan(os.Getenv(killRankEnv), &rank)
		if err == nil {
			err = killMoves()[number].runRank(rank, os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "rank", rank, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// TestKillMover kills a rank at each step of a move.
func TestKillMover(t *testing.T) {
	mark.Need(t)
	if testing.Short() {
		t.Skip("starts processes")
	}
	for number, k := range killMoves() {
		k.run(t, number)
	}
}

func (k *killMove) run(t *testing.T, number int) {
	t.Helper()
	env := []string{fmt.Sprintf("%s=set-move-%d-%d", killJobEnv, os.Getpid(), number),
		fmt.Sprintf("%s=%d", killMoveEnv, number)}
	ranks := make([]*process, killMoveRanks)
	for rank := range ranks {
		ranks[rank] = startProcess(t, rank, env...)
		defer func() { _ = ranks[rank].cmd.Process.Kill() }()
	}
	victim, others := ranks[killMoveRanks-1], ranks[:killMoveRanks-1]
	_ = victim.cmd.Wait()
	if victim.cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v: the rank was not killed: %s", k, victim.stderr.String())
	}
	inserted := 0
	for _, step := range []string{"insert", "check"} {
		for _, p := range others {
			_, err := fmt.Fprintln(p.in, step)
			must(t, err)
		}
		for _, p := range others {
			p.await(t, step, func() bool { return strings.HasPrefix(p.line, step) })
		}
	}
	for _, p := range others {
		n := 0
		_, err := fmt.Sscanf(p.line, "check %d", &n)
		must(t, err, p.in.Close(), p.cmd.Wait())
		inserted += n
	}
	if inserted != killMoveMore {
		t.Errorf("%v: of %d elements %d are Inserted", k, killMoveMore, inserted)
	}
}

// runRank is the program of a rank.
func (k *killMove) runRank(rank int, in io.Reader, out io.Writer) error {
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
	job, err := shm.Join(joining, shm.Config{Rank: rank, Size: killMoveRanks,
		Job: os.Getenv(killJobEnv), Hidden: k.hidden, Dir: dir})
	if err != nil {
		return err
	}
	defer job.Close()
	m := killedMove{rank: rank}
	cfg := Config{Buckets: killMoveSize, MaxBytes: killMoveSize * 8 * 3}
	if k.elements {
		capacity := uint64(killMoveSize)
		cfg.MaxBytes += capacity * 16
		m.e, err = NewBytes(joining, job, BytesConfig{Config: cfg, ElementBytes: 12,
			Capacity: capacity})
	} else {
		m.s, err = New(joining, job, cfg)
	}
	if err != nil {
		return err
	}
	var own []int
	for key := rank; key < killMoveKeys; key += killMoveRanks {
		own = append(own, key)
	}
	if _, err := m.insert(own, len(own)); err != nil {
		return err
	}
	if err := job.Barrier(joining); err != nil {
		return err
	}
	if rank == killMoveRanks-1 {
		return m.die(k)
	}
	return m.survive(lines, out)
}

// killedMove is what a rank does with its set.
type killedMove struct {
	rank int
	s    *Set
	e    *Bytes
}

func (m *killedMove) space() *space {
	if m.e != nil {
		return m.e.space
	}
	return m.s.space
}

// insert inserts keys. So many must be new.
func (m *killedMove) insert(keys []int, isNew int) (inserted int, err error) {
	results := make([]Result, len(keys))
	if m.e != nil {
		elements := make([]byte, 12*len(keys))
		for i, key := range keys {
			elementOfID(elements[12*i:12*i+12], key)
		}
		err = m.e.FindOrPutPacked(elements, results, nil)
	} else {
		err = insertWords(m.s, wordOfID, keys, results)
	}
	for _, r := range results {
		if r == Inserted {
			inserted++
		}
	}
	if isNew >= 0 && inserted != isNew {
		err = errors.Join(err, fmt.Errorf("of %d keys %d are Inserted, not %d", len(keys), inserted,
			isNew))
	}
	return inserted, err
}

// noTest is the mark.Test of a process that is none.
type noTest struct{}

func (noTest) Helper()               {}
func (noTest) Cleanup(func())        {}
func (noTest) Errorf(string, ...any) {}
func (noTest) Failed() bool          { return false }
func (noTest) Skipped() bool         { return false }

// die moves the table until it comes to its place.
func (m *killedMove) die(k *killMove) error {
	visits := 0
	k.place.Intercept(noTest{}, func() {
		if visits++; visits == k.visit {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	})
	sp := m.space()
	for sp.oldest.Load().gen == 0 {
		if _, err := sp.oldest.Load().help(1, true); err != nil {
			return err
		}
	}
	return errors.New("the table has moved")
}

// survive answers the steps of the parent: it finds all keys that were acknowledged, ends the move,
// and inserts more; then it checks the tables.
func (m *killedMove) survive(lines <-chan string, out io.Writer) error {
	var keys, more []int
	for key := range killMoveKeys + killMoveMore {
		if keys = append(keys, key); key >= killMoveKeys {
			more = append(more, key)
		}
	}
	inserted := 0
	for line := range lines {
		var err error
		if line == "insert" {
			inserted, err = m.goOn(keys, more)
		} else {
			for rank := range killMoveRanks { // the dead cannot check its part
				err = errors.Join(err, m.space().check(context.Background(), rank))
			}
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, line, inserted); err != nil {
			return err
		}
	}
	return nil
}

func (m *killedMove) goOn(keys, more []int) (inserted int, err error) {
	sp, old := m.space(), keys[:killMoveKeys]
	if _, err := m.insert(old, 0); err != nil {
		return 0, err
	}
	if inserted, err = m.insert(more[:len(more)/2], -1); err != nil {
		return inserted, err
	}
	for sp.oldest.Load().gen == 0 {
		if _, err := sp.oldest.Load().help(1, true); err != nil {
			return inserted, err
		}
	}
	n, err := m.insert(more, -1)
	if err == nil {
		_, err = m.insert(keys, 0)
	}
	return inserted + n, err
}
