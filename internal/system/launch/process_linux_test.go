package launch

import (
	"fmt"
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

// Without a proxy the parent is known by its process id and its start, since another process may
// get the same id later.
func TestPMIKeyNamesTheStart(t *testing.T) {
	me, ok := readProcess(os.Getpid())
	if !ok || me.start == "" {
		t.Fatalf("this process: %+v, %v", me, ok)
	}
	v := vars{"PMI_RANK": "0", "PMI_SIZE": "2"}
	m, _, err := detect(v.lookup, os.Getpid())
	if want := fmt.Sprintf("pmi-%d.%s", os.Getpid(), me.start); err != nil || m.Job != want {
		t.Errorf("got %q, %v, want %q", m.Job, err, want)
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
