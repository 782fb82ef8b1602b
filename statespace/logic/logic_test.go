package logic

import (
	"encoding/json"
	"testing"
)

// What nobody knows is no answer in JSON.
func TestVerdictJSON(t *testing.T) {
	text, err := json.Marshal([]Verdict{Unknown, True, False, VerdictOf(true), VerdictOf(false)})
	if want := "[null,true,false,true,false]"; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// A formula of a state may look along paths: of paths are only operators outside of Exists and
// Forall.
func TestOfState(t *testing.T) {
	p := Leaf(1)
	for i, c := range []struct {
		f              *Formula
		looks, ofState bool
	}{
		{p, false, true},
		{Of(Iff, p, Of(Not, p)), false, true},
		{Of(Or, p, Of(Exists, Of(Next, p))), true, true},
		{Of(And, p, Of(Next, p)), true, false},
		{Of(Forall, Of(And, p, Of(Next, p))), true, true},
	} {
		if c.f.Looks() != c.looks || c.f.OfState() != c.ofState {
			t.Errorf("formula %d: looks %v, of a state %v", i, c.f.Looks(), c.f.OfState())
		}
	}
}
