package set

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// TestCollectRefs: what is kept by its reference keeps it, the rest is gone, and its memory is used
// again.
func TestCollectRefs(t *testing.T) {
	const each = 500
	for _, e := range lab.Engines() {
		for _, ranks := range []int{1, 3} {
			must(t, e.Run(ranks, func(job rma.Job) error {
				s, err := NewBytes(t.Context(), job, BytesConfig{ElementBytes: 16,
					Config: Config{Buckets: 4 * each}})
				if err != nil {
					return err
				}
				for round := range uint64(6) { // in all more than the set has room for
					err := errors.Join(collectRound(t.Context(), job, s, round, each),
						job.Barrier(t.Context()))
					if err != nil {
						return fmt.Errorf("%s, %d ranks, round %d: %w", e.Name, ranks, round, err)
					}
				}
				return errors.Join(s.CheckAll(t.Context()), s.Close())
			}))
		}
	}
}

// collectRound inserts elements by each rank, and removes those of odd place.
func collectRound(ctx context.Context, job rma.Job, s *Bytes, round, each uint64) error {
	elements := make([]byte, 0, 16*each)
	for i := range each {
		elements = binary.LittleEndian.AppendUint64(elements, i)
		elements = binary.LittleEndian.AppendUint64(elements, round<<8|uint64(job.Rank()))
	}
	results, refs := make([]Result, each), make([]Ref, each)
	if err := s.FindOrPutPacked(elements, results, refs); err != nil {
		return err
	}
	keeps := func(ref Ref) bool {
		_, number := s.Place(ref)
		return number%2 == 0
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	if err := s.CollectRefs(ctx, keeps); err != nil {
		return err
	}
	for i, ref := range refs {
		element := elements[16*i:][:16]
		now, there, err := s.Find(element)
		if err != nil || there != keeps(ref) || there && now != ref {
			return fmt.Errorf("element %d is %v at %d, was at %d (%v)", i, there, now, ref, err)
		}
		if rank, _ := s.Place(ref); rank != job.Rank() && round == 0 {
			return fmt.Errorf("element %d is in the memory of rank %d", i, rank)
		}
		if got, err := s.Append(nil, ref); there && (err != nil || !bytes.Equal(got, element)) {
			return fmt.Errorf("element %d is %x (%v)", i, got, err)
		}
	}
	if err := job.Barrier(ctx); err != nil { // the rest of the round goes as well
		return err
	}
	return s.CollectRefs(ctx, func(Ref) bool { return false })
}

// TestCollectRefsOfStrings: strings have no numbers.
func TestCollectRefsOfStrings(t *testing.T) {
	s, err := NewBytes(t.Context(), local.Single(), BytesConfig{Config: Config{Buckets: 64}})
	must(t, err)
	if err := s.CollectRefs(t.Context(), func(Ref) bool { return true }); err == nil {
		t.Error("strings are collected by reference")
	}
	must(t, s.Close())
}
