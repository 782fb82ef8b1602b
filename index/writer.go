package index

import (
	"context"

	"github.com/farhash/farhash/rma"
)

// writer writes into this rank's own segment, from a word on, without gaps: directly where the
// segment is addressable, and else through a queue.
type writer struct {
	rank  int
	words []uint64 // the segment; nil where it is not addressable
	l     *transfer
	buf   []uint64
	bytes []byte // of buf
	used  int    // bytes of it
	at    int    // word of the segment at which buf begins
	err   error
}

// writerWords is the length of the buffer: more than a unit or a record has.
const writerWords = 1 << 12

func newWriter(job rma.Job, w rma.Window, at int) (*writer, error) {
	l, err := newTransfer(job, w, writerWords)
	if err != nil {
		return nil, err
	}
	return &writer{rank: job.Rank(), words: w.Words(job.Rank()), l: l, buf: l.buf,
		bytes: bytesOf(l.buf), at: at}, nil
}

// next is the place of the next n bytes, for the caller to fill.
func (w *writer) next(ctx context.Context, n int) []byte {
	if w.used+n > len(w.bytes) {
		w.flush(ctx)
	}
	from := w.used
	w.used += n
	return w.bytes[from:w.used]
}

// place is how many bytes have been written.
func (w *writer) place(begin int) int { return (w.at-begin)*8 + w.used }

// flush writes all whole words, and keeps the rest.
func (w *writer) flush(ctx context.Context) {
	n := w.used / 8
	if n > 0 && w.err == nil {
		if w.words != nil {
			copy(w.words[w.at:], w.buf[:n])
		} else {
			w.err = w.l.put(ctx, w.rank, w.at, n)
		}
		if w.err == nil {
			w.err = ctx.Err()
		}
	}
	copy(w.bytes, w.bytes[n*8:w.used])
	w.at, w.used = w.at+n, w.used-n*8
}

// close writes what is left, with zeros to the end of its word.
func (w *writer) close(ctx context.Context) error {
	if rest := w.used % 8; rest > 0 {
		clear(w.next(ctx, 8-rest))
	}
	w.flush(ctx)
	if err := w.l.close(); w.err == nil {
		w.err = err
	}
	return w.err
}
