package naive_test

import (
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

func TestLive(t *testing.T) {
	move := func(from, to int) petri.Transition {
		return petri.Transition{In: one(from), Out: one(to)}
	}
	for _, c := range []struct {
		name string
		net  *petri.Net
		want []bool
	}{
		{"a circle", net([]int64{1, 0}, move(0, 1), move(1, 0)), []bool{true, true}},
		{"a deadlock", net([]int64{1, 0}, move(0, 1)), []bool{false}},
		{"never", net([]int64{1, 0}, move(0, 0), move(1, 1)), []bool{true, false}},
		{"a circle that can be left", net([]int64{1, 0, 0}, move(0, 1), move(1, 0), move(1, 2),
			move(2, 2)), []bool{false, false, false, true}},
		{"a circle with a way in", net([]int64{1, 0, 1}, move(0, 0),
			petri.Transition{In: one(2), Out: one(1)},
			petri.Transition{In: one(1), Out: one(1)}), []bool{true, false, true}},
	} {
		if got, ok := naive.Live(c.net, 10); !ok || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.name, got, ok)
		}
	}
	if _, ok := naive.Live(net([]int64{0}, petri.Transition{Out: one(0)}), 10); ok {
		t.Error("more markings than the limit")
	}
}
