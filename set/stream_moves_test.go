package set

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/variant"
)

// The operations of a stream that move a whole set: they make a table anew, from the
// present one or from a file.

// collect removes the elements whose number modulo 6 is less than first. In another order the rest
// may find no bucket in reach; nothing changes then.
func (st *stream) collect(first int) error {
	keep := func(id int) bool { return id%6 >= first }
	kept := maps.Clone(st.stored)
	maps.DeleteFunc(kept, func(id int, _ bool) bool { return !keep(id) })
	err := onAll(len(st.ranks), func(rank int) error { return st.ranks[rank].collect(keep) })
	if err != nil && strings.Contains(err.Error(), "too few for what the set holds") &&
		uint64(len(kept)) > st.reach() {
		return st.verify()
	}
	if err != nil {
		return err
	}
	st.stored = kept
	maps.DeleteFunc(st.refs, func(id int, _ Ref) bool { return !kept[id] })
	return st.reread()
}

// save writes the set to the stream's file.
func (st *stream) save() error {
	if st.dir == "" {
		folder, err := lab.Folder()
		if err == nil {
			st.dir, err = os.MkdirTemp(folder, "stream")
		}
		if err != nil {
			return err
		}
	}
	st.saved = maps.Clone(st.stored)
	return onAll(len(st.ranks), func(rank int) error { return st.ranks[rank].save(st.file()) })
}

func (st *stream) file() string { return filepath.Join(st.dir, "set") }

// load inserts what was saved last, which is the present set when nothing was.
func (st *stream) load() error {
	if st.saved == nil {
		if err := st.save(); err != nil {
			return err
		}
	}
	all := maps.Clone(st.stored)
	maps.Copy(all, st.saved)
	if st.alike && uint64(len(all)) > min(st.reach(), uint64(len(st.shadow))) {
		return nil // which of them find room is a matter of their order
	}
	err := onAll(len(st.ranks), func(rank int) error { return st.ranks[rank].load(st.file()) })
	if err != nil {
		return st.partlyLoaded(err)
	}
	maps.Copy(st.stored, st.saved)
	return st.reread()
}

// partlyLoaded: some elements of the file find no bucket in their reach. What was in the set is
// still there.
func (st *stream) partlyLoaded(err error) error {
	var full *FullError
	if !errors.As(err, &full) {
		return err
	}
	all := maps.Clone(st.stored)
	maps.Copy(all, st.saved)
	if uint64(len(all)) <= min(st.reach(), full.Buckets) || full.NoArena {
		return fmt.Errorf("of %d elements: %w", len(all), err)
	}
	layout, err := st.read()
	if err != nil {
		return err
	}
	stored := map[int]bool{}
	for _, id := range layout {
		if id != none && !all[id] {
			return fmt.Errorf("element %d was neither in the set nor in the file", id)
		}
		stored[id] = id != none
	}
	delete(stored, none)
	for id := range st.stored {
		if !stored[id] {
			return fmt.Errorf("loading has lost element %d", id)
		}
	}
	st.stored = stored
	return st.reread()
}

// reopen gives the set up for a new one that is loaded with what was saved last.
func (st *stream) reopen(buckets uint64, home variant.Set) error {
	if st.saved == nil {
		if err := st.save(); err != nil {
			return err
		}
	}
	st.cfg.Buckets, st.cfg.variant.WordHomes = buckets, home.WordHomes
	old := st.ranks
	if err := st.open(); err != nil {
		return err
	}
	if err := onAll(len(old), func(rank int) error { return old[rank].close() }); err != nil {
		return err
	}
	return st.load()
}
