package explore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/testkit/archivetest"
	"github.com/farhash/farhash/statespace/explore"
)

// A checkpoint of the blocks of two, or with a block too many, too few or twice, is not gone on
// with. Both are of the same search, at different times.
func TestSplicedCheckpoints(t *testing.T) {
	const bits = 12
	dir := t.TempDir()
	save := func(level int) string { // has a checkpoint written until a state of the level comes
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		m := doubling(bits)
		next := m.next
		m.next = func(s uint64, out []uint64) []uint64 {
			if s>>level > 0 {
				cancel()
			}
			return next(s, out)
		}
		path := filepath.Join(dir, fmt.Sprint(level))
		_, err := searchWith(ctx, 2, m, explore.Options{ModelID: "doubling", Checkpoint: path,
			CheckpointEvery: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := wantDoubling(bits, explore.BreadthFirst)
	archivetest.Refused(t, save(5), save(8), func(path string) (string, error) {
		r, err := searchWith(context.Background(), 2, doubling(bits),
			explore.Options{ModelID: "doubling", Resume: path})
		if err == nil && (!r.Complete || countsOf(r) != want) {
			t.Errorf("%s: %+v, want %+v", path, r, want)
		}
		return "", err // what is loaded shows in the figures alone
	})
}

// A checkpoint that lacks states which wait to be expanded is refused: the search would wait for
// them for ever.
func TestCheckpointWithoutWaitingStates(t *testing.T) {
	const bits, recordBytes = 12, 8
	dir := t.TempDir()
	whole, part := filepath.Join(dir, "whole"), filepath.Join(dir, "part")
	opts := explore.Options{Order: explore.BreadthFirst, ModelID: "doubling", Checkpoint: whole,
		CheckpointEvery: time.Nanosecond}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := doubling(bits)
	next := m.next
	m.next = func(s uint64, out []uint64) []uint64 {
		if s>>(bits-2) > 0 { // most states wait
			cancel()
		}
		return next(s, out)
	}
	if _, err := searchWith(ctx, 1, m, opts); err != nil {
		t.Fatal(err)
	}
	r, err := archive.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := archive.Create(part, archive.Exploration)
	if err != nil {
		t.Fatal(err)
	}
	records, buf := r.Records, make([]byte, archive.PayloadBytes)
	for n := range r.Blocks {
		section, payload, err := r.ReadBlock(n, buf)
		if err != nil {
			t.Fatal(err)
		}
		if section != 0 { // the states that wait
			records -= uint64(len(payload)) / recordBytes
			payload = nil
		}
		if err := w.WriteBlock(n, section, payload); err != nil {
			t.Fatal(err)
		}
	}
	if records == r.Records {
		t.Fatal("no states wait in the checkpoint")
	}
	if err := errors.Join(w.Finish(r.Blocks, records, r.Description), w.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	_, err = searchWith(ctx, 2, doubling(bits), explore.Options{Order: opts.Order,
		ModelID: opts.ModelID, Resume: part, Progress: func(s explore.Snapshot) {
			if s.States > 0 { // the search goes on, and would not end
				cancel()
			}
		}}.WithProgressEvery(time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "part is not complete: it has 0 of ") {
		t.Errorf("error %v", err)
	}
}
