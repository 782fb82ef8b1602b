package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/invariant"
)

// Level is the severity of a finding.
type Level string

const (
	OK      Level = "ok"
	Note    Level = "note"    // costs speed or memory in some cases
	Warning Level = "warning" // does not work, or costs much
)

// Finding is something about this machine. The fields are named as in --json.
type Finding struct {
	Group   string `json:"group"`
	Name    string `json:"name"` // unique in a report
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"` // "" where all is well
	// Values are the figures of the message, for programs. Names end with units. Which there are
	// depends on the name of the finding.
	Values map[string]any `json:"values,omitempty"`
}

// Report is all findings. The fields are named as in --json.
type Report struct {
	Program  string    `json:"program"` // its version
	System   string    `json:"system"`  // "linux/amd64"
	Warnings int       `json:"warnings"`
	Notes    int       `json:"notes"`
	Findings []Finding `json:"findings"`
}

// Add adds findings. Findings of a group come one after the other.
func (r *Report) Add(findings ...Finding) {
	for _, f := range findings {
		invariant.Check(f.Group != "" && f.Name != "" && f.Message != "", "%+v has no message", f)
		invariant.Check((f.Level == OK) == (f.Remedy == ""), "%+v and its remedy", f)
		switch f.Level {
		case Warning:
			r.Warnings++
		case Note:
			r.Notes++
		}
		r.Findings = append(r.Findings, f)
	}
}

// WriteJSON writes one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// Columns of the text: the columns of levels and names are as wide as the longest.
const (
	levelWidth    = len(Warning)
	nameWidth     = 19
	messageColumn = 2 + levelWidth + 2 + nameWidth + 2
	remedyColumn  = 2 + levelWidth + 2
)

// WriteText writes for people.
func (r *Report) WriteText(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "farhash %s, %s\n", r.Program, r.System)
	group := ""
	for _, f := range r.Findings {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&text, "\n%s\n", group)
		}
		head := fmt.Sprintf("  %-*s  %-*s  ", levelWidth, f.Level, nameWidth, f.Name)
		text.WriteString(cli.Wrap(head, messageColumn, f.Message))
		if f.Remedy != "" {
			text.WriteString(cli.Wrap(strings.Repeat(" ", remedyColumn)+"-> ", remedyColumn+3,
				f.Remedy))
		}
	}
	fmt.Fprintf(&text, "\n%s.\n", r.summary())
	_, err := w.Write(text.Bytes())
	return err
}

// summary counts warnings and notes.
func (r *Report) summary() string {
	if r.Warnings+r.Notes == 0 {
		return "All is well"
	}
	return english.Plural(r.Warnings, "warning", "") + ", " + english.Plural(r.Notes, "note", "")
}
