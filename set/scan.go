package set

import (
	"context"
	"iter"

	"github.com/farhash/farhash/rma"
)

// scanWords is how many buckets a scan reads at a time.
const scanWords = 1024

// reader reads runs of buckets, directly where they are addressable, else through a queue.
type reader struct {
	t   *table
	q   rma.Queue
	buf rma.Buf
}

func newReader(t *table) (*reader, error) {
	r := &reader{t: t, buf: make(rma.Buf, scanWords)}
	if t.flat != nil {
		return r, nil
	}
	err := t.sessions.Open()
	if err != nil {
		return nil, err
	}
	if r.q, err = t.job.NewQueue(1); err != nil {
		return nil, err
	}
	if r.buf, err = r.q.Alloc(scanWords); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// read returns n buckets, at most scanWords, of one rank. They are the reader's
// until its next read.
func (r *reader) read(ctx context.Context, rank, off, n int) ([]uint64, error) {
	buf := r.buf[:n]
	at := uint64(rank)*r.t.perRank + uint64(off)
	if v := r.t.spanOf(at); v != nil {
		for i := range buf {
			buf[i] = v.load(at - v.first + uint64(i))
		}
		return buf, ctx.Err()
	}
	h := r.q.Get(buf, r.t.window, rank, off)
	if err := r.q.Submit(); err != nil {
		return nil, err
	}
	if err := r.q.Wait(ctx, h); err != nil {
		return nil, err
	}
	_, err := r.q.Value(h)
	return buf, err
}

func (r *reader) close() {
	if r.q != nil {
		_ = r.q.Close()
	}
}

// local iterates over the occupied buckets of this rank.
func (t *table) local(ctx context.Context) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		r, err := newReader(t)
		if err != nil {
			yield(0, err)
			return
		}
		defer r.close()
		for off := 0; off < int(t.perRank); off += scanWords {
			run, err := r.read(ctx, t.window.Rank(), off, min(scanWords, int(t.perRank)-off))
			if err != nil {
				yield(0, err)
				return
			}
			for _, bucket := range run {
				if bucket != 0 && !yield(bucket, nil) {
					return
				}
			}
		}
	}
}
