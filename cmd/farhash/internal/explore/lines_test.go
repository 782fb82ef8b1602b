package explore

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// --json=lines prints a line for each property that is answered, also of those that were answered
// before the first look at the search, and then the object.
func TestLinesOfProperties(t *testing.T) {
	path := try.File(t, "net.pnml", twoAtATime)
	for _, engine := range []string{"explicit", "symbolic"} {
		o := try.Here(t, "explore", path, "-n", "1", "-q", "--engine", engine, "--json=lines",
			"--sometimes", "tokens(b) = 2", "--always", "tokens(a) <= 2", "--bound", "tokens(b)")
		lines := strings.Split(strings.TrimSpace(o.Out), "\n")
		if o.Code != 0 || len(lines) != 4 {
			t.Fatalf("--engine %s: exit code %d, %d lines\n%s%s", engine, o.Code, len(lines),
				o.Out, o.Errors)
		}
		answered := map[string]any{}
		for i, line := range lines {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if i < 3 {
				answered[object["name"].(string)] = object["answer"]
			} else if len(object["properties"].([]any)) != 3 {
				t.Errorf("--engine %s: the object has %v", engine, object["properties"])
			}
		}
		if answered["sometimes tokens(b) = 2"] != true || answered["bound tokens(b)"] != 2.0 ||
			answered["always tokens(a) <= 2"] != true {
			t.Errorf("--engine %s: %v", engine, answered)
		}
	}
}
