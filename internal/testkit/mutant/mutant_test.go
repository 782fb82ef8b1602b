package mutant

import (
	"slices"
	"testing"
)

var wrong = New("mutant: wrong")

func TestSwitch(t *testing.T) {
	if wrong.On() {
		t.Error("a mutant is on without being switched on")
	}
	off := wrong.Switch()
	if wrong.On() != Enabled {
		t.Errorf("in a build where Enabled is %v a mutant that is on says %v", Enabled, wrong.On())
	}
	off()
	if wrong.On() {
		t.Error("a mutant stays on")
	}
	if !slices.Contains(All(), wrong) || wrong.String() != "mutant: wrong" {
		t.Errorf("%v is not among %v", wrong, All())
	}
}
