package explore

import (
	"io"
	"os"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// TestStream: with --json=lines each answer is a line as soon as it is known, and none follows the
// end. With an object there is none.
func TestStream(t *testing.T) {
	net := &petri.Net{Name: "n"}
	known := func(name string) property.Answer {
		return property.Answer{Property: &property.Property{Name: name, Kind: property.Always},
			Verdict: logic.True, Transition: -1}
	}
	by := techniques(engineExplicit)
	line := func(name string) string { return `{"name":"` + name + `","answer":true}` + "\n" }
	for want, f := range map[string]exploreFlags{
		line("a") + line("b"): {json: cli.JSONLines, quiet: true},
		"":                    {json: cli.JSONObject, quiet: true},
		"FORMULA a TRUE " + by + "\nFORMULA b TRUE " + by + "\n": {mcc: true, quiet: true},
	} {
		out := try.File(t, "out", "")
		file, err := os.OpenFile(out, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		stdout := os.Stdout
		os.Stdout = file
		s := f.stream(net, 3)
		s.answered(0, known("a"))
		s.answered(1, known("b"))
		printed, err := s.end()
		s.answered(2, known("c"))
		os.Stdout = stdout
		text, readErr := os.ReadFile(out)
		if string(text) != want || err != nil || readErr != nil || printed["a"] != (want != "") ||
			printed["c"] {
			t.Errorf("%+v: %q, want %q, %v", f, text, want, printed)
		}
		s.err = io.ErrShortWrite
		if err := s.print(answer{}); err != s.err {
			t.Errorf("an answer could not be printed, and then %v", err)
		}
		left := unprinted([]propertyAnswer{{Name: "a"}, {Name: "c"}}, printed)
		if len(left) != 1 && want != "" || len(left) != 2 && want == "" {
			t.Errorf("left to print: %v", left)
		}
		if file.Close() != nil {
			t.Error("not closed")
		}
	}
}
