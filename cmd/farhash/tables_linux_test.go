package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/set"
)

// Tables in a directory are listed with their entries, and checked by name. What is no table is
// left out, and refused.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	m, err := kv.Open(filepath.Join(dir, "sessions"), kv.Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, key := range []string{"a", "b"} {
		if _, err := m.Put([]byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := set.OpenStrings(filepath.Join(dir, "lines"), set.Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindOrPut([]byte("a line")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("no table"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := newCommand(t, "tables", dir)
	err = run.Run()
	out := run.stdout.String()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 3 {
		t.Fatalf("%v: %s%s", err, out, &run.stderr)
	}
	for i, want := range []string{"name is a entries", "lines set of strings 1 ",
		"sessions map 2 "} {
		got := strings.Join(strings.Fields(lines[i]), " ") + " "
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if !strings.HasSuffix(lines[2], " 1") || !strings.HasSuffix(lines[1], " 0") {
		t.Errorf("processes: %s", out)
	}
	run = newCommand(t, "check", filepath.Join(dir, "sessions"))
	err = run.Run()
	if out := run.stdout.String(); err != nil ||
		!strings.Contains(out, "nothing is broken; a map, 2 entries") {
		t.Errorf("check: %v: %s%s", err, out, &run.stderr)
	}
	run = newCommand(t, "check", other)
	if err := run.Run(); err == nil || !strings.Contains(run.stderr.String(), "not a table") {
		t.Errorf("check of another file: %v: %s", err, &run.stderr)
	}
}
