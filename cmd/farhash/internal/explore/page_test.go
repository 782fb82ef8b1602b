package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// The page of explore has the answers and the traces, and replaces no file of another kind.
func TestExploreHTML(t *testing.T) {
	net := family(t, "philosophers", "4")
	path := filepath.Join(t.TempDir(), "page.html")
	for range 2 {
		c := try.Run(t, "explore", net, "-q", "--trace", "witness", "--html", path, "--walk", "0",
			"--bound", "tokens(Eat_1)", "--always", "tokens(Eat_1) < 1")
		if c.Code() != 0 {
			t.Fatalf("exit code %d, %s", c.Code(), &c.Errors)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"always tokens(Eat_1) &lt; 1", ">Philosophers-4<",
		`Catch1_1: <span class="from">1</span> → <span class="to">0</span>`,
		"A firing sequence to a marking that shows bound tokens(Eat_1) = 1<"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	try.Fails(t, 1, "--html: "+net+" would replace "+net, "explore", net, "--html", net)
	try.Fails(t, 1, "no file can be made in its folder", "explore", net, "--html",
		filepath.Join(t.TempDir(), "none", "page.html"))
	try.Fails(t, 2, "--engine symbolic and --html exclude each other", "explore", net, "--html",
		path, "--engine", "symbolic")
}
