package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The states of a model are written for other tools, up to a number; states that Canonical joins
// are one.
func TestExport(t *testing.T) {
	m := counters(3)
	folder := t.TempDir()
	path := filepath.Join(folder, "graph.aut")
	for canonical, begin := range map[bool]string{false: "des (0, 23, 10)\n(0, \"initial\", 1)\n",
		true: "des (0, 16, 7)\n(0, \"initial\", 1)\n"} {
		if m.Canonical = nil; canonical {
			m.Canonical = func(s [2]uint16) [2]uint16 {
				return [2]uint16{min(s[0], s[1]), max(s[0], s[1])}
			}
		}
		if err := m.export(t.Context(), path, 9); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(text), begin) {
			t.Errorf("canonical %v: %s", canonical, text)
		}
	}
	m.Canonical = nil
	if err := m.export(t.Context(), path, 8); err == nil ||
		!strings.Contains(err.Error(), "more than 8 states") {
		t.Error(err)
	}
	next := m.Next
	m.Next = func(s [2]uint16, emit func(string, [2]uint16)) {
		if s[0] == 2 {
			panic("lost")
		}
		next(s, emit)
	}
	if err := m.export(t.Context(), path, 9); err == nil ||
		!strings.Contains(err.Error(), "it panicked: lost") ||
		!strings.Contains(err.Error(), "in state [2 ") {
		t.Error(err)
	}
	models := []program{counters(3)}
	for _, args := range [][]string{{"--max-export", "0", "--export", path}, {"--max-export", "3"},
		{"--simulate", "--export", path}} {
		if _, _, err := parse(models, args); err == nil {
			t.Errorf("%q was not refused", args)
		}
	}
	args := os.Args
	defer func() { os.Args = args }()
	for to, want := range map[string]int{path: 0, filepath.Join(folder, "graph.svg"): exitFailure} {
		os.Args = []string{"test", "-q", "-n", "2", "--export", to}
		if code := run(models); code != want {
			t.Errorf("%s: exit code %d", to, code)
		}
	}
}
