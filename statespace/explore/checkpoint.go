package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// The sections of a checkpoint: packed states of StateWords words each.
const (
	sectionVisited = iota // all states found, or their fingerprints
	sectionNow            // states of the present level that wait to be expanded
	sectionNext           // states of the next level that wait
)

// checkpointKind begins the description of a checkpoint, fingerprintKind the description of one
// that has fingerprints of the states found. Either may replace the other.
const (
	checkpointKind  = archive.Exploration
	fingerprintKind = archive.Exploration + " by fingerprints"
)

// checkpointKind is the kind of this search's checkpoints.
func (s *search) checkpointKind() string {
	if s.fingerprints() {
		return fingerprintKind
	}
	return checkpointKind
}

// checkpoint describes a search that is paused: between two states, with nothing
// in flight into the set.
type checkpoint struct {
	Kind          string    `json:"kind"`
	Model         string    `json:"model"` // Options.ModelID
	StateWords    int       `json:"stateWords"`
	Order         Order     `json:"order"`
	Level         uint64    `json:"level"`
	Created       [2]uint64 `json:"created"`
	Done          [2]uint64 `json:"done"`
	Arcs          uint64    `json:"arcs"`
	Deadlocks     uint64    `json:"deadlocks"`
	Findings      []uint64  `json:"findings"`
	ElapsedMillis int64     `json:"elapsedMillis"`
}

// OtherModelError says that a checkpoint is of a search for something else.
type OtherModelError struct {
	Path       string
	Have, Want string
}

func (e *OtherModelError) Error() string {
	return fmt.Sprintf("explore: %s belongs to another model (%s; this one is %s)",
		e.Path, e.Have, e.Want)
}

// latest is the checkpoint to resume from when memory is lost: the one that this search writes,
// or else the one that it began with. The file itself is read, as ranks may have been lost while it
// was replaced.
func (s *search) latest() (path string, states uint64) {
	for _, path := range []string{s.opts.Checkpoint, s.opts.Resume} {
		var c checkpoint
		if path != "" && s.readCheckpoint(path, &c) == nil {
			return path, c.Created[0] + c.Created[1]
		}
	}
	return "", 0
}

// readCheckpoint reads what the header of a checkpoint says.
func (s *search) readCheckpoint(path string, c *checkpoint) error {
	r, err := archive.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	return s.accept(path, c, r.Description)
}

// accept refuses a description of another search.
func (s *search) accept(path string, c *checkpoint, description []byte) error {
	err := json.Unmarshal(description, c)
	switch {
	case err == nil && c.Kind == fingerprintKind && !s.fingerprints():
		return fmt.Errorf("explore: %s has fingerprints of states; resume it with encoding %q",
			path, EncodingFingerprint)
	case err == nil && c.Kind == checkpointKind && s.fingerprints():
		return fmt.Errorf("explore: %s has the states themselves; resume it without encoding %q",
			path, EncodingFingerprint)
	case err != nil || c.Kind != s.checkpointKind():
		return fmt.Errorf("explore: %s is no checkpoint of an exploration, but something else "+
			"that farhash has saved", path)
	case c.Model != s.opts.ModelID || c.StateWords != s.model.StateWords():
		return &OtherModelError{Path: path, Have: c.Model, Want: s.opts.ModelID}
	case c.Order != s.opts.Order:
		return fmt.Errorf("explore: %s is a checkpoint of order %q, not %q", path,
			c.Order, s.opts.Order)
	case len(c.Findings) != s.findings:
		return fmt.Errorf("explore: %s has %s, and the model %d: it is of another model, or an "+
			"older one; search from the beginning", path,
			plural.Of(len(c.Findings), "finding"), s.findings)
	}
	return nil
}

// tryCheckpoint finds out whether checkpoints can be written. Collective.
func (s *search) tryCheckpoint(ctx context.Context) error {
	path := s.opts.Checkpoint
	if path == "" {
		return nil
	}
	err := archive.Spares(path, s.opts.Resume)
	if err = rma.AllSucceeded(ctx, s.job, "saving "+path, err); err != nil {
		return err
	}
	return archive.Try(ctx, s.job, path, archive.Exploration)
}

