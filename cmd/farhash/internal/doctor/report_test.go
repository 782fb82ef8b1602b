package doctor

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
)

// sample has each level, and lines of each length.
func sample() *Report {
	r := &Report{Program: "v1", System: "linux/amd64"}
	r.Add(Finding{Group: "a", Name: "fine", Level: OK, Message: "all is well"},
		Finding{Group: "a", Name: "long", Level: Note, Message: strings.Repeat("so so ", 40),
			Remedy: "do this; " + strings.Repeat("x", 90) + " and then that"},
		Finding{Group: "b", Name: "bad", Level: Warning, Message: "it is über-broken",
			Remedy: "repair it", Values: map[string]any{"sizeBytes": 8}})
	return r
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"farhash v1, linux/amd64\n\na\n  ok       fine                 all is well\n",
		"\n\nb\n  warning  bad                  it is über-broken\n           -> repair it\n",
		"\n\n1 warning, 1 note.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > cli.Columns && !strings.Contains(line, "xxx") ||
			strings.HasSuffix(line, " ") {
			t.Errorf("line %q", line)
		}
	}
	var none strings.Builder
	if err := new(Report).WriteText(&none); err != nil || !strings.Contains(none.String(),
		"All is well.") {
		t.Errorf("%v: %s", err, &none)
	}
}

// JSON has the names that the command promises, and all that the text has.
func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back any
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil {
		t.Fatal(err)
	}
	object := back.(map[string]any)
	findings := object["findings"].([]any)
	if object["program"] != "v1" || object["system"] != "linux/amd64" ||
		object["warnings"] != 1.0 || object["notes"] != 1.0 || len(object) != 5 ||
		!reflect.DeepEqual(findings[0], map[string]any{"group": "a", "name": "fine",
			"level": "ok", "message": "all is well", "remedy": ""}) ||
		!reflect.DeepEqual(findings[2], map[string]any{"group": "b", "name": "bad",
			"level": "warning", "message": "it is über-broken", "remedy": "repair it",
			"values": map[string]any{"sizeBytes": 8.0}}) {
		t.Errorf("%s", &b)
	}
}

// full is a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestNoRoom(t *testing.T) {
	if sample().WriteText(full{}) == nil || sample().WriteJSON(full{}) == nil {
		t.Error("a report that was not written")
	}
}
