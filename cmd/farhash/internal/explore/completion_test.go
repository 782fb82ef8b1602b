package explore

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestCompletion: shells are told which files a command takes, and not after it has one.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"pnml\ntapn\nxml\n:8\n", []string{"explore", ""}}, {":4\n", []string{"explore", "x", ""}},
		{"ldd\nbdd\n:8\n", []string{"symbolic", ""}}, {":4\n", []string{"symbolic", "x", ""}},
		{"bfs\nany\n:4\n", []string{"explore", "--order", ""}},
		{"auto\nexplicit\nsymbolic\n:4\n", []string{"explore", "--engine", ""}},
		{":0\n", []string{"explore", "--checkpoint", ""}},
		{":4\n", []string{"explore", "--mem", ""}},
	} {
		if o := try.Here(t, append([]string{"__complete"}, c.args...)...); o.Out != c.want {
			t.Errorf("%q: %q, want %q", c.args, o.Out, c.want)
		}
	}
}
