package nearest

import (
	"slices"
	"testing"
)

func TestName(t *testing.T) {
	known := []string{"always", "sometimes", "bound", "n", "mem", "max-net", "Eat_1", "Eat_10"}
	for typed, want := range map[string]string{"alway": "always", "sometime": "sometimes",
		"bonud": "bound", "maxnet": "max-net", "men": "mem", "Eat1": "Eat_1", "eat_1": "Eat_1",
		"EAT_10": "Eat_10", "q": "", "": "", "properties": "", "xem": "mem", "resume": ""} {
		if got := Name(typed, slices.Values(known)); got != want {
			t.Errorf("%q is taken for %q, want %q", typed, got, want)
		}
	}
	want := `; did you mean "bound"?`
	if got := Suggestion("boud", slices.Values(known)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Suggestion("other", slices.Values(known)); got != "" {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1},
		{"abc", "bc", 1}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
