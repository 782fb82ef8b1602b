package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dustin/go-humanize"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/system/memory"
)

// peakVariable names a file in which the command notes the most memory that it has taken.
const peakVariable = "FARHASH_TEST_PEAK"

// bePeak is main, except its end, if the most memory is to be noted.
func bePeak() {
	path := os.Getenv(peakVariable)
	if path == "" {
		return
	}
	code := cli.Run(root())
	_, peak, err := memory.Resident()
	if err == nil {
		err = os.WriteFile(path, fmt.Append(nil, peak), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 99
	}
	os.Exit(code)
}

// A search takes no more memory than it is given, and as good as all of that where it does not
// suffice: of words and of elements, narrow nets and wide ones, with the least there can be and
// more.
func TestExploreKeepsWithinMem(t *testing.T) {
	if memory.RaceEnabled || runtime.GOOS != "linux" {
		t.Skip("the race detector takes memory of its own, and other systems do not report it")
	}
	for _, c := range []struct {
		family, size string
		mem          string // empty: the least
		flags        []string
	}{
		{"philosophers", "16", "", []string{"-n", "1"}},
		{"philosophers", "16", "40MiB", []string{"-n", "2", "--trace", "deadlock"}},
		{"kanban", "7", "48MiB", []string{"-n", "4", "--encoding", "element"}},
		{"kanban", "7", "48MiB", []string{"-n", "1", "--order", "any"}},
		{"philosophers", "200", "48MiB", []string{"-n", "1"}},
		{"philosophers", "1000", "", []string{"-n", "2"}},
		{"philosophers", "1000", "64MiB", []string{"-n", "4"}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			args := append([]string{"explore", family(t, c.family, c.size)}, c.flags...)
			if c.mem == "" {
				c.mem = minMem(t, args...)
			}
			limit, err := humanize.ParseBytes(c.mem)
			if err != nil {
				t.Fatal(err)
			}
			note := filepath.Join(t.TempDir(), "peak")
			cmd := try.New(t, append(args, "--mem", c.mem)...)
			cmd.Env = append(cmd.Env, peakVariable+"="+note)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmd.Finish()
			text, err := os.ReadFile(note)
			if err != nil || cmd.Code() != cli.ExitIncomplete {
				t.Fatalf("exit code %d, %v\n%s%s", cmd.Code(), err, &cmd.Out, &cmd.Errors)
			}
			var peak uint64
			if _, err := fmt.Sscan(string(text), &peak); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s of %s", memory.Format(peak), c.mem)
			if peak > limit || peak < limit/2 {
				t.Errorf("%s of %s were taken", memory.Format(peak), c.mem)
			}
		})
	}
}
