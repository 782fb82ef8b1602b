package packing

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri/property"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
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
		if err == nil && (p.guess != 16 || p.Answers(res)[0].Verdict != True) {
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
