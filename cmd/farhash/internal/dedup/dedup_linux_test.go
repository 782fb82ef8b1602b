package dedup

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// startDedup starts the command, whose input has begun and not ended.
func startDedup(t *testing.T, input string) (run *try.Command, in io.WriteCloser,
	out *bufio.Reader) {
	t.Helper()
	run = try.New(t, "dedup")
	run.Stdout = nil
	in, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte(input)); err != nil {
		t.Fatal(err)
	}
	return run, in, bufio.NewReader(output)
}

// After a signal what was written is right, though the input has not ended.
func TestInterruptDedup(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: cli.ExitInterrupt,
		syscall.SIGTERM: cli.ExitTerminate} {
		run, _, r := startDedup(t, "a\na\nb\nc")
		for _, want := range []string{"a\n", "b\n"} { // written while the input is open
			if got, err := r.ReadString('\n'); got != want {
				t.Fatalf("%q, want %q: %v", got, want, err)
			}
		}
		try.Send(t, run.Process.Pid, s)
		if rest, err := r.ReadString('\n'); rest != "" {
			t.Errorf("%q: %v", rest, err)
		}
		if _ = run.Wait(); run.Code() != code {
			t.Errorf("%v: exit code %d, want %d: %s", s, run.Code(), code, &run.Errors)
		}
	}
}

// A line is written while the input is open, however short it is, also where compressed input could
// begin so.
func TestDedupShortLines(t *testing.T) {
	for _, line := range []string{"\n", "a\n", "(\n", "\x1f\n"} {
		run, in, out := startDedup(t, line)
		if got, err := out.ReadString('\n'); got != line {
			t.Errorf("%q, want %q: %v", got, line, err)
		}
		if err := errors.Join(in.Close(), run.Wait()); err != nil {
			t.Errorf("%q: %v: %s", line, err, &run.Errors)
		}
	}
}

// A full disk is named by the output, and not by the input.
func TestDedupDiskFull(t *testing.T) {
	in := try.File(t, "in", "a\nb\n")
	for _, args := range [][]string{{in}, {"--count", in}} {
		o := try.Here(t, append([]string{"dedup", "-o", "/dev/full"}, args...)...)
		o.Has(t, cli.ExitFailure, "-o /dev/full: ", "no space left", "!"+in)
	}
}

// The command ends without a message where nobody reads its output any more.
func TestDedupClosedOutput(t *testing.T) {
	run := try.New(t, "dedup")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	run.Stdin, run.Stdout = strings.NewReader("a\n"), write
	if err := run.Run(); err != nil || run.Errors.Len() > 0 {
		t.Errorf("%v: %s", err, &run.Errors)
	}
}
