package packing

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// farCount is a search that ends at 300 tokens in a place without a bound: 8 bits are too few for
// it, and 16 are enough. Its options write checkpoints from the first block on.
func farCount(t *testing.T) (*Search, explore.Options) {
	net := counter(0, 1)
	formula, err := property.ParseFormula(net, "tokens(p0) >= 300")
	if err != nil {
		t.Fatal(err)
	}
	return NewSearch(net, property.Property{Kind: property.Sometimes, Formula: formula}),
		explore.Options{Checkpoint: filepath.Join(t.TempDir(), "checkpoint"), CheckpointEvery: 1}
}

// resumes finds the answer of farCount with the checkpoint of its options.
func resumes(t *testing.T, search *Search, opts explore.Options) {
	t.Helper()
	opts.Resume, opts.Checkpoint = opts.Checkpoint, ""
	err := local.Run(2, func(job rma.Job) error {
		res, p, err := search.Run(context.Background(), job, opts)
		if err == nil && (p.guess != 16 || p.Answers(res)[0].Verdict != logic.True) {
			t.Errorf("guess of %d bits, %+v", p.guess, p.Answers(res)[0])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A checkpoint of states that 8 bits hold is not resumed with 16, where the search begins anew.
func TestResumeThenOverflow(t *testing.T) {
	search, opts := farCount(t)
	p, err := search.packing(8)
	if err != nil {
		t.Fatal(err)
	}
	eight := opts
	if eight.ModelID, err = p.identity(search, 8); err != nil {
		t.Fatal(err)
	}
	err = local.Run(2, func(job rma.Job) error {
		_, err := explore.Run(context.Background(), job, p, eight)
		return err
	})
	var overflow *explore.OverflowError
	if !errors.As(err, &overflow) {
		t.Fatalf("error %v", err)
	}
	resumes(t, search, opts)
}

// A checkpoint of states with 16 bits is resumed with these, though 8 are tried first.
func TestResumeWithWiderGuess(t *testing.T) {
	search, opts := farCount(t)
	err := local.Run(2, func(job rma.Job) error {
		_, _, err := search.Run(context.Background(), job, opts)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	resumes(t, search, opts)
}

// A search begins with as many bits as its words have room for, and with no more words than the
// markings take that random walks meet.
func TestFirstGuess(t *testing.T) {
	full := mustFamily(t, "walker", 28) // 63 bits with a guess of 2, and one more
	full.Places = append(full.Places, petri.Place{ID: "more", Initial: 1})
	full.Transitions = append(full.Transitions, petri.Transition{ID: "less",
		In: []petri.Arc{{Place: len(full.Places) - 1, Weight: 1}}})
	for _, test := range []struct {
		net  *petri.Net
		bits int
	}{
		{counter(0, 1), 8},
		{mustFamily(t, "walker", 13), 4},
		{mustFamily(t, "walker", 21), 2},
		{mustFamily(t, "walker", 28), 2},
		{full, 4},
		{mustFamily(t, "philosophers", 30), 1},
	} {
		bits, err := NewSearch(test.net).begin()
		if err != nil || bits != test.bits {
			t.Errorf("%s: a guess of %d bits, %v; want %d", test.net.Name, bits, err, test.bits)
		}
	}
}

// An answer is told once, as soon as findings give it, also where a search begins again.
func TestAnswered(t *testing.T) {
	n, err := petri.Family("philosophers", 3)
	if err != nil {
		t.Fatal(err)
	}
	stuck := logic.Leaf(property.Stuck{})
	one := property.Sum{Terms: []property.Term{{Place: 0, Weight: 1}}}
	s := NewSearch(n, property.Property{Kind: property.Sometimes, Formula: stuck},
		property.Property{Kind: property.Always, Formula: logic.Leaf(
			&property.AtMost{Left: one, Right: property.Sum{Constant: 1}})})
	var told []int
	s.Answered = func(number int, a property.Answer) {
		if told = append(told, number); a.Verdict != logic.True || a.ByWalk != (number == 0) {
			t.Errorf("%d is %v, by a walk: %v", number, a.Verdict, a.ByWalk)
		}
	}
	shots := 0
	for range 2 {
		p, err := s.packing(8)
		if err != nil {
			t.Fatal(err)
		}
		opts := s.answering(p, explore.Options{Progress: func(explore.Snapshot) { shots++ }})
		opts.Progress(explore.Snapshot{})
		findings := make([]uint64, p.Findings())
		opts.Progress(explore.Snapshot{Findings: findings})
		if len(told) == 1 {
			findings[p.questions.list[0].finding] = 1
		}
		opts.Progress(explore.Snapshot{Findings: findings,
			Walks: map[int]explore.Walk{p.questions.list[0].finding: {Number: 1}}})
	}
	if !slices.Equal(told, []int{1, 0}) || shots != 6 {
		t.Errorf("%v were told in %d", told, shots)
	}
	if opts := s.answering(nil, explore.Options{}); opts.Progress != nil {
		t.Error("progress where nobody asks for it")
	}
}
