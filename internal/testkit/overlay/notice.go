package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
)

// A mutant that makes its test endless is noticed. Its test ends when it has taken slowdown times
// as much time, or time of a processor, as without the mutant, and the least of either. The time
// is that of package patience.
const (
	slowdown  = 20
	leastTime = 10 * time.Second
	leastCPU  = 10 * time.Second
)

// A limit is how long a test may take.
type limit struct{ time, cpu time.Duration }

// rightLimit is for tests without a mutant, which end.
var rightLimit = limit{time: 5 * time.Minute}

// A notice runs the tests of mutants.
type notice struct {
	root, folder string
	overlay      string // the file for go test's -overlay
	verbose      bool   // prints the output of each test
	record       bool   // writes the seeds that notice mutants into their files
	turns        chan struct{}
	compiling    sync.Mutex // held by one go command at a time

	mu     sync.Mutex // guards the following
	count  int
	failed []error
}

// all runs the test of each mutant of the packages in dirs whose name matches only, and fails for
// those that the tests pass. Packages run beside each other, so that one compiles while another
// tests.
func (n *notice) all(dirs []string, only *regexp.Regexp) (err error) {
	if n.overlay, err = overlayOf(n.root, n.folder, nil); err != nil {
		return err
	}
	n.turns = make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for _, dir := range dirs {
		mutants, err := readMutants(dir)
		if err != nil {
			return err
		}
		var wanted []*mutant
		for _, m := range mutants {
			if only.MatchString(m.name) {
				wanted = append(wanted, m)
			}
		}
		n.count += len(wanted)
		if len(wanted) > 0 {
			running.Go(func() { n.packageOf(wanted) })
		}
	}
	running.Wait()
	fmt.Printf("%d mutants, %d faults\n", n.count, len(n.failed))
	return errors.Join(n.failed...)
}

// fail keeps an error for the end.
func (n *notice) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = append(n.failed, err)
}

// packageOf runs the tests of mutants of one package.
func (n *notice) packageOf(mutants []*mutant) {
	var running sync.WaitGroup
	for tags, some := range byTags(mutants) {
		running.Go(func() {
			binary, err := n.compile(n.folder, n.overlay, some[0].dir, tags)
			if err != nil {
				n.fail(err)
				return
			}
			var beside sync.WaitGroup
			for _, sameTest := range byTest(some) {
				beside.Go(func() { n.test(binary, sameTest) })
			}
			beside.Wait()
		})
	}
	running.Wait()
	if n.record {
		if err := recordSeeds(mutants); err != nil {
			n.fail(err)
		}
	}
}

// byTags groups mutants by build tags: each group has a test binary.
func byTags(mutants []*mutant) map[string][]*mutant {
	groups := map[string][]*mutant{}
	for _, m := range mutants {
		groups[m.tags] = append(groups[m.tags], m)
	}
	return groups
}

// byTest groups mutants that the same test has to notice.
func byTest(mutants []*mutant) map[string][]*mutant {
	groups := map[string][]*mutant{}
	for _, m := range mutants {
		key := m.test + " " + strings.Join(m.args, " ")
		groups[key] = append(groups[key], m)
	}
	return groups
}

// turn runs fn while it has one of the turns, of which there are as many as processors.
func (n *notice) turn(fn func()) {
	n.turns <- struct{}{}
	defer func() { <-n.turns }()
	fn()
}

// test runs the test of some mutants, first without a mutant, then with each.
func (n *notice) test(binary string, mutants []*mutant) {
	var most limit
	var err error
	n.turn(func() { most, err = n.passes(binary, mutants) })
	if err != nil {
		n.fail(err)
		return
	}
	var running sync.WaitGroup
	for _, m := range mutants {
		running.Go(func() { n.turn(func() { n.one(binary, m, most) }) })
	}
	running.Wait()
}

// one runs the test of a mutant with it in place, and prints how long it took and how much time of
// processors.
func (n *notice) one(binary string, m *mutant, most limit) {
	r := n.noticed(binary, m, most)
	fmt.Printf("%7.1f s %7.1f s CPU  %-5v %s%s\n", r.wall.Seconds(), r.cpu.Seconds(), r.err == nil,
		m.name, r.remark)
	if r.err != nil {
		n.fail(fmt.Errorf("mutant %q: %w", m.name, r.err))
	}
}

// A result is one of a test of a mutant, or of several one after the other.
type result struct {
	wall, cpu time.Duration
	patient   time.Duration // wall, as it would be on a machine that is not loaded
	out       []byte
	passed    bool
	remark    string
	err       error
}

func (r *result) add(other result) {
	other.wall += r.wall
	other.cpu += r.cpu
	*r = other
}

