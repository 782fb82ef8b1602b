package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sample is a page with names that are hard to show.
func sample() *Page {
	p := &Page{Title: `<script>alert("x")</script>`, Notes: []string{"INCOMPLETE: memory full"},
		Facts:   []Fact{{"states", "531441"}},
		Answers: []Answer{{`a < b & "c"`, "false", ""}, {"later", "unknown", "at least 3"}},
		Tables:  []Table{{"Coverage", []string{"action", "arcs"}, [][]string{{"<down>", "17"}}}},
		Traces: []Trace{{Goal: `a "way" & back`, Steps: []Step{{State: "{A:0}"}, {Action: "<up>",
			Changes: []Change{{"A", "0", "<1>"}}, State: "{A:<1>}"}}, End: "and so on"}}}
	for i := range uint64(40) {
		p.Samples.Add(Sample{Elapsed: time.Duration(i+1) * time.Second, States: 1e6 * i * (80 - i),
			Waiting: 1e5 * i * (40 - i)})
	}
	return p
}

// What comes from a model is text, whatever is in it.
func TestEscapes(t *testing.T) {
	var text strings.Builder
	if err := sample().Render(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"&lt;script&gt;alert(", "a &lt; b &amp; &#34;c&#34;",
		"&lt;up&gt;", "<th>arcs</th>", "<td>&lt;down&gt;</td><td>17</td>",
		`<span class="to">&lt;1&gt;</span>`, "INCOMPLETE: memory full", "and so on", "531441",
		"<polyline class=\"line1\" points=\"0.0,160.0 15.0,"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %s", part)
		}
	}
	for _, part := range []string{"<script", "<up>", "<1>", "http", "src="} {
		if strings.Contains(text.String(), part) {
			t.Errorf("%s is in the page", part)
		}
	}
}

// A page replaces a page, and no other file; a folder that cannot be written to is known before.
func TestWritePage(t *testing.T) {
	folder := t.TempDir()
	path, other := filepath.Join(folder, "page.html"), filepath.Join(folder, "other.html")
	if err := os.WriteFile(other, []byte("<!doctype html>\n<p>mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := PageWritable(path); err != nil {
			t.Error(err)
		}
		if err := sample().Write(path); err != nil {
			t.Error(err)
		}
	}
	for path, says := range map[string]string{other: "is no page of farhash, and would be lost",
		filepath.Join(folder, "none", "page.html"): "no file can be made in its folder",
		folder: "is a folder"} {
		if err := PageWritable(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := PageWritable(path, path); err == nil {
		t.Error("an input may be replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".farhash-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// Of a long search the samples are thinned out, and reach from its begin to its end.
func TestSamples(t *testing.T) {
	var s Samples
	const n = 100_000
	for i := range uint64(n) {
		s.Add(Sample{Elapsed: time.Duration(i) * time.Second, States: i})
	}
	if k := len(s.all); k < maxSamples/2 || k >= maxSamples || s.all[0].States > n/maxSamples*4 ||
		s.all[k-1].States < n-n/maxSamples*4 {
		t.Errorf("%d samples, from %v to %v", k, s.all[0], s.all[k-1])
	}
	for i, at := range s.all[1:] {
		if at.Elapsed-s.all[i].Elapsed != time.Duration(s.every)*time.Second {
			t.Fatalf("sample %d: %v after %v", i, at, s.all[i])
		}
	}
	if c := (&Samples{all: s.all[:1]}).charts(); c != nil {
		t.Errorf("charts of one sample: %v", c)
	}
}

// A trace that is too long for a page says so.
func TestLongTrace(t *testing.T) {
	var text strings.Builder
	p := Page{Traces: []Trace{{Goal: "far", Steps: make([]Step, maxSteps+7)}}}
	if err := p.Render(&text); err != nil || !strings.Contains(text.String(),
		"7 more steps are not shown here") || strings.Count(text.String(), "<details") != maxSteps {
		t.Errorf("%v", err)
	}
	if len(p.Traces[0].Steps) != maxSteps+7 {
		t.Error("the page itself has changed")
	}
}
