package explore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/internal/testkit/archivetest"
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
