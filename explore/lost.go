package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Saved is a whole checkpoint on disk.
type Saved struct {
	Path   string // empty: there is none
	States uint64 // that had been found
}

// missing reports whether err says that a rank is lost. It remembers the ranks that are lost at
// the first such error: ranks that are missing later may have ended because of that loss.
func (s *search) missing(err error) bool {
	var gone *rma.RankError
	if !errors.As(err, &gone) {
		return false
	}
	if s.loss == nil {
		s.loss, s.lost = err, s.job.Failed()
		if !gone.Left {
			s.lost = append(s.lost, gone.Rank)
		}
		slices.Sort(s.lost)
		s.lost = slices.Compact(s.lost)
	}
	return true
}

// explainLost describes the loss, and the checkpoint to resume from.
func (s *search) explainLost(r *Result, reporter int) {
	s.awaitLoss()
	r.Reason, r.Lost, r.Saved = RankLost, s.lost, s.latest()
	if len(s.lost) == 0 { // this rank reaches all others
		r.Detail = fmt.Sprintf("rank %d does not reach another one any more", reporter)
		return
	}
	r.Detail = ranksWere(s.lost, s.hosts) + " lost, with the states yet to be expanded there"
}

// maxLossPauses is how often a rank pauses, a millisecond at most, until it knows who is lost.
const maxLossPauses = 1000

// awaitLoss waits until this rank, too, knows who is lost: the command to stop may arrive
// before the engine reports the loss here.
func (s *search) awaitLoss() {
	pace := backoff.Backoff{Job: s.job}
	for pauses := 0; len(s.lost) == 0 && pauses < maxLossPauses; {
		if pace.Pause() {
			pauses++
		}
		s.lost = slices.Sorted(slices.Values(s.job.Failed()))
	}
}

// ranksWere is the beginning of a sentence on ranks: "ranks 1 and 3 were", or, where ranks are on
// several hosts, "rank 1 on alpha was".
func ranksWere(ranks []int, hosts []string) string {
	var text strings.Builder
	for i, rank := range ranks {
		switch {
		case i > 0 && i == len(ranks)-1:
			text.WriteString(" and ")
		case i > 0:
			text.WriteString(", ")
		}
		fmt.Fprint(&text, rank)
		last := i == len(ranks)-1
		if hosts != nil && (last || hosts[ranks[i+1]] != hosts[rank]) {
			text.WriteString(" on " + hosts[rank])
		}
	}
	if len(ranks) == 1 {
		return "rank " + text.String() + " was"
	}
	return "ranks " + text.String() + " were"
}

// latest is the checkpoint to resume from when memory is lost: the one that this search writes,
// or else the one that it began with. The file itself is read, as ranks may have been lost while it
// was replaced.
func (s *search) latest() Saved {
	for _, path := range []string{s.opts.Checkpoint, s.opts.Resume} {
		var c checkpoint
		if path != "" && s.readCheckpoint(path, &c) == nil {
			return Saved{path, c.Created[0] + c.Created[1]}
		}
	}
	return Saved{}
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