// noticed runs the test of m with m in place. The test has to fail. The seed that noticed m the
// last time is tried before all others.
func (n *notice) noticed(binary string, m *mutant, most limit) (r result) {
	if m.static() {
		own, err := os.MkdirTemp(n.folder, "static")
		if err == nil {
			var overlay string
			if overlay, err = overlayOf(n.root, own, m); err == nil {
				binary, err = n.compile(own, overlay, m.dir, m.tags)
			}
		}
		if err != nil {
			return result{err: err}
		}
	}
	if m.seed != "" {
		r.add(execute(binary, m, m.name, most, "-seed", m.seed))
	}
	if m.seed == "" || r.passed {
		r.add(execute(binary, m, m.name, most, m.args...))
		if seed := seedIn(r.out); seed != "" && !r.passed {
			m.seed = seed
			r.remark = "; its line would be seed: " + seed
		}
	}
	if n.verbose {
		fmt.Printf("%s\n%s\n", m.name, r.out)
	}
	if r.passed {
		r.err = fmt.Errorf("%s notices nothing", m.test)
	}
	return r
}

var seedAdvice = regexp.MustCompile(`-seed (\d+)`)

// seedIn is the seed of which a test says that it fails.
func seedIn(out []byte) string {
	if match := seedAdvice.FindSubmatch(out); match != nil {
		return string(match[1])
	}
	return ""
}

// compile makes the test binary of a package. Two go commands at a time would both compile the
// packages that they share.
func (n *notice) compile(folder, overlay, dir, tags string) (string, error) {
	n.compiling.Lock()
	defer n.compiling.Unlock()
	f, err := os.CreateTemp(folder, filepath.Base(dir)+"*.test")
	if err != nil {
		return "", err
	}
	f.Close()
	cmd := command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-tags",
		strings.TrimSpace("invariants "+tags), "-o", f.Name())
	cmd.Dir = dir
	if tags != "" {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the tests of %s do not compile with mutants: %w", dir, err)
	}
	return f.Name(), nil
}

// passes runs the test of some mutants without a mutant, as a test that fails then would notice
// nothing. The limit is for the test with a mutant. The schedules that noticed a mutant the last
// time stand for all others: that these pass is tested elsewhere.
func (n *notice) passes(binary string, mutants []*mutant) (most limit, err error) {
	m := mutants[0]
	var runs []result
	done := map[string]bool{}
	for _, m := range mutants {
		if m.seed != "" && !done[m.seed] {
			done[m.seed] = true
			runs = append(runs, execute(binary, m, "", rightLimit, "-seed", m.seed))
		}
	}
	if len(runs) == 0 {
		runs = append(runs, execute(binary, m, "", rightLimit, fewSeeds(m.args)...))
	}
	most = limit{leastTime, leastCPU}
	for _, r := range runs {
		most.time = max(most.time, slowdown*r.patient)
		most.cpu = max(most.cpu, slowdown*r.cpu)
		if r.passed && !bytes.Contains(r.out, []byte("--- PASS")) {
			return most, fmt.Errorf("%s of %s does not run, or is skipped", m.test, m.dir)
		} else if !r.passed {
			return most, fmt.Errorf("%s of %s fails without a mutant:\n%s", m.test, m.dir, r.out)
		}
	}
	return most, nil
}

// fewSeeds are the flags of a test without those that have it run often.
func fewSeeds(args []string) []string {
	var few []string
	for i := 0; i < len(args); i++ {
		switch name, _, _ := strings.Cut(args[i], "="); name {
		case "-seeds":
			i++
		case "-test.count":
		default:
			few = append(few, args[i])
		}
	}
	return few
}

// execute runs the test of m while the mutant of that name is on.
func execute(binary string, m *mutant, name string, most limit, args ...string) result {
	cmd := exec.Command(binary, append([]string{"-test.v", "-test.failfast", "-test.timeout=0",
		"-test.run", testPattern(m.test)}, args...)...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), variableName+"="+name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // a process that a test has started may hold the output
	inGroup(cmd)
	start, clock := time.Now(), patience.NewClock()
	if err := cmd.Start(); err != nil {
		return result{err: err}
	}
	limitCPU(cmd, most.cpu)
	stop := patience.AfterFunc(most.time, func() { killGroup(cmd) })
	err := cmd.Wait()
	stop()
	killGroup(cmd) // processes that the test has left
	return result{wall: time.Since(start), patient: clock.Elapsed(), out: out.Bytes(),
		passed: err == nil,
		cpu:    cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// testPattern has -run match whole names.
func testPattern(test string) string {
	levels := strings.Split(test, "/")
	for i, level := range levels {
		levels[i] = "^(" + level + ")$"
	}
	return strings.Join(levels, "/")
}
