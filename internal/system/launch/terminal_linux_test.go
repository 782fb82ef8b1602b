package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two sides of a new terminal.
func openTerminal(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("unlock the terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("name of the terminal: %v", err)
	}
	terminal, err = os.OpenFile(
		fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("open the terminal: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return keyboard, terminal
}

// startInTerminal runs a role in ranks of a launcher in the foreground of a
// terminal, and keeps its output separate from that.
func startInTerminal(t *testing.T, role string) (*exec.Cmd, *transcript, *os.File) {
	t.Helper()
	keyboard, terminal := openTerminal(t)
	out := newTranscript()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=launcher:2:"+role)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, keyboard
}

// The ranks are in the background of the terminal, where reading from it would
// stop them.
func TestTerminalInput(t *testing.T) {
	cmd, out, keyboard := startInTerminal(t, "echo")
	if _, err := io.WriteString(keyboard, "text\n\x04"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("launcher: %v", err)
	}
	for _, want := range []string{`[0] 0 read "text\n" <nil>`, `[1] 1 read "" <nil>`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output %q, want %q", out, want)
		}
	}
}

func TestTerminalInterrupt(t *testing.T) {
	cmd, out, keyboard := startInTerminal(t, "count")
	out.await("ready", 2)
	if _, err := io.WriteString(keyboard, "\x03"); err != nil {
		t.Fatal(err)
	}
	out.await("interrupted", 2)
	send(t, cmd.Process.Pid, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("launcher: %v", err)
	}
	if got := strings.Count(out.String(), "count 1\n"); got != 2 {
		t.Errorf("output %q, want each of 2 ranks to be interrupted once", out)
	}
}
