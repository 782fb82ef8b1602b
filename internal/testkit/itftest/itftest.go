// Package itftest reads traces in the Informal Trace Format, and refuses what is none. It shares no
// code with package itf, which writes them.
package itftest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Trace is a trace as it was read.
type Trace struct {
	Meta   map[string]any
	Vars   []string
	States []State
	Loop   int // -1: none
}

// State is a state by variable.
type State struct {
	Action string
	Values map[string]any
}

// Read reads the trace in a file.
func Read(t testing.TB, path string) Trace {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return trace
}

// Parse reads a trace.
func Parse(text []byte) (Trace, error) {
	t := Trace{Loop: -1}
	var whole struct {
		Meta   map[string]any   `json:"#meta"`
		Params []string         `json:"params"`
		Vars   *[]string        `json:"vars"`
		States []map[string]any `json:"states"`
		Loop   *int             `json:"loop"`
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&whole); err != nil {
		return t, err
	}
	if d.More() || whole.Vars == nil || whole.States == nil {
		return t, fmt.Errorf("no vars, no states or more than an object")
	}
	t.Meta, t.Vars = whole.Meta, *whole.Vars
	sorted := slices.Sorted(slices.Values(t.Vars))
	if len(slices.Compact(slices.Clone(sorted))) < len(sorted) {
		return t, fmt.Errorf("variables %q", t.Vars)
	}
	for i, of := range whole.States {
		s := State{Values: of}
		meta, _ := of["#meta"].(map[string]any)
		if meta["index"] != json.Number(fmt.Sprint(i)) {
			return t, fmt.Errorf("state %d has index %v", i, meta["index"])
		}
		s.Action, _ = meta["action"].(string)
		delete(of, "#meta")
		if !slices.Equal(slices.Sorted(maps.Keys(of)), sorted) {
			return t, fmt.Errorf("state %d has other variables: %v", i, of)
		}
		for name, value := range of {
			if err := expression(value); err != nil || strings.HasPrefix(name, "#") {
				return t, fmt.Errorf("state %d, %s: %w", i, name, err)
			}
		}
		t.States = append(t.States, s)
	}
	if whole.Loop != nil {
		if t.Loop = *whole.Loop; t.Loop < 0 || t.Loop >= len(t.States) {
			return t, fmt.Errorf("a loop from state %d of %d", t.Loop, len(t.States))
		}
	}
	return t, nil
}

var (
	number = regexp.MustCompile(`^-?\d{1,16}$`)
	large  = regexp.MustCompile(`^-?\d+$`)
)

// expression says why a value is no expression of the format.
func expression(v any) error {
	switch v := v.(type) {
	case bool, string:
		return nil
	case json.Number:
		n, err := v.Int64()
		if err != nil || !number.MatchString(v.String()) || n >= 1<<53 || n <= -1<<53 {
			return fmt.Errorf("%s is no small integer", v)
		}
		return nil
	case []any:
		for _, e := range v {
			if err := expression(e); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for name, e := range v {
			if !strings.HasPrefix(name, "#") {
				if err := expression(e); err != nil {
					return err
				}
			} else if err := special(name, e); len(v) != 1 || err != nil {
				return fmt.Errorf("%v: %w", v, err)
			}
		}
		return nil
	}
	return fmt.Errorf("%v is no expression", v)
}

// special says why {"#name": v} is no expression.
func special(name string, v any) error {
	text, isText := v.(string)
	list, isList := v.([]any)
	switch {
	case name == "#bigint" && large.MatchString(text), name == "#unserializable" && isText:
		return nil
	case (name == "#set" || name == "#tup") && isList:
		return expression(v)
	case name == "#map" && isList:
		for _, pair := range list {
			if p, _ := pair.([]any); len(p) != 2 {
				return fmt.Errorf("%v is no pair", pair)
			}
		}
		return expression(v)
	}
	return fmt.Errorf("%s of %v", name, v)
}
