package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/farhash/farhash/rma"
)

// GatherWords gives every rank the words of each, as many of all. Collective.
func GatherWords(ctx context.Context, job rma.Job, mine []uint64) ([][]uint64, error) {
	n := len(mine)
	w, err := job.NewWindow(ctx, rma.Spec{Name: "eval: results", Words: n})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	q, err := job.NewQueue(1)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	buf, err := q.Alloc(n)
	if err != nil {
		return nil, err
	}
	copy(buf, mine)
	if err := One(ctx, q, q.Put(buf, w, job.Rank(), 0)); err != nil {
		return nil, err
	}
	if err := job.Barrier(ctx); err != nil {
		return nil, err
	}
	all := make([][]uint64, job.Size())
	for rank := range all {
		if err := One(ctx, q, q.Get(buf, w, rank, 0)); err != nil {
			return nil, err
		}
		all[rank] = slices.Clone(buf)
	}
	return all, job.Barrier(ctx) // nobody closes the window while others read
}

// One waits for an operation.
func One(ctx context.Context, q rma.Queue, h rma.Handle) error {
	if err := errors.Join(q.Submit(), q.Wait(ctx, h)); err != nil {
		return err
	}
	_, err := q.Value(h)
	return err
}

// Gather gives every rank the value of each. Collective.
func Gather(ctx context.Context, job rma.Job, value uint64) ([]uint64, error) {
	all, err := GatherWords(ctx, job, []uint64{value})
	return slices.Concat(all...), err
}

// GatherTexts gives every rank the text of each. Collective.
func GatherTexts(ctx context.Context, job rma.Job, text []byte) ([][]byte, error) {
	sizes, err := Gather(ctx, job, uint64(len(text)))
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, len(sizes))
	words := int(slices.Max(sizes)+7) / 8
	if words == 0 {
		return texts, nil
	}
	padded := append(slices.Clone(text), make([]byte, words*8-len(text))...)
	mine := make([]uint64, words)
	for i := range mine {
		mine[i] = binary.LittleEndian.Uint64(padded[i*8:])
	}
	all, err := GatherWords(ctx, job, mine)
	if err != nil {
		return nil, err
	}
	for rank, size := range sizes {
		for _, word := range all[rank] {
			texts[rank] = binary.LittleEndian.AppendUint64(texts[rank], word)
		}
		texts[rank] = texts[rank][:size]
	}
	return texts, nil
}

// MergeHistograms gives every rank the sum of the histograms of all. Collective.
func MergeHistograms(ctx context.Context, job rma.Job,
	h *hdrhistogram.Histogram) (*hdrhistogram.Histogram, error) {
	snapshot := h.Export()
	counts := make([]uint64, len(snapshot.Counts))
	for i, count := range snapshot.Counts {
		counts[i] = uint64(count)
	}
	ranks, err := GatherWords(ctx, job, counts)
	if err != nil {
		return nil, err
	}
	all := NewHistogram()
	for _, counts := range ranks {
		for i, count := range counts {
			snapshot.Counts[i] = int64(count)
		}
		all.Merge(hdrhistogram.Import(snapshot))
	}
	return all, nil
}
