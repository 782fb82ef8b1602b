//go:build linux

package torture

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/naive"
)

var (
	attackFlag = flag.String("attack", "", "make this attack alone")
	roundFlag  = flag.Int("round", -1, "make this round of -attack alone, with -seed")
)

const reportEvery = time.Minute

// attack is one idea of what may go wrong.
type attack struct {
	name   string
	needs  string // a pattern of the name of a program
	strike func(r *round) error
}

var attacks = []attack{
	{"nets", "plain", strikeNet},
	{"flags", "plain", strikeFlags},
	{"environments", "plain", strikeEnvironment},
	{"files", "plain", strikeFile},
	{"kills", "plain", strikeKill},
	{"resources", "plain", strikeResource},
	{"cycles", "plain", strikeCycle},
	{"dedup", "plain", strikeDedup},
	{"rendezvous", "ucx", strikeRendezvous},
	{"hosts", "*.test", strikeHosts},
}

// sweep is what all rounds share.
type sweep struct {
	t        testing.TB
	seed     uint64
	dir      string            // of the rounds
	programs map[string]string // paths by how they are built: plain, ucx, openmpi, mpich
	env      []string          // added to the environment of all commands
	verbose  bool
	limit    time.Duration // what takes longer hangs
	patience time.Duration // with a search that may have no end
	linger   time.Duration // that processes may take to end after their command
	known    map[string]naive.Result
	tallies  map[string]*tally
}

// tally is what the rounds of an attack came to.
type tally struct {
	rounds, failed int
	spent          time.Duration
	slowest        time.Duration  // command
	slowestRound   int            // where it was
	counts         map[string]int // by what is counted
}

func newSweep(t testing.TB, seed uint64, dir string) *sweep {
	s := &sweep{t: t, seed: seed, dir: dir, programs: programs(), limit: 3 * time.Minute,
		patience: 10 * time.Second, linger: 10 * time.Second,
		known: map[string]naive.Result{}, tallies: map[string]*tally{}}
	for _, a := range attacks {
		s.tallies[a.name] = &tally{counts: map[string]int{}}
	}
	return s
}

// round is one try of an attack.
type round struct {
	*rand.Rand
	*sweep
	attack  string
	number  int
	dir     string // its own folder
	started int    // commands
}

// count adds to what the summary says.
func (r *round) count(n int, what string) { r.tallies[r.attack].counts[what] += n }

// path is the path of a file of the round.
func (r *round) path(name string) string { return filepath.Join(r.dir, name) }

// pick draws one of a few.
func pick[T any](r *round, all ...T) T { return all[r.IntN(len(all))] }

// make makes a round of an attack.
func (s *sweep) make(a attack, number int) error {
	hash := fnv.New64()
	fmt.Fprint(hash, a.name, number)
	r := &round{Rand: rand.New(rand.NewPCG(s.seed, hash.Sum64())), sweep: s, attack: a.name,
		number: number, dir: filepath.Join(s.dir, fmt.Sprint(a.name, "-", number))}
	begin, t := time.Now(), s.tallies[a.name]
	err := os.MkdirAll(r.path("tmp"), 0o700)
	if err == nil {
		err = a.strike(r)
	}
	if err == nil {
		err = r.leavings()
	}
	t.rounds++
	t.spent += time.Since(begin)
	if err == nil {
		return os.RemoveAll(r.dir)
	}
	t.failed++
	return fmt.Errorf("%s: %w\nIts files are in %s. See it again: "+
		"go test -v ./internal/testkit/torture -run '^TestTorture$' -seed %d -attack %s -round %d",
		a.name, err, r.dir, s.seed, a.name, number)
}

// leavings are the files of a round that nobody has removed.
func (r *round) leavings() error {
	places := []string{r.path("tmp")}
	if alone() {
		places = append(places, "/dev/shm")
	}
	for _, place := range places {
		left, _ := filepath.Glob(filepath.Join(place, "*"))
		for _, path := range left {
			_ = os.RemoveAll(path)
		}
		if left = slices.DeleteFunc(left, ofLibrary); len(left) > 0 {
			return fmt.Errorf("it leaves %q behind", left)
		}
	}
	return nil
}

// ofLibrary reports whether MPICH or UCX has made a file of shared memory. They cannot remove it
// when all their processes are killed.
func ofLibrary(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "mpich_shar_tmp") || strings.HasPrefix(name, "ucx_shm_posix")
}

// report prints the summary.
func (s *sweep) report(begin time.Time) {
	fmt.Printf("seed %d, after %v:\n", s.seed, time.Since(begin).Round(time.Second))
	for _, a := range attacks {
		t := s.tallies[a.name]
		if t.rounds == 0 {
			continue
		}
		fmt.Printf("%-12s  %d rounds in %v, %d failed, slowest command %v in round %d", a.name,
			t.rounds, t.spent.Round(time.Second), t.failed, t.slowest.Round(time.Second/10),
			t.slowestRound)
		for _, what := range slices.Sorted(maps.Keys(t.counts)) {
			fmt.Printf(", %d %s", t.counts[what], what)
		}
		fmt.Println()
	}
}

// goOn makes rounds for so long, or until it is interrupted.
func (s *sweep) goOn(able []attack, long time.Duration) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the next one is not caught
	begin := time.Now()
	reported := begin
	defer s.report(begin)
	for time.Since(begin) < long && ctx.Err() == nil {
		a := slices.MinFunc(able, func(a, b attack) int {
			return int(s.tallies[a.name].spent - s.tallies[b.name].spent)
		})
		if err := s.make(a, s.tallies[a.name].rounds); err != nil {
			fmt.Printf("FAILED: %v\n\n", err)
			s.t.Fail()
		}
		if time.Since(reported) > reportEvery {
			reported = time.Now()
			s.report(begin)
		}
	}
}

// able are the attacks that were asked for and can be made here.
func able(t *testing.T) (all []attack) {
	for _, a := range attacks {
		found, _ := filepath.Glob(filepath.Join(programDir(), a.needs))
		switch {
		case *attackFlag != "" && *attackFlag != a.name:
		case len(found) == 0:
			fmt.Printf("%s: skipped, as there is no program %s\n", a.name, a.needs)
		default:
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		t.Skip("there is nothing to be done")
	}
	return all
}

// A round of each attack; with -soak as many as there is time for.
func TestTorture(t *testing.T) {
	long, seed, dir := lab.SoakFor(), lab.ReplaySeed(), t.TempDir()
	if invariant.Enabled && long == 0 {
		t.Skip("the programs would be from other builds of this test")
	}
	if seed == 0 {
		seed = 1
		if long > 0 {
			seed = uint64(time.Now().UnixNano())
		}
	}
	if long > 0 || *roundFlag >= 0 {
		var err error
		if dir, err = os.MkdirTemp("", "farhash-torture-"); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(dir) // which fails where a round has left its files
		fmt.Println("seed", seed)
	}
	s := newSweep(t, seed, dir)
	s.verbose = *roundFlag >= 0
	if long > 0 && *roundFlag < 0 {
		s.goOn(able(t), long)
		return
	}
	for _, a := range able(t) {
		if err := s.make(a, max(0, *roundFlag)); err != nil {
			t.Error(err)
		}
	}
}
