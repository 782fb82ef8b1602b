package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// outcome is what a command line has given in this process.
type outcome struct {
	args           []string
	code           int
	stdout, stderr string
}

// here does in this process what a command line asks for. That takes less time than a process, and
// is for commands that start none, wait for no signal and are not launched. explore gets one
// engine, the explicit one if args name none: of two, the slower one would run beyond the end.
func here(t *testing.T, args ...string) outcome { return hereWith(t, "", args...) }

// hereWith is here with a text as standard input.
func hereWith(t *testing.T, input string, args ...string) outcome {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "FARHASH_") {
			t.Setenv(name, "") // which restores it
			os.Unsetenv(name)
		}
	}
	stdin, stdout, stderr, before := os.Stdin, os.Stdout, os.Stderr, os.Args
	defer func() { os.Stdin, os.Stdout, os.Stderr, os.Args = stdin, stdout, stderr, before }()
	folder := t.TempDir()
	open := func(name, text string) *os.File {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	os.Stdin, os.Stdout, os.Stderr = open("in", input), open("out", ""), open("err", "")
	os.Args = append([]string{"farhash"}, args...)
	if args[0] == "explore" && !slices.Contains(args, "--engine") {
		os.Args = append(os.Args, "--engine", "explicit")
	}
	o := outcome{args: args, code: exitCode()}
	for name, text := range map[string]*string{"out": &o.stdout, "err": &o.stderr} {
		written, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		*text = string(written)
	}
	return o
}

// refusedHere checks exit code and message of a command line that is refused in this process.
func refusedHere(t *testing.T, code int, message string, args ...string) {
	t.Helper()
	o := here(t, args...)
	if o.code != code || !strings.Contains(o.stderr, message) || o.stdout != "" {
		t.Errorf("%q: exit code %d, want %d with %q\nstdout: %s\nstderr: %s", args, o.code, code,
			message, o.stdout, o.stderr)
	}
}

// objectHere is the JSON object that a command line prints in this process.
func objectHere(t *testing.T, code int, args ...string) map[string]any {
	t.Helper()
	o := here(t, args...)
	var object map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &object); err != nil || o.code != code {
		t.Fatalf("%q: exit code %d, %v\n%s%s", args, o.code, err, o.stdout, o.stderr)
	}
	return object
}

// has reports each text that is not in the output, and each one after a ! that is.
func (o outcome) has(t *testing.T, code int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text, not := strings.CutPrefix(text, "!")
		if o.code != code || strings.Contains(o.stdout+o.stderr, text) == not {
			t.Errorf("%q: exit code %d, want %d; %q is there: %v\n%s%s", o.args, o.code, code, text,
				not, o.stdout, o.stderr)
		}
	}
}

// familyHere is a net of a family, as a file.
func familyHere(t *testing.T, name string, size int) string {
	t.Helper()
	n, err := petri.Family(name, size)
	if err != nil {
		t.Fatal(err)
	}
	return writeTestNet(t, n)
}
