package explore

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/internal/archive"
)

// oneWord is a model whose states have a word.
type oneWord struct{ Model }

func (oneWord) StateWords() int { return 1 }

// What is to be continued from after a loss is the checkpoint that the search has written, or else
// the one that it began with; no other file that is there instead.
func TestLatestCheckpoint(t *testing.T) {
	folder := t.TempDir()
	save := func(name, model string, states uint64) string {
		path := filepath.Join(folder, name)
		if model == "" {
			return path
		}
		description, err := json.Marshal(checkpoint{Kind: checkpointKind, Model: model,
			StateWords: 1, Created: [2]uint64{states - 1, 1}})
		w, createErr := archive.Create(path, archive.Exploration)
		if err = errors.Join(err, createErr); err == nil {
			err = errors.Join(w.Finish(0, 0, description), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	older, newer := save("older", "this", 10), save("newer", "this", 20)
	other, none := save("other", "that", 30), save("none", "", 0)
	for _, c := range []struct {
		checkpoint, resume, want string
		states                   uint64
	}{
		{newer, older, newer, 20}, {newer, "", newer, 20},
		{"", older, older, 10}, {none, older, older, 10},
		{other, older, older, 10}, {none, "", "", 0}, {"", "", "", 0},
	} {
		s := &search{model: oneWord{}, opts: Options{Checkpoint: c.checkpoint, Resume: c.resume,
			ModelID: "this"}}
		if got, states := s.latest(); got != c.want || states != c.states {
			t.Errorf("of %q and %q: %q with %d states, want %q with %d", c.checkpoint, c.resume,
				got, states, c.want, c.states)
		}
	}
}
