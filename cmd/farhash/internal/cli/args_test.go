package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// sample is farhash with a command for each number of arguments, and some flags of each kind.
func sample() *cobra.Command {
	var form JSONForm
	var order, text string
	nothing := func(*cobra.Command, []string) error { return nil }
	one := &cobra.Command{Use: "one FILE", Args: OneArg("FILE", "what to read"), RunE: nothing}
	flags := one.Flags()
	flags.Var(&form, "json", "print JSON")
	flags.Lookup("json").NoOptDefVal = string(JSONObject)
	flags.Var(&Once{Text: &order}, "order", "`ORDER` of the search: "+strings.Repeat("word ", 30))
	flags.StringVar(&text, "mem", "", "`SIZE` of the memory")
	flags.StringVar(&text, "output", "", "`FILE` to write")
	flags.StringVar(&text, "secret", "", "for tests")
	_ = flags.MarkHidden("secret")
	CompleteFlags(one, map[string][]cobra.Completion{"order": {"bfs", "any"}})
	return Root(one, &cobra.Command{Use: "none", Args: NoArgs, RunE: nothing},
		&cobra.Command{Use: "some [DIR]", Args: OptionalArg("DIR"), RunE: nothing})
}

// TestArguments: what does not fit a command is wrong usage, and the message says why.
func TestArguments(t *testing.T) {
	for line, want := range map[string]string{
		"none": "", "some": "", "some a": "", "one a": "", "one a --json --order any": "",
		"none a":                        `none takes no arguments, but "a" was given`,
		"some a b":                      `some takes one DIR, but also "b" was given`,
		"one":                           "FILE is missing: what to read",
		"one a b":                       `one takes one FILE, but also "b" was given`,
		"one --json lines":              "--json takes its value with =: write --json=lines",
		"one a --json lines":            "--json takes its value with =: write --json=lines",
		"one a --json=line":             "--json must be object or lines, not \"line\"",
		"one lines":                     "",
		"one a --order bfs --order any": "--order is given twice; give it once",
		"one a --ordr any":              "unknown flag: --ordr; did you mean --order?",
		"one a --secrt any":             "unknown flag: --secrt",
		"one a --mem":                   "--mem needs a value: SIZE of the memory",
	} {
		root := sample()
		root.SetArgs(strings.Fields(line))
		cmd, err := root.ExecuteC()
		got, code := "", 0
		if err != nil {
			got, code = err.Error(), Report(cmd, err)
		}
		if got != want || (code == ExitUsage) != (want != "") {
			t.Errorf("%q: exit code %d, %q, want %q", line, code, got, want)
		}
	}
	// A file of that name is an argument as any other.
	t.Chdir(t.TempDir())
	if err := os.WriteFile("lines", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root := sample()
	root.SetArgs([]string{"one", "--json", "lines"})
	if err := root.Execute(); err != nil {
		t.Error(err)
	}
}

// TestFlagsOfShells: a shell completes the fixed values of a flag, files where the usage names one,
// and nothing else. Lines of help are folded.
func TestFlagsOfShells(t *testing.T) {
	for line, want := range map[string]string{
		"__complete one --order =": "bfs\nany\n:4\n", "__complete one --mem =": ":4\n",
		"__complete one --output =": ":0\n",
	} {
		if got := printed(t, strings.Fields(line)...); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	help := printed(t, "one", "--help")
	for line := range strings.Lines(help) {
		if len(line) > 106 {
			t.Errorf("%q", line)
		}
	}
	if strings.Count(help, "word") != 30 {
		t.Error(help)
	}
}

// printed is what sample prints. A lone = is an empty argument.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	for i, a := range args {
		args[i] = strings.TrimPrefix(a, "=")
	}
	var out bytes.Buffer
	root := sample()
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestJSONForm: --json without a value asks for one object.
func TestJSONForm(t *testing.T) {
	var form JSONForm
	for text, want := range map[string]JSONForm{"true": JSONObject, "object": JSONObject,
		"lines": JSONLines, "false": ""} {
		if err := form.Set(text); err != nil || form != want {
			t.Errorf("--json=%s is %q, %v", text, form, err)
		}
	}
	if form.Set("perhaps") == nil {
		t.Error("--json=perhaps is taken")
	}
}