// save writes this rank's part.
func (w *worker) save(ctx context.Context) error {
	s, err := archive.NewSaver(ctx, w.job, w.opts.Checkpoint, archive.Exploration)
	if err != nil {
		return err
	}
	err = w.visited.each(ctx, func(state []byte) error { return s.Add(ctx, sectionVisited, state) })
	if err == nil {
		err = w.eachWaiting(ctx, func(section uint32, task []uint64) error {
			state := make([]uint64, w.words)
			if err := w.visited.load(ctx, task, state); err != nil {
				return err
			}
			return s.Add(ctx, section, bytesOf(state))
		})
	}
	var description []byte
	if err == nil {
		description, err = w.describe(ctx)
	}
	return s.Finish(ctx, err, description)
}

// eachWaiting calls use for each state of this rank that waits to be expanded: what is
// left of the block at hand, the lists, and what is in the exchange.
func (w *worker) eachWaiting(ctx context.Context,
	use func(section uint32, task []uint64) error) error {
	run := func(section uint32, tasks []uint64) error {
		for task := range slices.Chunk(tasks, w.taskWords) {
			if err := use(section, task); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(sectionNow, w.todo[w.at*w.taskWords:]); err != nil {
		return err
	}
	for _, b := range w.now.blocks {
		if err := run(sectionNow, b); err != nil {
			return err
		}
	}
	for _, b := range w.next.blocks {
		if err := run(sectionNext, b); err != nil {
			return err
		}
	}
	return w.exchange.offered(ctx, func(tasks []uint64) error { return run(sectionNow, tasks) })
}

// describe sums up the counters of all ranks, which are paused.
func (w *worker) describe(ctx context.Context) ([]byte, error) {
	c := checkpoint{Kind: w.checkpointKind(), Model: w.opts.ModelID,
		StateWords: w.model.StateWords(), Order: w.opts.Order, Level: w.level,
		ElapsedMillis: time.Since(w.started).Milliseconds()}
	sums, _, err := w.control.counts(ctx, nobody)
	if err != nil {
		return nil, err
	}
	c.Created, c.Done = [2]uint64(sums[cellCreated:]), [2]uint64(sums[cellDone:])
	c.Arcs, c.Deadlocks = sums[cellArcs], sums[cellDeadlocks]
	if c.Level, err = w.control.Load(ctx, 0, cellLevel); err != nil {
		return nil, err
	}
	if c.Findings, err = w.control.merged(ctx, nobody); err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

// errCut ends the reading of a checkpoint on a rank that is interrupted.
var errCut = errors.New("explore: interrupted")

// resume continues where a checkpoint stopped, with any number of ranks. If one of them is
// interrupted while they read it, all return that. Collective.
func (w *worker) resume(interrupted, ctx context.Context) error {
	var c checkpoint
	path := w.opts.Resume
	count := func(section uint32, payload []byte) (int, error) {
		return archive.Fixed(8*w.recordWords(section))(section, payload)
	}
	l, err := archive.NewLoader(ctx, w.job, path, count, func(description []byte) error {
		return w.accept(path, &c, description)
	})
	if err != nil {
		return err
	}
	defer l.Close()
	for _, section := range []uint32{sectionVisited, sectionNow, sectionNext} {
		err := l.Each(ctx, section, func(payload []byte) error {
			if interrupted.Err() != nil {
				return errCut
			}
			return w.reinsert(ctx, section, payload)
		})
		if errors.Is(err, errCut) {
			err = nil // the ranks agree on it below
		}
		if full := (*set.FullError)(nil); errors.As(err, &full) {
			err = fmt.Errorf("explore: the checkpoint has %d states, too many as %ss for %d "+
				"bytes of memory", c.Created[0]+c.Created[1], w.encoding, w.budget.mem)
		}
		if err = rma.AllSucceeded(ctx, w.job, "resuming "+path, err); err != nil {
			return err
		}
		cut, err := w.cut(interrupted, ctx, nil)
		if err != nil {
			return err
		}
		if cut {
			return fmt.Errorf("explore: reading %s: %w", path, context.Canceled)
		}
	}
	if err = w.complete(ctx, &c); err == nil {
		err = w.restore(ctx, &c)
	}
	return rma.AllSucceeded(ctx, w.job, "resuming "+path, err)
}

// recordWords is how many words a record of a section has.
func (s *search) recordWords(section uint32) int {
	if section == sectionVisited && s.fingerprints() {
		return 1
	}
	return s.words
}

// reinsert puts records of a section into the set, and on a frontier if they wait.
func (w *worker) reinsert(ctx context.Context, section uint32, payload []byte) error {
	insert, expect, cell, to := w.visited.insert, set.Found, cellWaiting, &w.now
	switch section {
	case sectionVisited:
		expect, cell, to = set.Inserted, cellLoaded, nil
		if v, ok := w.visited.(*fingerprintSet); ok {
			insert = v.wordSet.insert
		}
	case sectionNext:
		cell, to = cellWaiting+1, &w.next
	}
	words := w.recordWords(section)
	n := len(payload) / (8 * words)
	states := make([]uint64, n*words)
	copy(bytesOf(states), payload)
	results, tasks := make([]set.Result, n), make([]uint64, n)
	if err := insert(states, results, tasks); err != nil {
		return err
	}
	if w.fingerprints() {
		tasks = states
	}
	for i, r := range results {
		if r != expect {
			return fmt.Errorf("explore: a state of the checkpoint is %v in the set, not %v",
				r, expect)
		}
		if to != nil {
			to.push(tasks[i*w.taskWords : (i+1)*w.taskWords])
		}
	}
	_, err := w.control.Add(ctx, w.job.Rank(), cell, uint64(n))
	return err
}

// complete refuses a checkpoint whose states do not agree with its counters: a search that
// continues with it would wait for ever for the missing ones.
func (w *worker) complete(ctx context.Context, c *checkpoint) error {
	loaded, err := w.control.Sum(ctx, cellLoaded)
	if err != nil {
		return err
	}
	if created := c.Created[0] + c.Created[1]; loaded != created {
		return fmt.Errorf("explore: %s is not complete: it has %d of %d states", w.opts.Resume,
			loaded, created)
	}
	for ahead := range uint64(2) { // the present level and the next one
		waiting, err := w.control.Sum(ctx, cellWaiting+int(ahead))
		if err != nil {
			return err
		}
		parity := (c.Level + ahead) % 2
		if want := c.Created[parity] - c.Done[parity]; waiting != want {
			return fmt.Errorf("explore: %s is not complete: it has %d of %d states that wait "+
				"for level %d", w.opts.Resume, waiting, want, c.Level+ahead)
		}
	}
	return nil
}

// restore takes over level and counters; the counters of all earlier ranks become rank 0's.
func (w *worker) restore(ctx context.Context, c *checkpoint) error {
	w.level, w.parity = c.Level, int(c.Level%2)
	if w.job.Rank() != 0 {
		return nil
	}
	w.created, w.done, w.arcs, w.dead = c.Created, c.Done, c.Arcs, c.Deadlocks
	w.started = w.started.Add(-time.Duration(c.ElapsedMillis) * time.Millisecond)
	for i, word := range c.Findings {
		if err := w.control.set(ctx, w.control.finding(i), word); err != nil {
			return err
		}
		w.published[i] = word
	}
	if err := w.control.Store(ctx, 0, cellLevel, c.Level); err != nil {
		return err
	}
	if err := w.control.set(ctx, cellDone+1-w.parity, w.done[1-w.parity]); err != nil {
		return err
	}
	return w.publish(ctx)
}
