package explore

import (
	"os"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
)

// TestDisplay: a plan is printed once, and none where all is to be quiet.
func TestDisplay(t *testing.T) {
	path := try.File(t, "err", "")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = stderr }()
	planned := 0
	plan := explore.Snapshot{Plan: explore.Plan{Mem: 1 << 30, States: 1e6, StateBytes: 8,
		Encoding: "word"}}
	loud := &display{planned: func(explore.Plan) { planned++ }}
	quiet := &display{quiet: true, planned: func(explore.Plan) { planned++ }}
	for _, d := range []*display{loud, loud, quiet} {
		d.update(plan)
	}
	loud.announceSets(1<<30, 1)
	loud.announceSets(1<<30, 3)
	quiet.announceSets(1<<30, 1)
	loud.close()
	plan.Plan.States *= 2
	loud.update(plan)
	const want = "plan: up to 1.0 GiB, enough for about 1 Mstates (8.0 bytes each, stored as " +
		"word)\n" +
		"plan: up to 1.0 GiB for sets of markings\n" +
		"plan: up to 1.0 GiB for sets of markings in each of 3 ranks, by other orders and " +
		"strategies\n"
	if text, err := os.ReadFile(path); string(text) != want || planned != 4 || err != nil {
		t.Errorf("%q, want %q; %d plans: %v", text, want, planned, err)
	}
}
