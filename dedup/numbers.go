package dedup

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

const (
	printBytes = 16 // of a fingerprint

	// slotBytes is what the slots of elements take for each bucket, and bytesPerElementBucket is
	// bytesPerBucket for a set of elements.
	slotBytes             = printBytes - printBytes/16
	bytesPerElementBucket = bytesPerBucket + slotBytes

	// growLoad is the load factor at which a table begins to move to the next one, in percent.
	growLoad = 80
)

// numbers gives each fingerprint of 126 bits a number.
type numbers struct {
	job         rma.Job
	set         *set.Elements
	memoryBytes uint64 // what the set may take together with the records
	growth      growth
	taken       uint64 // fingerprints
	results     []set.Result
}

func newNumbers(memoryBytes uint64) (*numbers, error) {
	s := &numbers{job: local.Single(), memoryBytes: memoryBytes,
		growth: planGrowth(memoryBytes, bytesPerElementBucket)}
	var err error
	s.set, err = set.NewElements(context.Background(), s.job, set.ElementsConfig{
		Config: set.Config{Buckets: s.growth.first,
			MaxBytes: s.growth.last * bytesPerElementBucket}, ElementBytes: printBytes})
	if err != nil {
		return nil, errors.Join(err, s.job.Close())
	}
	return s, nil
}

func (s *numbers) close() error { return errors.Join(s.set.Close(), s.job.Close()) }

func (s *numbers) buckets() uint64 { return s.set.Config().Buckets }

// bytes is what the table and the slots that are in use take.
func (s *numbers) bytes() uint64 { return s.buckets()*bucketBytes + s.taken*printBytes }

// enoughBytes is a limit with which the set would hold twice as many fingerprints.
func (s *numbers) enoughBytes() uint64 { return enoughBytes(2*s.taken, bytesPerElementBucket) }

// room is how many fingerprints fit beside records that take so many bytes. The table must not
// begin to move to one that memory has no room for.
func (s *numbers) room(recordBytes uint64) uint64 {
	buckets := s.buckets()
	capacity := buckets * growLoad / 100
	switch {
	case buckets == s.growth.last:
		capacity = s.growth.capacity()
	case s.bytes()+2*buckets*bucketBytes+recordBytes <= s.memoryBytes:
		capacity = 2 * buckets * growLoad / 100
	}
	return capacity - min(s.taken, capacity)
}

// findOrPut inserts fingerprints, and stores the number of each in refs: equal ones have equal
// numbers, which are small and never change. It returns how many it has answered from the first
// on; the next one is new and has no room if these are not all. The records take recordBytes.
func (s *numbers) findOrPut(prints []byte, refs []set.Ref, recordBytes uint64) (int, error) {
	n := uint64(len(prints) / printBytes)
	if uint64(cap(s.results)) < n {
		s.results = make([]set.Result, n)
	}
	room := s.room(recordBytes)
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
func (s *numbers) known(prints []byte) (uint64, error) {
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
