package launch

import (
	"os"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " S 40 5 5 0 -1 4194304 113 0 0 0 0 0 0 0 20 0 1 0 90534 2654208 405\n"
	got, ok := parseStat("42 (a) b (c)" + rest)
	want := process{pid: 42, parent: 40, name: "a) b (c", start: "90534"}
	if !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "42", "42 (a", "42 (a) S 40", "x (a)" + rest, ")(" + rest} {
		if got, ok := parseStat(bad); ok {
			t.Errorf("parseStat(%q) = %+v, want none", bad, got)
		}
	}
}

func TestAncestor(t *testing.T) {
	me, ok := readProcess(os.Getpid())
	if !ok || me.parent != os.Getppid() {
		t.Fatalf("this process: %+v, %v, want parent %d", me, ok, os.Getppid())
	}
	parent, ok := readProcess(me.parent)
	if !ok {
		t.Skip("/proc does not show the parent of this process")
	}
	if got, ok := ancestor(me.pid, parent.name); !ok || got.name != parent.name {
		t.Errorf("ancestor %q: %+v, %v", parent.name, got, ok)
	}
	if got, ok := ancestor(me.pid, "no such process name"); ok {
		t.Errorf("found %+v", got)
	}
}
