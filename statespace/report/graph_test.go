package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ring is the numbers below n, where a step adds one.
func ring(n int, initial ...int) *Graph[int] {
	return &Graph[int]{Name: `a "ring"`, Initial: initial, Key: strconv.Itoa,
		Text: func(s int) string { return "at\n" + strconv.Itoa(s) },
		Next: func(s int, emit func(string, int)) { emit(`up "`+strconv.Itoa(s)+`"`, (s+1)%n) }}
}

func TestGraphFormats(t *testing.T) {
	for name, c := range map[string]struct {
		of   *Graph[int]
		want string
	}{
		"one.aut": {ring(3, 0), "des (0, 3, 3)\n(0, \"up '0'\", 1)\n(1, \"up '1'\", 2)\n" +
			"(2, \"up '2'\", 0)\n"},
		"two.aut": {ring(3, 2, 1), "des (0, 5, 4)\n(0, \"initial\", 1)\n(0, \"initial\", 2)\n" +
			"(1, \"up '2'\", 3)\n(2, \"up '1'\", 1)\n(3, \"up '0'\", 2)\n"},
		"one.dot": {ring(2, 0), "digraph farhash {\n\tlabel=\"a \\\"ring\\\"\"\n" +
			"\t0 [label=\"at\\n0\", peripheries=2]\n\t1 [label=\"at\\n1\"]\n" +
			"\t0 -> 1 [label=\"up \\\"0\\\"\"]\n\t1 -> 0 [label=\"up \\\"1\\\"\"]\n}\n"},
	} {
		path := filepath.Join(t.TempDir(), name)
		for range 2 { // it replaces its own
			err := errors.Join(GraphWritable(path), c.of.Write(t.Context(), path, 3))
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := os.ReadFile(path); string(got) != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What is too large, or interrupted, writes nothing.
func TestGraphRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring.aut")
	if err := ring(3, 0).Write(t.Context(), path, 2); err == nil ||
		!strings.Contains(err.Error(), "more than 2 states") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, expanded := ring(2000, 0), 0
	next := r.Next
	r.Next = func(s int, emit func(string, int)) {
		if expanded++; expanded == 3000 { // while it is written
			cancel()
		}
		next(s, emit)
	}
	if err := r.Write(ctx, path, 2000); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := GraphWritable(filepath.Join(t.TempDir(), "ring.svg")); err == nil ||
		!strings.Contains(err.Error(), "ends neither in .dot nor in .aut") {
		t.Error(err)
	}
}
