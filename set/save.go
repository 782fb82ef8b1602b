package set

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
)

// contents describes a file that a set was saved to.
type contents struct {
	Kind         string `json:"kind"`         // kindWords or kindElements
	ElementBytes int    `json:"elementBytes"` // of a record
}

const (
	kindWords    = "farhash set of words"
	kindElements = "farhash set of elements"

	// loadLoad is the load factor that a set is grown for when a file is loaded.
	fileLoadFactor = 0.8
)

// Save writes the set to a file, in a form that is loaded with any number of ranks
// and buckets. The ranks write it together: path must mean the same file on each.
// It replaces an existing file only when it is complete; a symbolic link stays, and the
// file that it leads to is replaced. Collective; nothing may insert meanwhile on any rank.
func (s *Set) Save(ctx context.Context, path string) error {
	record := make([]byte, 8)
	is := contents{Kind: kindWords, ElementBytes: 8}
	return save(ctx, s.job, path, is, func(add func([]byte) error) error {
		for word, err := range s.Local(ctx) {
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(record, word)
			if err := add(record); err != nil {
				return err
			}
		}
		return nil
	})
}

// Save writes the set to a file; see Set.Save.
func (e *Elements) Save(ctx context.Context, path string) error {
	is := contents{Kind: kindElements, ElementBytes: e.cfg.ElementBytes}
	return save(ctx, e.job, path, is, func(add func([]byte) error) error {
		for element, err := range e.Local(ctx) {
			if err != nil {
				return err
			}
			if err := add(element); err != nil {
				return err
			}
		}
		return nil
	})
}

// Load inserts the contents of a file that Save has written. It grows the set when it
// would be more than 0.8 full. A truncated, foreign or corrupt file is refused on
// every rank, and the set is unchanged. Collective; no other call may run on any
// rank meanwhile.
func (s *Set) Load(ctx context.Context, path string) error {
	want := contents{Kind: kindWords, ElementBytes: 8}
	return load(ctx, s.job, path, want, s.Len, func(records uint64) error {
		return makeRoom(ctx, s.job, records, s.Len, s.Buckets(), s.Grow)
	}, func(payload []byte) error {
		words := make([]uint64, len(payload)/8)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(payload[i*8:])
		}
		return s.FindOrPutBatch(words, make([]Result, len(words)))
	})
}

// Load inserts the contents of a file that Save has written; see Set.Load.
func (e *Elements) Load(ctx context.Context, path string) error {
	want := contents{Kind: kindElements, ElementBytes: e.cfg.ElementBytes}
	return load(ctx, e.job, path, want, e.Len, func(records uint64) error {
		room := min(e.Buckets(), e.Capacity())
		grow := func(ctx context.Context, buckets uint64) error {
			return e.Grow(ctx, max(buckets, e.Buckets()), 0)
		}
		return makeRoom(ctx, e.job, records, e.Len, room, grow)
	}, func(payload []byte) error {
		return e.FindOrPutBatch(payload, make([]Result, len(payload)/e.cfg.ElementBytes))
	})
}

// makeRoom grows a set that would be too full with so many records more. All ranks
// decide by the same number: none inserts before every one has counted. Collective.
func makeRoom(ctx context.Context, job rma.Job, records uint64,
	length func(context.Context) (uint64, error), room uint64,
	grow func(ctx context.Context, buckets uint64) error) error {
	n, err := length(ctx)
	err = rma.AllSucceeded(ctx, job, "set: counting what is there", err)
	if err != nil || float64(n+records) <= fileLoadFactor*float64(room) {
		return err
	}
	return grow(ctx, uint64(float64(n+records)/fileLoadFactor)+1)
}

// save writes a set to a file. records passes each record of this rank to add.
func save(ctx context.Context, job rma.Job, path string, is contents,
	records func(add func([]byte) error) error) error {
	description, err := json.Marshal(is)
	if err != nil {
		return err
	}
	s, err := archive.NewSaver(ctx, job, path)
	if err != nil {
		return err
	}
	err = records(func(record []byte) error { return s.Add(ctx, 0, record) })
	return s.Finish(ctx, err, description)
}

// load verifies a file, makes room, and inserts its contents.
func load(ctx context.Context, job rma.Job, path string, want contents,
	length func(context.Context) (uint64, error), makeRoom func(records uint64) error,
	insert func(payload []byte) error) error {
	records := archive.Fixed(want.ElementBytes)
	l, err := archive.NewLoader(ctx, job, path, records, func(description []byte) error {
		return accept(path, description, want)
	})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := makeRoom(l.Records); err != nil {
		return err
	}
	err = l.Each(ctx, 0, insert)
	if err = rma.AllSucceeded(ctx, job, "set: loading "+path, err); err != nil {
		return err
	}
	n, err := length(ctx)
	if err == nil && n < l.Records {
		err = fmt.Errorf("set: %s is corrupt: it has %d elements, some more than once; %d are in "+
			"the set now", path, l.Records, n)
	}
	return rma.AllSucceeded(ctx, job, "set: loading "+path, err)
}

// accept refuses the description of something else.
func accept(path string, description []byte, want contents) error {
	var is contents
	if err := json.Unmarshal(description, &is); err != nil || is.Kind != want.Kind {
		return fmt.Errorf("set: %s is no %s (it is described as %.100q)",
			path, want.Kind, description)
	}
	if is.ElementBytes != want.ElementBytes {
		return fmt.Errorf("set: %s has elements of %d bytes, this set of %d", path,
			is.ElementBytes, want.ElementBytes)
	}
	return nil
}
