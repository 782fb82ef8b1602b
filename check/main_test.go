package check

import (
	"strings"
	"testing"
)

// An argument names the model; without one it is the first.
func TestModelNamed(t *testing.T) {
	models := []Program{Model[uint8]{Name: "one"}, Model[uint16]{Name: "two"}}
	for arg, want := range map[string]string{"": "one", "one": "one", "two": "two"} {
		f, _, err := parse(models, strings.Fields(arg))
		if err != nil || f.model.name() != want {
			t.Errorf("%q: %v, %v", arg, f.model, err)
		}
	}
	for args, says := range map[string]string{"three": "the models are one, two",
		"one two": "name one model"} {
		if _, _, err := parse(models, strings.Fields(args)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
