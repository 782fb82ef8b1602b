package try

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// File makes a file in a folder of this test.
func File(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteNet writes a net to a file.
func WriteNet(t *testing.T, n *petri.Net) string {
	t.Helper()
	var text strings.Builder
	if err := petri.Write(&text, n); err != nil {
		t.Fatal(err)
	}
	return File(t, "net.pnml", text.String())
}

// Net is a net of a family, as a file.
func Net(t *testing.T, name string, size int) string {
	t.Helper()
	n, err := petri.Family(name, size)
	if err != nil {
		t.Fatal(err)
	}
	return WriteNet(t, n)
}

// KeysOf are the keys of an object in order.
func KeysOf(o map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(o)), " ")
}
