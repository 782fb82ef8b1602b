package report

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestLimits(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                 "",
		"--max-depth=3 --max-states=7":     "",
		"--max-depth=0":                    "--max-depth is at least 1",
		"--max-states=0":                   "--max-states is at least 1",
		"--max-states=0 --max-depth=0":     "--max-depth is at least 1",
		"--order=any --max-states=1":       "",
		"--order=any --max-depth=1":        "--max-depth needs --order bfs",
		"--max-states=1 --max-depth=0":     "--max-depth is at least 1",
		"--order=any":                      "",
		"--max-depth=18446744073709551615": "",
	} {
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		var l Limits
		l.Register(set, "states")
		order := set.String("order", "bfs", "")
		if err := set.Parse(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		err := l.Check(set, *order == "bfs")
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", flags, err, want)
		}
	}
}
