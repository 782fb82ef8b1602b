package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/statespace/explore"
)

const (
	visitedSection = 0  // of a checkpoint; the others have states that wait
	resumedBits    = 10 // of the words in paused searches
)

// words is the graph of these words, with states that are long enough for fingerprints if opts asks
// for them.
func words(opts explore.Options) *graph {
	if opts.Encoding == explore.EncodingFingerprint {
		return doubling(resumedBits).long(2)
	}
	return doubling(resumedBits)
}

// paused stops a search of words at their middle, where it writes a checkpoint.
func paused(t *testing.T, opts explore.Options) (path string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := words(opts)
	next := m.next
	m.next = func(s uint64, out []uint64) []uint64 {
		if s>>(resumedBits/2) > 0 {
			cancel()
		}
		return next(s, out)
	}
	opts.Checkpoint = filepath.Join(t.TempDir(), "paused")
	opts.CheckpointEvery, opts.ModelID = time.Nanosecond, "words"
	if _, err := searchWith(ctx, 2, m, opts); err != nil {
		t.Fatal(err)
	}
	return opts.Checkpoint
}

// resumed continues a paused search.
func resumed(t *testing.T, path string, opts explore.Options) (*explore.Result, error) {
	t.Helper()
	opts.Resume, opts.ModelID = path, "words"
	r, err := searchWith(t.Context(), 2, words(opts), opts)
	if err == nil && !r.Complete {
		t.Fatalf("%+v", r)
	}
	return r, err
}

// rewritten is a copy of a checkpoint whose description and blocks are changed by functions; nil
// changes nothing.
func rewritten(t *testing.T, path string, describe func(c map[string]any),
	change func(section uint32, states []byte)) string {
	t.Helper()
	r, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	about := describedBy(t, r.Description)
	if describe != nil {
		describe(about)
	}
	description := []byte(fmt.Sprintf(`{"kind":%q,`, about["kind"])) // comes first
	delete(about, "kind")
	rest, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	description = append(description, rest[1:]...)
	copied := filepath.Join(t.TempDir(), "rewritten")
	w, err := archive.Create(copied, archive.Exploration)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, archive.PayloadBytes)
	for n := range r.Blocks {
		section, states, err := r.ReadBlock(n, buf)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(section, states)
		}
		if err := w.WriteBlock(n, section, states); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Finish(r.Blocks, r.Records, description), w.Close()); err != nil {
		t.Fatal(err)
	}
	return copied
}

// describedBy reads a description. Numbers stay exact.
func describedBy(t *testing.T, description []byte) map[string]any {
	t.Helper()
	about := map[string]any{}
	d := json.NewDecoder(strings.NewReader(string(description)))
	d.UseNumber()
	if err := d.Decode(&about); err != nil {
		t.Fatal(err)
	}
	return about
}

// add adds to a number of a description, or to the one at a place of a list.
func add(t *testing.T, about map[string]any, key string, at int, n int64) {
	t.Helper()
	value := about[key]
	list, isList := value.([]any)
	if isList {
		value = list[at]
	}
	old, err := value.(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	sum := json.Number(fmt.Sprint(old + n))
	if about[key] = sum; isList {
		list[at], about[key] = sum, list
	}
}

// A resumed search takes over the time and the counts of the one before, and so does the next
// checkpoint.
func TestResumeAddsToWhatWasBefore(t *testing.T) {
	const hour, arcs, deadlocks = time.Hour, 1000, 7
	for _, order := range []explore.Order{explore.BreadthFirst, explore.AnyOrder} {
		path := rewritten(t, paused(t, explore.Options{Order: order}), func(c map[string]any) {
			add(t, c, "elapsedMillis", 0, hour.Milliseconds())
			add(t, c, "arcs", 0, arcs)
			add(t, c, "deadlocks", 0, deadlocks)
			add(t, c, "findings", findingLargest, 1<<30)
		}, nil)
		want := wantDoubling(resumedBits, order)
		want.Arcs, want.Deadlocks = want.Arcs+arcs, want.Deadlocks+deadlocks
		r, err := resumed(t, path, explore.Options{Order: order})
		if err != nil {
			t.Fatal(err)
		}
		if want.MaxTokensPlace = r.Findings[findingLargest]; want.MaxTokensPlace < 1<<30 {
			t.Errorf("%s: the largest value is %d", order, want.MaxTokensPlace)
		}
		if countsOf(r) != want || r.Elapsed < hour || r.Elapsed > 2*hour {
			t.Errorf("%s: %+v after %v, want %+v", order, countsOf(r), r.Elapsed, want)
		}

		second := filepath.Join(t.TempDir(), "second")
		ctx, cancel := context.WithCancel(t.Context())
		m := doubling(resumedBits)
		m.hook = func(uint64) error { cancel(); return nil }
		if _, err := searchWith(ctx, 1, m, explore.Options{Order: order, Resume: path,
			ModelID: "words", Checkpoint: second, CheckpointEvery: time.Nanosecond}); err != nil {
			t.Fatal(err)
		}
		if r, err = resumed(t, second, explore.Options{Order: order}); err != nil {
			t.Fatal(err)
		}
		if countsOf(r) != want || r.Elapsed < hour || r.Elapsed > 2*hour {
			t.Errorf("%s, twice: %+v after %v, want %+v", order, countsOf(r), r.Elapsed, want)
		}
	}
}

// A checkpoint of another search is refused, and the error says what is different.
func TestResumeRefusesOtherSearches(t *testing.T) {
	path := paused(t, explore.Options{})
	set := func(key string, value any) string {
		return rewritten(t, path, func(c map[string]any) { c[key] = value }, nil)
	}
	for _, c := range []struct {
		path, says string
		opts       explore.Options
	}{
		{path, "", explore.Options{}},
		{path, `a checkpoint of order "bfs", not "any"`, explore.Options{Order: explore.AnyOrder}},
		{set("stateWords", 2), "belongs to another model", explore.Options{}},
		{set("model", "sentences"), "belongs to another model (sentences; this one is words)",
			explore.Options{}},
		{set("findings", []int{1}), "has 1 finding, and the model 3", explore.Options{}},
		{set("kind", archive.Exploration+" of the moon"), "is no checkpoint of an exploration",
			explore.Options{}},
		{set("kind", archive.Exploration), "has the states themselves",
			explore.Options{Encoding: explore.EncodingFingerprint}},
		{set("kind", archive.Exploration+" by fingerprints"), "has fingerprints of states",
			explore.Options{}},
		{paused(t, explore.Options{Encoding: explore.EncodingFingerprint}), "",
			explore.Options{Encoding: explore.EncodingFingerprint}},
	} {
		_, err := resumed(t, c.path, c.opts)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %q", err, c.says)
		}
	}
}

