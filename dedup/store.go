package dedup

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

const (
	printBytes  = 16      // of a fingerprint
	bucketBytes = 8       // of the set's table
	firstSize   = 1 << 16 // buckets

	// growLoad is the load factor at which the store grows, and fullLoad at which it is full if it
	// cannot grow; both in percent.
	growLoad, fullLoad = 80, 90
)

// store is a set of fingerprints. It is all that this package knows of package set.
type store struct {
	job         rma.Job
	set         *set.Elements
	memoryBytes uint64 // what the store may take
	taken       uint64 // fingerprints
	results     []set.Result
}

func newStore(memoryBytes uint64) (*store, error) {
	s := &store{job: local.Single(), memoryBytes: memoryBytes}
	buckets := uint64(firstSize)
	for buckets > 64 && sizeBytes(buckets) > memoryBytes {
		buckets /= 2
	}
	var err error
	s.set, err = set.NewElements(context.Background(), s.job, set.ElementsConfig{
		Config: set.Config{Buckets: buckets}, ElementBytes: printBytes})
	if err != nil {
		return nil, errors.Join(err, s.job.Close())
	}
	return s, nil
}

func (s *store) close() error { return errors.Join(s.set.Close(), s.job.Close()) }

// sizeBytes is what a table of so many buckets takes with its slots.
func sizeBytes(buckets uint64) uint64 {
	return buckets*bucketBytes + (buckets-buckets/16)*printBytes
}

func (s *store) buckets() uint64 { return s.set.Config().Buckets }

func (s *store) bytes() uint64 { return sizeBytes(s.buckets()) }

// enoughBytes is a limit with which the store would hold twice as many fingerprints: it includes
// the buckets of the table before its growth.
func (s *store) enoughBytes() uint64 {
	buckets := 2 * s.taken * 100 / growLoad
	return sizeBytes(buckets) + buckets*bucketBytes
}

// findOrPut inserts fingerprints, and stores the number of each in refs: equal ones have equal
// numbers, which are small and never change. It returns how many it has answered from the first
// on; the next one is new and has no room if these are not all. spareBytes of the limit are in use
// for something else.
func (s *store) findOrPut(prints []byte, refs []set.Ref, spareBytes uint64) (int, error) {
	n := uint64(len(prints) / printBytes)
	if uint64(cap(s.results)) < n {
		s.results = make([]set.Result, n)
	}
	if err := s.makeRoom(n, spareBytes); err != nil {
		return 0, err
	}
	room := s.buckets()*fullLoad/100 - min(s.taken, s.buckets()*fullLoad/100)
	done := uint64(0)
	for done < n {
		count := min(n-done, room)
		if count == 0 {
			known, err := s.known(prints[done*printBytes : n*printBytes])
			if err != nil || known == 0 {
				return int(done), err
			}
			count = known
		}
		results := s.results[:count]
		part := prints[done*printBytes : (done+count)*printBytes]
		if err := s.set.FindOrPutRefs(part, results, refs[done:done+count]); err != nil {
			return int(done), err
		}
		for _, r := range results {
			if r == set.Inserted {
				s.taken++
				room--
			}
		}
		done += count
	}
	return int(n), nil
}

// known is how many fingerprints from the first on are in the set.
func (s *store) known(prints []byte) (uint64, error) {
	results := s.results[:len(prints)/printBytes]
	if err := s.set.ContainsBatch(prints, results); err != nil {
		return 0, err
	}
	for i, r := range results {
		if r != set.Found {
			return uint64(i), nil
		}
	}
	return uint64(len(results)), nil
}

// makeRoom grows the table for n more fingerprints if memory allows it, and else leaves it.
func (s *store) makeRoom(n, spareBytes uint64) error {
	old := s.buckets()
	if (s.taken+n)*100 <= old*growLoad {
		return nil
	}
	need := (s.taken + n) * 100 / growLoad
	for _, buckets := range []uint64{max(2*old, need), max(old+old/2, need), old + old/4} {
		if sizeBytes(buckets)+old*bucketBytes+spareBytes <= s.memoryBytes {
			return s.set.Grow(context.Background(), buckets, 0)
		}
	}
	return nil
}

// save writes the fingerprints to a file.
func (s *store) save(ctx context.Context, path string) error { return s.set.Save(ctx, path) }

// load inserts the fingerprints of a file, and calls add with their numbers.
func (s *store) load(ctx context.Context, path string, add func([]set.Ref)) error {
	if err := s.set.Load(ctx, path); err != nil {
		return err
	}
	n, err := s.set.Len(ctx)
	if err != nil {
		return err
	}
	s.taken = n
	const batch = 4096
	prints, refs := make([]byte, 0, batch*printBytes), make([]set.Ref, batch)
	results := make([]set.Result, batch)
	flush := func() error {
		n := len(prints) / printBytes
		err := s.set.FindOrPutRefs(prints, results[:n], refs[:n])
		add(refs[:n])
		prints = prints[:0]
		return err
	}
	for print, err := range s.set.All(ctx) {
		if err != nil {
			return err
		}
		if prints = append(prints, print...); len(prints) == cap(prints) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
