package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page of a program has answers and traces, and what comes from the model is text.
func TestHTML(t *testing.T) {
	folder := t.TempDir()
	path, mine := filepath.Join(folder, "page.html"), filepath.Join(folder, "mine.html")
	if err := os.WriteFile(mine, []byte("<p>mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := os.Args
	defer func() { os.Args = args }()
	m := Model[octal]{Name: "a<b", Init: []octal{{}}, Deadlocks: true,
		Next: func(s octal, emit func(string, octal)) { emit("<up>", octal{(s.N + 1) % 8}) },
		Properties: []Property[octal]{
			Sometimes("five & more", func(s octal) bool { return s.N == 5 }),
			Always("below <7>", func(s octal) bool { return s.N < 7 })}}
	for _, c := range []struct {
		path string
		code int
	}{{path, exitViolated}, {path, exitViolated}, {mine, exitFailure},
		{filepath.Join(folder, "none", "page.html"), exitFailure}} {
		os.Args = []string{"test", "-q", "-n", "2", "--html", c.path}
		if code := run([]program{m}); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.path, code, c.code)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a&lt;b", "Found: five &amp; more", "Violated: below &lt;7&gt;",
		"&lt;up&gt;", `N: <span class="from">6</span> → <span class="to">7</span>`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if left, _ := os.ReadFile(mine); string(left) != "<p>mine" {
		t.Errorf("%s has become %s", mine, left)
	}
}

type octal struct {
	N uint8 `bits:"3"`
}