// A checkpoint whose states are not those that were counted is refused.
func TestResumeRefusesOtherStates(t *testing.T) {
	path := paused(t, explore.Options{})
	counted := func(n int64) string { // a state more or less than there are, that was expanded
		return rewritten(t, path, func(c map[string]any) {
			add(t, c, "created", 0, n)
			add(t, c, "done", 0, n)
		}, nil)
	}
	twice := rewritten(t, path, nil, func(section uint32, states []byte) {
		if section == visitedSection && len(states) > 8 {
			copy(states[8:16], states)
		}
	})
	unseen := rewritten(t, path, nil, func(section uint32, states []byte) {
		if section > visitedSection && len(states) > 0 {
			copy(states, []byte{1, 2, 3, 4, 5, 6, 7, 8})
		}
	})
	for _, c := range []struct{ path, says string }{
		{counted(1), "is not complete: it has "}, {counted(-1), "is not complete: it has "},
		{twice, "a state of the checkpoint is found in the set"},
		{unseen, "a state of the checkpoint is inserted in the set"},
	} {
		_, err := resumed(t, c.path, explore.Options{})
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), c.says) {
			t.Errorf("error %v, want %q", err, c.says)
		}
	}
}

// A model fails within a block of states, each of which has more successors than a batch. The last
// checkpoint has the states of the block that are left.
func TestCheckpointWithinABlock(t *testing.T) {
	const states, successors = 40, 600
	fan := &graph{bits: 40, words: 1, next: func(s uint64, out []uint64) []uint64 {
		n := uint64(0)
		if s == 0 {
			n = states
		} else if s <= states {
			n = successors
		}
		for i := range n {
			out = append(out, 1000*s+i+1)
		}
		return out
	}}
	broken := errors.New("broken")
	failing := *fan
	failing.hook = func(s uint64) error {
		if s == states/2 {
			return broken
		}
		return nil
	}
	path := filepath.Join(t.TempDir(), "checkpoint")
	_, err := searchWith(t.Context(), 1, &failing, explore.Options{Checkpoint: path,
		ModelID: "words", CheckpointEvery: time.Nanosecond})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	r, err := searchWith(t.Context(), 2, fan, explore.Options{Resume: path, ModelID: "words"})
	const all = 1 + states + states*successors
	if err != nil || r.States != all || r.Arcs != all-1 || r.Depth != 2 {
		t.Errorf("error %v, result %+v", err, r)
	}
}

// A search does not write its checkpoint over the one that it is resumed from.
func TestCheckpointSparesTheResumed(t *testing.T) {
	whole := paused(t, explore.Options{})
	path := whole + ".partial"
	if err := os.Rename(whole, path); err != nil {
		t.Fatal(err)
	}
	_, err := resumed(t, path, explore.Options{Checkpoint: whole, CheckpointEvery: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "is where "+whole+" is written") {
		t.Errorf("error %v", err)
	}
	if _, err := resumed(t, path, explore.Options{}); err != nil {
		t.Errorf("it was changed: %v", err)
	}
}

// A search that is interrupted while it reads a checkpoint stops there, on all ranks.
func TestResumeInterrupted(t *testing.T) {
	path := paused(t, explore.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := searchWith(ctx, 2, words(explore.Options{}), explore.Options{Resume: path,
		ModelID: "words"})
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := resumed(t, path, explore.Options{}); err != nil {
		t.Error(err) // the checkpoint is as it was
	}
}
