package try

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
)

// Outcome is what a command line has given in this process.
type Outcome struct {
	args        []string
	Code        int
	Out, Errors string
}

// Here does in this process what a command line asks for. That takes less time than a process, and
// is for commands that start none, wait for no signal and are not launched. explore gets one
// engine, the explicit one if args name none: of two, the slower one would run beyond the end.
func Here(t *testing.T, args ...string) Outcome { return HereWith(t, "", args...) }

// HereWith is Here with a text as standard input.
func HereWith(t *testing.T, input string, args ...string) Outcome {
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
	o := Outcome{args: args, Code: cli.Run(root())}
	for name, text := range map[string]*string{"out": &o.Out, "err": &o.Errors} {
		written, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		*text = string(written)
	}
	return o
}

// Refused checks exit code and message of a command line that is refused in this process.
func Refused(t *testing.T, code int, message string, args ...string) {
	t.Helper()
	o := Here(t, args...)
	if o.Code != code || !strings.Contains(o.Errors, message) || o.Out != "" {
		t.Errorf("%q: exit code %d, want %d with %q\nstdout: %s\nstderr: %s", args, o.Code, code,
			message, o.Out, o.Errors)
	}
}

// Refuses checks command lines that are wrong usage, and what is said of each. The words TEXT and
// NET stand for files. Nothing is written.
func Refuses(t *testing.T, cases [][2]string) {
	t.Helper()
	net, text := Net(t, "dekker", 2), File(t, "text", "a\tb\n")
	for _, c := range cases {
		var args []string
		for _, word := range strings.Fields(c[1]) {
			args = append(args, strings.NewReplacer("TEXT", text, "NET", net).Replace(word))
		}
		Refused(t, cli.ExitUsage, c[0], args...)
	}
	left, err := os.ReadDir(filepath.Dir(text))
	if after, readErr := os.ReadFile(text); err != nil || readErr != nil || len(left) != 1 ||
		string(after) != "a\tb\n" {
		t.Errorf("%v are there, %q, %v %v", left, after, err, readErr)
	}
}

// ObjectHere is the JSON object that a command line prints in this process.
func ObjectHere(t *testing.T, code int, args ...string) map[string]any {
	t.Helper()
	o := Here(t, args...)
	var object map[string]any
	if err := json.Unmarshal([]byte(o.Out), &object); err != nil || o.Code != code {
		t.Fatalf("%q: exit code %d, %v\n%s%s", args, o.Code, err, o.Out, o.Errors)
	}
	return object
}

// Has reports each text that is not in the output, and each one after a ! that is.
func (o Outcome) Has(t *testing.T, code int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text, not := strings.CutPrefix(text, "!")
		if o.Code != code || strings.Contains(o.Out+o.Errors, text) == not {
			t.Errorf("%q: exit code %d, want %d; %q is there: %v\n%s%s", o.args, o.Code, code, text,
				not, o.Out, o.Errors)
		}
	}
}
