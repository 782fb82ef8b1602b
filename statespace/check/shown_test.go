package check

import (
	"slices"
	"testing"
)

// Walks come to states before the search: an action that a path takes is not one that no state
// takes.
func TestNotShown(t *testing.T) {
	path := []Step[bytesState]{{}, {Action: "go 1"}}
	r := &Result[bytesState]{Traces: []Trace[bytesState]{{}, {Path: path}}}
	got := r.notShown([]string{"go", "goes", "go 1", "g", "go 2"})
	if want := []string{"goes", "g", "go 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
