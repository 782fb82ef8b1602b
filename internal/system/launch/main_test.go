//go:build unix

package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roleVariable makes the test binary play a role in a job instead of testing:
// the name of the role with its arguments after colons.
const roleVariable = "LAUNCH_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		if os.Getenv("GORACE") == "" {
			// The race detector lets each process sleep for a second at its end.
			os.Setenv("GORACE", "atexit_sleep_ms=0")
		}
		os.Exit(m.Run())
	}
	name, args, _ := strings.Cut(role, ":")
	os.Exit(roles()[name](strings.Split(args, ":")))
}

// roles return an exit code. None of them ends by itself for lack of time.
func roles() map[string]func(args []string) int {
	return map[string]func([]string) int{
		"detect":   playDetect,
		"hold":     playHold,
		"fail":     playFail,
		"notice":   playNotice,
		"stubborn": playStubborn,
		"count":    playCount,
		"chatter":  playChatter,
		"echo":     playEcho,
		"launcher": playLauncher,
		"regular":  playRegular,
		"obey":     playObey,
	}
}

// block waits to be stopped. The runtime would take an empty select for a
// deadlock.
func block() {
	for {
		time.Sleep(time.Hour)
	}
}

func self() int {
	rank, _ := strconv.Atoi(os.Getenv(envRank))
	return rank
}

// playDetect prints the membership as a line of JSON, then waits for the lock
// of the file in its argument to be released.
func playDetect(args []string) int {
	m, found, err := Detect()
	if err != nil || !found {
		fmt.Printf("found=%v err=%v\n", found, err)
		return 1
	}
	line, _ := json.Marshal(m)
	os.Stdout.Write(append(line, '\n')) // in one piece
	if args[0] != "" {
		lockFile(args[0])
	}
	return 0
}

// playHold locks a file of its own until it dies.
func playHold(args []string) int {
	lockFile(fmt.Sprintf("%s.%d", args[0], self()))
	fmt.Println("held", self())
	block()
	return 0
}

// playFail fails in one rank as the argument says: with an exit code, or by a
// signal. Rank 0 waits for the end of its input before it does anything; the
// others wait to be stopped.
func playFail(args []string) int {
	rank, _ := strconv.Atoi(args[0])
	if self() == 0 {
		io.Copy(io.Discard, os.Stdin)
	}
	if self() != rank {
		if self() == 0 {
			fmt.Println("finished")
			return 0
		}
		fmt.Println("waiting")
		block()
	}
	if name, isSignal := strings.CutPrefix(args[1], "signal "); isSignal {
		n, _ := strconv.Atoi(name)
		syscall.Kill(os.Getpid(), syscall.Signal(n))
		block()
	}
	code, _ := strconv.Atoi(args[1])
	return code
}

// playNotice has rank 0 end with a code, such as ExitRankLost, at the end of its input. The others
// print their process ids and wait for SIGUSR1, upon which they end with code 7.
func playNotice(args []string) int {
	if self() == 0 {
		io.Copy(io.Discard, os.Stdin)
		fmt.Println("over")
		code, _ := strconv.Atoi(args[0])
		return code
	}
	fails := make(chan os.Signal, 1)
	signal.Notify(fails, syscall.SIGUSR1)
	fmt.Println("process", os.Getpid())
	<-fails
	return 7
}

// playStubborn ignores SIGTERM in all ranks but 0, which fails at the end of its
// input.
func playStubborn([]string) int {
	if self() == 0 {
		io.Copy(io.Discard, os.Stdin)
		return 4
	}
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("ready")
	block()
	return 0
}

// playCount reports each SIGINT, and upon SIGTERM how many there were. SIGHUP, SIGQUIT and SIGPIPE
// it reports by their names.
func playCount([]string) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE,
		syscall.SIGQUIT)
	fmt.Println("ready")
	count := 0
	for s := range signals {
		if s == syscall.SIGTERM {
			break
		}
		if s != syscall.SIGINT {
			fmt.Println(s)
			continue
		}
		count++
		fmt.Println("interrupted")
	}
	fmt.Println("count", count)
	return 0
}

// playObey ends upon SIGTERM with the code that shells give for it.
func playObey([]string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Println("ready")
	<-signals
	return exitSignal + int(syscall.SIGTERM)
}

// playRegular prints whether its input and its outputs are regular files.
func playRegular([]string) int {
	regular := func(f *os.File) bool {
		info, err := f.Stat()
		return err == nil && info.Mode().IsRegular()
	}
	fmt.Println(self(), regular(os.Stdin), regular(os.Stdout), regular(os.Stderr))
	return 0
}

// playChatter writes lines in pieces, the last one without an end.
func playChatter(args []string) int {
	lines, _ := strconv.Atoi(args[0])
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "%d %d %s\n", self(), i, strings.Repeat("x", i%200))
	}
	fmt.Fprintf(&text, "%d end", self())
	for size := 1; text.Len() > 0; size = size*7%311 + 1 {
		if _, err := os.Stdout.Write(text.Next(size)); err != nil {
			return 1
		}
	}
	return 0
}

// playEcho prints what it reads.
func playEcho([]string) int {
	input, err := io.ReadAll(os.Stdin)
	fmt.Printf("%d read %q %v\n", self(), input, err)
	return 0
}

// playLauncher runs a role with its arguments in a number of ranks, never
// impatient with them.
func playLauncher(args []string) int {
	n, _ := strconv.Atoi(args[0])
	code, err := Run(context.Background(), Options{
		Ranks: n, Program: os.Args[0], Grace: time.Hour, Prefix: true,
		Env:   []string{roleVariable + "=" + strings.Join(args[1:], ":")},
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Cleanup: func(string) { fmt.Println("cleaned up") },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// lockFile waits for the lock of a file, which this process then holds until it
// ends or closes the file.
func lockFile(path string) *os.File {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		panic(err)
	}
	return f
}

// options run a role in the ranks of this test.
func options(ranks int, role string) Options {
	return Options{
		Ranks: ranks, Program: os.Args[0], Grace: time.Hour,
		Env: []string{roleVariable + "=" + role},
	}
}

// transcript keeps what is written to it. Tests wait for what it shows.
type transcript struct {
	lock    sync.Mutex
	changed *sync.Cond
	text    bytes.Buffer
}

func newTranscript() *transcript {
	t := new(transcript)
	t.changed = sync.NewCond(&t.lock)
	return t
}

func (t *transcript) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	defer t.changed.Broadcast()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.String()
}

// await waits until the transcript shows a text so many times. A text that
// never comes ends with the time of the whole test.
func (t *transcript) await(text string, times int) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for bytes.Count(t.text.Bytes(), []byte(text)) < times {
		t.changed.Wait()
	}
}

// sortedLines returns the lines in an order that does not depend on the ranks.
func (t *transcript) sortedLines() []string {
	lines := strings.Split(strings.TrimSuffix(t.String(), "\n"), "\n")
	slices.Sort(lines)
	return lines
}
