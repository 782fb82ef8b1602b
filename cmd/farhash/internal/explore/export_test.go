package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// All markings and firings of a small net are written, and no part of a large one.
func TestExport(t *testing.T) {
	net, folder := family(t, "philosophers", "4"), t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for name, begin := range map[string]string{"g.aut": "des (0, 252, 81)\n(0, \"FF1a_1\", 1)\n",
		"g.dot": "digraph farhash {\n\tlabel=\"Philosophers-4\"\n\t0 [label=\"Think_1=1 "} {
		c := try.Run(t, "explore", net, "-q", "--export", at(name))
		text, _ := os.ReadFile(at(name))
		if c.Code() != 0 || !strings.HasPrefix(string(text), begin) {
			t.Errorf("%s: exit code %d, %s\n%.100s", name, c.Code(), &c.Errors, text)
		}
	}
	try.Fails(t, 1,
		"--export: there are more than 80 states, which is the limit; --max-export sets",
		"explore", net, "--export", at("less.aut"), "--max-export", "80")
	try.Fails(t, 1, "ends neither in .dot nor in .aut", "explore", net, "--export", at("g.svg"))
	try.Fails(t, 1, "is no page of farhash", "explore", net, "--html", at("g.dot"))
	try.Fails(t, 2, "--export and --html name the same file", "explore", net, "--export",
		at("new.dot"), "--html", at("new.dot"))
	try.Fails(t, 2, "--max-export is for --export FILE", "explore", net, "--max-export", "80")
	try.Fails(t, 2, "--export works in one process", try.Launched(t, "2", "explore", net,
		"--export",
		at("two.aut"))...)
	if left, _ := os.ReadDir(folder); len(left) != 2 {
		t.Errorf("%v", left)
	}
}
