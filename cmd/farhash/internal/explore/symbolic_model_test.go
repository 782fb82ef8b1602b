package explore

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// doubled writes a model of 2n integers, all 0 first. A relation for each i sets integers i and n+i
// to 1 together. So 2^n states are reachable, in a diagram of more nodes than that.
func doubled(t *testing.T, n int) string {
	t.Helper()
	var file []byte
	ints := func(values ...int) {
		for _, v := range values {
			file = binary.LittleEndian.AppendUint32(file, uint32(v))
		}
	}
	words := func(values ...uint64) {
		for _, v := range values {
			file = binary.LittleEndian.AppendUint64(file, v)
		}
	}
	ints(2*n, -1)
	words(uint64(2 * n))
	for i := range 2 * n {
		words(0, uint64(i+1)<<17)
	}
	last := uint64(2*n + 1)
	words(last)
	ints(n)
	for i := range n {
		ints(2, 2, i, n+i, i, n+i)
	}
	words(4, 1<<48, 1<<17, 0, (last+1)<<17, 1<<48, (last+2)<<17, 0, (last+3)<<17, last+4)
	for range n - 1 {
		words(0, last+4)
	}
	path := filepath.Join(t.TempDir(), "doubled.ldd")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// modelKeys are the keys of the JSON object of farhash symbolic.
var modelKeys = []string{"bytes", "complete", "deadlocks", "engine", "format", "integers", "model",
	"nodes", "reachSeconds", "relations", "seconds", "states", "strategy"}

// TestSymbolicModel: what is printed of 2^8 states, by all strategies.
func TestSymbolicModel(t *testing.T) {
	path := doubled(t, 8)
	c := try.Run(t, "symbolic", path, "--deadlocks")
	text := c.Out.String()
	for _, want := range []string{"doubled.ldd: 16 integers, 8 relations\nstates     256\n" +
		"deadlocks  1\n", "\nnodes      1020   of the set; "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if plan := c.Errors.String(); c.Code() != 0 || !strings.HasPrefix(plan, "plan: up to ") ||
		!strings.HasSuffix(plan, ", by loops and saturation at the same time\n") {
		t.Errorf("exit code %d, stderr %q", c.Code(), plan)
	}
	for _, strategy := range []string{"loops", "saturation"} {
		c := try.Run(t, "symbolic", path, "--json", "--quiet", "--strategy", strategy)
		o := try.Object(t, c)
		if c.Errors.Len() > 0 || o["states"] != 256.0 || o["strategy"] != strategy ||
			o["complete"] != true || o["format"] != "ldd" || o["deadlocks"] != nil {
			t.Errorf("%s: %v, stderr %q", strategy, o, &c.Errors)
		}
		for _, key := range modelKeys {
			if _, there := o[key]; !there || len(o) != len(modelKeys) {
				t.Errorf("%d keys, and %s is there: %v", len(o), key, there)
			}
		}
	}
}

// TestSymbolicModelRefused: wrong flags are wrong usage, broken files are named with an offset, and
// memory that is full is exit code 3.
func TestSymbolicModelRefused(t *testing.T) {
	path := doubled(t, 40)
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{cli.ExitUsage, "FILE is missing", nil},
		{cli.ExitUsage, "--strategy must be saturation or loops", []string{path,
			"--strategy", "dfs"}},
		{cli.ExitUsage, "--mem must be 2.0 MiB or more, not 1MiB", []string{path, "--mem", "1MiB"}},
		{cli.ExitUsage, "is no size", []string{path, "--mem", "much"}},
		{cli.ExitFailure, "is a folder; name one model in it", []string{filepath.Dir(path)}},
		{cli.ExitFailure, "no such file", []string{path + "x"}},
		{cli.ExitFailure, "at byte ", []string{family(t, "philosophers", "3")}},
	} {
		got := try.Run(t, append([]string{"symbolic"}, c.args...)...)
		if got.Code() != c.code || !strings.Contains(got.Errors.String(), c.says) {
			t.Errorf("%q: exit code %d, stderr %q", c.args, got.Code(), &got.Errors)
		}
	}
	c := try.Run(t, "symbolic", path, "--mem", "4MiB", "--json")
	o := try.Object(t, c)
	if c.Code() != cli.ExitIncomplete || o["complete"] != false || o["states"] != nil ||
		o["reason"] != "memory full" {
		t.Errorf("without memory: exit code %d, %v", c.Code(), o)
	}
	c = try.Run(t, "symbolic", path, "--mem", "4MiB", "--strategy", "loops")
	if text := c.Out.String(); c.Code() != cli.ExitIncomplete ||
		!strings.Contains(text, "INCOMPLETE: memory full: ") || strings.Contains(text, "states") {
		t.Errorf("without memory: exit code %d, %s", c.Code(), text)
	}
}
