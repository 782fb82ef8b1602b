package replace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notes are files that begin with "note".
var notes = Format{Name: "note", Known: func(head []byte) bool {
	return strings.HasPrefix(string(head), "note")
}}

// A file of another format is not replaced, by whatever name; one that is empty is.
func TestOtherFormat(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	for content, replaced := range map[string]bool{"": true, "note": true, "note of old": true,
		"n": false, "not": false, "<pnml>": false, strings.Repeat("x", 2*headBytes): false} {
		for _, to := range []string{path, link} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := File(to, notes, text("note of new"))
			if got, _ := os.ReadFile(path); replaced != (string(got) == "note of new") ||
				!replaced && string(got) != content {
				t.Errorf("%.10q has become %.20q: %v", content, got, err)
			}
			if replaced != (err == nil) || err != nil && (!strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "is no note, and would be lost; remove it, or")) {
				t.Errorf("%.10q: %v", content, err)
			}
		}
	}
}

// An input is never an output, by whatever name.
func TestSpares(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	if err := errors.Join(os.WriteFile(at("in"), nil, 0o600), os.Symlink("in", at("symbolic")),
		os.Link(at("in"), at("hard")), os.WriteFile(at("other"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"in": true, "./in": true, "symbolic": true,
		"hard": true, "other": false, "none": false} {
		err := Spares(at(path), at("nothing"), at("in"))
		if (err != nil) != want || err != nil && !strings.Contains(err.Error(), at("in")) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
