//go:build clib

package main

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// notInC are fields that C cannot set, so that no message about them comes there.
var notInC = []string{"addressing", "storage", "max_slots", "guide_bytes", "may_grow",
	"variable_keys", "inline_bytes", "costs"}

// Messages name what farhash.h has, by its names.
func TestNames(t *testing.T) {
	header, err := os.ReadFile("farhash.h")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b|^\w+$`)
	missing := map[string]bool{}
	for from, to := range namesInC {
		for _, name := range names.FindAllString(to, -1) {
			if regexp.MustCompile(`\b` + name + `\b`).Match(header) {
				continue
			}
			missing[name] = true
			if !slices.Contains(notInC, name) {
				t.Errorf("%s is %q in C, and farhash.h has no %s", from, to, name)
			}
		}
	}
	for _, name := range notInC {
		if !missing[name] {
			t.Errorf("%s need not be in notInC", name)
		}
	}
	for _, c := range []struct{ text, given, want string }{
		{"cache: KeySize 0 and ValueSize 3 must", "", "cache: key_size 0 and value_size 3 must"},
		{"index: raise MaxCopies, or leave", "", "index: raise max_copies, or leave"},
		{"and MaxMemoryBytes is 7; PeakBytes says what a build needs", "",
			"and max_memory_bytes is 7; raise it, or use more ranks"},
		{"make Slots or MaxSlots larger", "", "make slots larger"},
		{"open Load/Buckets: no Load", "Load/Buckets", "open Load/Buckets: no load"},
		{"in Overload, KeySizes", "", "in Overload, KeySizes"},
	} {
		if got := inC(c.text, c.given); got != c.want {
			t.Errorf("%q is %q in C, want %q", c.text, got, c.want)
		}
	}
}
