package explore

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// endless are arguments for a search that runs until a signal ends it.
func endless(t *testing.T, flags ...string) []string {
	t.Helper()
	return append([]string{"explore", family(t, "philosophers", "30"), "--mem", "4GiB",
		"--engine", "explicit"}, flags...)
}

func TestInterrupt(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		for _, args := range [][]string{
			append(endless(t), "-n", "2"), try.Launched(t, "2", endless(t)...),
		} {
			c := startSearch(t, append(args, "--json")...)
			try.Send(t, c.Process.Pid, s)
			c.Finish()
			o := try.Object(t, c)
			wrong := c.Code() != code
			if s == syscall.SIGTERM && args[0] == "run" {
				// A rank that learns of it from another first does not know which signal it was.
				wrong = wrong && c.Code() != 130
			}
			if wrong || o["complete"] != false || o["reason"] != "interrupted" ||
				o["states"].(float64) < 1 || o["needMem"] != nil {
				t.Errorf("%q, %v: exit code %d: %v\n%s", args, s, c.Code(), o, &c.Errors)
			}
		}
	}
	c := startSearch(t, endless(t, "-n", "2")...)
	try.Send(t, c.Process.Pid, syscall.SIGINT)
	c.Finish()
	if text := c.Out.String(); c.Code() != 130 ||
		!strings.Contains(text, "INCOMPLETE: interrupted\n") ||
		!strings.Contains(text, "so far: INCOMPLETE\n") {
		t.Errorf("exit code %d:\n%s", c.Code(), text)
	}
}

// One rank that is interrupted ends the search of all.
func TestInterruptOneRank(t *testing.T) {
	for number := range 2 {
		c := startSearch(t, try.Launched(t, "2", endless(t, "--json")...)...)
		try.Send(t, c.PIDOf(number), syscall.SIGINT)
		c.Finish()
		if o := try.Object(t, c); c.Code() != 130 || o["reason"] != "interrupted" {
			t.Errorf("rank %d: exit code %d: %v\n%s", number, c.Code(), o, &c.Errors)
		}
	}
}

// A rank that is killed ends the job; the others say that they are not complete.
func TestKillRank(t *testing.T) {
	for _, number := range []int{0, 2} {
		c := startSearch(t, try.Launched(t, "3", endless(t, "--json")...)...)
		pid := c.PIDOf(number)
		try.Send(t, pid, syscall.SIGKILL)
		c.Finish()
		for _, want := range []string{
			fmt.Sprintf("farhash run: rank %d (pid %d) was killed by signal 9", number, pid),
			fmt.Sprintf("farhash: rank %d was lost", number), "nothing was saved",
		} {
			if c.Code() != cli.ExitLost || !strings.Contains(c.Errors.String(), want) {
				t.Errorf("exit code %d, want 4 and %q: %s", c.Code(), want, &c.Errors)
			}
		}
		if number == 0 {
			continue // it would have printed the answer
		}
		if o := try.Object(t, c); o["complete"] != false || o["reason"] != "rank lost" ||
			!reflect.DeepEqual(o["lostRanks"], []any{2.}) {
			t.Errorf("rank %d: %v", number, o)
		}
	}
}

// terminalColumns is the width of a terminal, less than the progress would like.
const terminalColumns = 64

// openTerminal returns the two sides of a new terminal.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("unlock the terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("name of the terminal: %v", err)
	}
	size := &unix.Winsize{Row: 25, Col: terminalColumns}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size); err != nil {
		t.Skipf("size of the terminal: %v", err)
	}
	name := fmt.Sprintf("/dev/pts/%d", number)
	terminal, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("open the terminal: %v", err)
	}
	return screen, terminal
}

// onScreen is what a line holds after all that was written to it. Nothing may be
// written beyond the width of the terminal.
func onScreen(t *testing.T, text string) string {
	t.Helper()
	var line []rune
	codes := strings.NewReplacer("\x1b[0K", "\v", "\x1b[2K", "\f")
	for piece := range strings.SplitSeq(text, "\r") {
		at := 0
		for _, r := range codes.Replace(piece) {
			switch {
			case r == '\v': // wipe from here on
				line = line[:at]
				continue
			case r == '\f': // wipe all
				line = append(line[:0], []rune(strings.Repeat(" ", at))...)
				continue
			case r < ' ':
				t.Fatalf("strange code in %q", piece)
			case at < len(line):
				line[at] = r
			default:
				line = append(line, r)
			}
			at++
		}
		if at > terminalColumns {
			t.Errorf("line longer than the terminal: %q", piece)
		}
	}
	return string(line)
}

// On a terminal the progress is one line, written over and taken away at the end.
func TestProgressOnTerminal(t *testing.T) {
	screen, terminal := openTerminal(t)
	c := try.New(t, endless(t, "-n", "2")...)
	c.Stderr = terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var shown strings.Builder
	buf := make([]byte, 1<<12)
	for sent := false; ; {
		n, err := screen.Read(buf)
		shown.Write(buf[:n])
		if !sent && strings.Count(shown.String(), "states/s") >= 2 {
			sent = true
			try.Send(t, c.Process.Pid, syscall.SIGINT)
		}
		if err != nil { // EIO: the other side is closed
			break
		}
	}
	c.Finish()
	plan, rest, _ := strings.Cut(shown.String(), "\n")
	if !strings.HasPrefix(plan, "plan: up to 4.0 GiB") || strings.Contains(rest, "\n") ||
		!strings.Contains(rest, "states") || !strings.Contains(rest, " waiting") {
		t.Errorf("shown: %q", shown.String())
	}
	if left := onScreen(t, rest); strings.TrimSpace(left) != "" {
		t.Errorf("left on the screen: %q", left)
	}
	if c.Code() != 130 || !strings.Contains(c.Out.String(), "INCOMPLETE") {
		t.Errorf("exit code %d, %s", c.Code(), &c.Out)
	}
}

// A symbolic exploration ends as a search does, without counts.
func TestInterruptSymbolic(t *testing.T) {
	path := family(t, "kanban", "2000") // its lists are long
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		c := startSearch(t, "explore", path, "--engine", "symbolic", "--json", "--mem", "1GiB")
		try.Send(t, c.Process.Pid, s)
		c.Finish()
		if o := try.Object(t, c); c.Code() != code || o["complete"] != false ||
			o["states"] != nil ||
			o["reason"] != "interrupted" {
			t.Errorf("%v: exit code %d: %v\n%s", s, c.Code(), o, &c.Errors)
		}
	}
}
