//go:build mpi && cgo

package mpi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi/internal/guest"
)

func init() { roles["singles"] = singles }

// Callers in C move the words that they name, and address the segments that Go does.
func TestSingles(t *testing.T) {
	for _, how := range []string{"hosts", "hidden", "pairs", "hosts by messages"} {
		out, err := find(t, ask().kind).play(t, 3, "singles:"+how)
		expect(t, out, err, true, 3, "all singles are right")
	}
}

func singles(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		s, ok := SinglesOf(w)
		if ok == strings.Contains(argument, "messages") {
			return fmt.Errorf("single operations: %v", ok)
		}
		if _, others := SinglesOf(struct{ rma.Window }{w}); others {
			return fmt.Errorf("a window of something else has single operations")
		}
		if ok {
			if err := movesAll(ctx, job, w, s); err != nil {
				return err
			}
		}
		fmt.Println("all singles are right")
		return job.Barrier(ctx)
	})
}

// movesAll has every rank put words at every rank, and then get what the others have put.
func movesAll(ctx context.Context, job rma.Job, w rma.Window, s Singles) error {
	const n = orderedWords
	words := make([]uint64, n)
	for rank, segment := range unsafe.Slice((*unsafe.Pointer)(s.Direct), job.Size()) {
		if segment != unsafe.Pointer(unsafe.SliceData(w.Words(rank))) {
			return fmt.Errorf("the segment of rank %d is at %v", rank, segment)
		}
		for i := range words {
			words[i] = rmatest.Mixed(job.Rank(), rank, i, 0)
		}
		if err := guest.Move(s.Put, s.Window, rank, (1+job.Rank())*n, words); err != nil {
			return err
		}
	}
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	for at := range job.Size() * job.Size() {
		from, rank := at/job.Size(), at%job.Size()
		clear(words)
		if err := guest.Move(s.Get, s.Window, rank, (1+from)*n, words); err != nil {
			return err
		}
		for i, word := range words {
			if word != rmatest.Mixed(from, rank, i, 0) {
				return fmt.Errorf("word %d of rank %d at rank %d is %x", i, from, rank, word)
			}
		}
	}
	return nil
}
