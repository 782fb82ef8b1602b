package doctor

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/rma/mpi"
	"github.com/farhash/farhash/rma/ucx"
)

// startDoctor runs doctor under no launcher, with more variables set.
func startDoctor(t *testing.T, variables []string, args ...string) *try.Command {
	t.Helper()
	if mpi.Built {
		t.Skip("MPI is tried out by a test of its own")
	}
	c := try.New(t, append([]string{"doctor"}, args...)...)
	c.Env = append(c.Env, variables...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	return c
}

// TestDoctor: the text fits a terminal, and what is not as it should be has a remedy.
func TestDoctor(t *testing.T) {
	c := startDoctor(t, nil)
	lines := strings.Split(strings.TrimRight(c.Out.String(), "\n"), "\n")
	if c.Code() != 0 || c.Errors.Len() > 0 || len(lines) < 10 {
		t.Fatalf("exit code %d: %s%s", c.Code(), &c.Out, &c.Errors)
	}
	open := false // a finding that wants a remedy
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("too wide: %q", line)
		}
		level, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		begins := strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")
		switch {
		case open && (begins || line == ""):
			t.Errorf("no remedy before %q", line)
			open = false
		case level == "->":
			open = false
		}
		if begins {
			open = level == "note" || level == "warning"
			if !open && level != "ok" {
				t.Errorf("no level: %q", line)
			}
		}
	}
	for _, want := range []string{"\nsystem\n", "search kernel", "ranks as goroutines",
		"\nranks\n", "\nmany hosts\n"} {
		if !strings.Contains(c.Out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &c.Out)
		}
	}
}

// TestDoctorJSON holds the names that programs may rely on.
func TestDoctorJSON(t *testing.T) {
	c := startDoctor(t, nil, "--json")
	report := try.Object(t, c)
	if keys := try.KeysOf(report); keys != "findings notes program system warnings" {
		t.Errorf("keys %s", keys)
	}
	names, levels := []string{}, map[string]float64{}
	for _, item := range report["findings"].([]any) {
		f := item.(map[string]any)
		keys := strings.TrimSuffix(try.KeysOf(f), " values")
		if keys != "group level message name remedy" {
			t.Errorf("keys %s", keys)
		}
		level := f["level"].(string)
		if (level == "ok") != (f["remedy"] == "") || f["message"] == "" || f["group"] == "" {
			t.Errorf("%v", f)
		}
		levels[level]++
		names = append(names, f["name"].(string))
	}
	if levels["warning"] != report["warnings"] || levels["note"] != report["notes"] ||
		len(levels) > 3 {
		t.Errorf("%v in %v", levels, report)
	}
	want := []string{"search kernel", "memory", "launcher", "ranks as goroutines",
		"ranks as processes", "ranks under MPI", "UCX"}
	if runtime.GOOS == "linux" {
		want = append(want, "CPUs", "CPU limit", "memory limit", "huge pages", "shared memory",
			"locked memory", "open files")
	}
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("nothing is found of %s in %q", name, names)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("%q has a name twice", names)
	}
}

// Variables with which no job can be joined are reported.
func TestDoctorVariables(t *testing.T) {
	for _, variable := range []string{"FARHASH_ENGINE=nonsense", "FARHASH_TIMEOUT=soon"} {
		c := startDoctor(t, []string{variable})
		_, value, _ := strings.Cut(variable, "=")
		if text := c.Out.String(); c.Code() != 0 || !strings.Contains(text, value) {
			t.Errorf("%s: exit code %d: %s", variable, c.Code(), text)
		}
	}
}

func TestDoctorUsage(t *testing.T) {
	try.Fails(t, cli.ExitUsage, "unknown flag", "doctor", "--none")
	try.Fails(t, cli.ExitUsage, "takes no arguments", "doctor", "who")
}

// A report that could not be printed is an error.
func TestDoctorFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, flag := range []string{"--json=false", "--json"} {
		c := try.New(t, "doctor", flag)
		c.Stdout = full
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		c.Finish()
		if c.Code() != cli.ExitFailure || !strings.Contains(c.Errors.String(),
			"printing the answer") {
			t.Errorf("%s: exit code %d: %s", flag, c.Code(), &c.Errors)
		}
	}
}

// Without UCX doctor describes how to build it.
func TestDoctorWithout(t *testing.T) {
	if ucx.Built {
		t.Skip("built with UCX")
	}
	c := startDoctor(t, nil)
	if text := strings.Join(strings.Fields(c.Out.String()), " "); !strings.Contains(text,
		"UCX not built in") || !strings.Contains(text, "go build -tags ucx ./cmd/farhash") {
		t.Errorf("doctor prints %s", &c.Out)
	}
}
