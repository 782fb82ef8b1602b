package explore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/invariant"
	seeds "github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// interruptAfter ends a context when a search has come to so many states.
func interruptAfter(states uint64) (context.Context, func(explore.Snapshot)) {
	ctx, cancel := context.WithCancel(context.Background())
	return ctx, func(s explore.Snapshot) {
		if s.States >= states {
			cancel()
		}
	}
}

// searchWith explores a model with so many ranks, on two hosts if batches are to be shipped, and
// returns the result of rank 0.
func searchWith(ctx context.Context, ranks int, m explore.Model, opts explore.Options) (
	*explore.Result, error) {
	var res *explore.Result
	on := local.Options{Hosts: 1}
	if opts.Access == rma.Shipped && ranks > 1 {
		on = local.Options{Hosts: 2, Carries: true}
	}
	err := local.RunWith(on, ranks, func(job rma.Job) error {
		r, err := explore.Run(ctx, job, m, opts)
		if job.Rank() == 0 {
			res = r
		}
		return err
	})
	return res, err
}

// A search that writes a checkpoint whenever it can is interrupted, and the one that goes
// on with its last checkpoint, with another number of ranks, comes to the figures of an
// undisturbed one.
func TestResumeComesToTheSameFigures(t *testing.T) {
	net, err := petri.Family("philosophers", 8)
	if err != nil {
		t.Fatal(err)
	}
	m, err := packing.New(net, packing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
		for _, encoding := range encodings {
			for i, ranks := range [][2]int{{2, 2}, {1, 3}, {3, 1}} {
				if i > 0 && testing.Short() {
					break
				}
				name := fmt.Sprintf("%s/%s/%d to %d", order, encoding, ranks[0], ranks[1])
				t.Run(name, func(t *testing.T) {
					resumeOnce(t, m, ranks, explore.Options{Order: order, Encoding: encoding})
				})
			}
		}
	}
}

// Where batches are shipped, the states that wait include those whose successors have been gathered
// while the batch before was shipped.
func TestResumeWhereBatchesAreShipped(t *testing.T) {
	size := 11
	if testing.Short() {
		size = 8
	}
	net, err := petri.Family("philosophers", size)
	if err != nil {
		t.Fatal(err)
	}
	m, err := packing.New(net, packing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resumeOnce(t, m, [2]int{2, 3}, explore.Options{Order: explore.AnyOrder, Access: rma.Shipped})
}

func resumeOnce(t *testing.T, m explore.Model, ranks [2]int, opts explore.Options) {
	want, err := searchWith(context.Background(), 2, m, opts)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "checkpoint")
	first := opts.WithProgressEvery(time.Millisecond)
	first.Checkpoint, first.CheckpointEvery, first.ModelID = path, time.Nanosecond, "philosophers"
	ctx, progress := interruptAfter(want.States / 4)
	first.Progress = progress
	if _, err := searchWith(ctx, ranks[0], m, first); err != nil {
		t.Fatal(err)
	}
	second := opts
	second.Resume, second.ModelID, second.Check = path, "philosophers", true
	got, err := searchWith(context.Background(), ranks[1], m, second)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Complete || got.States != want.States || got.Arcs != want.Arcs ||
		got.Deadlocks != want.Deadlocks || !slices.Equal(got.Findings, want.Findings) ||
		opts.Order == explore.BreadthFirst && got.Depth != want.Depth {
		t.Errorf("resumed:     %+v\nundisturbed: %+v", *got, *want)
	}
	other := second
	other.ModelID = "something else"
	var refused *explore.OtherModelError
	if _, err := searchWith(context.Background(), 2, m, other); !errors.As(err, &refused) {
		t.Errorf("a checkpoint of another model: %v", err)
	}
}

func TestResumeRefusesWhatIsNoCheckpoint(t *testing.T) {
	net, err := petri.Family("philosophers", 3)
	if err != nil {
		t.Fatal(err)
	}
	m, err := packing.New(net, packing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "no-checkpoint")
	for _, content := range []string{"", "farhash", string(make([]byte, 10000))} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		opts := explore.Options{Resume: path}
		if _, err := searchWith(context.Background(), 2, m, opts); err == nil {
			t.Errorf("%d bytes that are no checkpoint were resumed from", len(content))
		}
	}
	_, err = searchWith(context.Background(), 2, m, explore.Options{Resume: path,
		Trace: []int{explore.Deadlock}})
	if err == nil {
		t.Error("a resumed search promised a trace")
	}
}

// A checkpoint may be asked for just when one rank has moved the level on and another has
// not seen it. What is written then is complete as well, wherever the search is interrupted.
func TestCheckpointBetweenLevels(t *testing.T) {
	want := wantDoubling(9, explore.BreadthFirst)
	times := uint64(seeds.Often(30, 100))
	if invariant.Enabled {
		times = 30
	}
	for i := range times {
		path := filepath.Join(t.TempDir(), "checkpoint")
		opts := explore.Options{Order: explore.BreadthFirst, ModelID: "doubling",
			Checkpoint: path, CheckpointEvery: time.Nanosecond}.WithProgressEvery(time.Microsecond)
		var ctx context.Context
		ctx, opts.Progress = interruptAfter(2 + i*want.States/times)
		if _, err := searchWith(ctx, 4, doubling(9), opts); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil && i < 10 {
			continue // it was too early for a checkpoint
		}
		r, err := searchWith(context.Background(), 2, doubling(9), explore.Options{
			Order: opts.Order, ModelID: opts.ModelID, Resume: path})
		if err != nil || !r.Complete || countsOf(r) != want {
			t.Errorf("resumed: %v, %+v, want %+v", err, r, want)
		}
	}
}
