package spread

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// exchange has each rank send words to each rank, all at the same time.
//
// A rank writes what it sends into its own segment, and after a barrier the others read it there.
// The two halves of a segment take turns. A rank writes a half again after the barrier of the other
// half, which a rank reaches when it has read the first one.
//
//	half: | words of the part for each rank | words left | notes | a part for each rank |
type exchange struct {
	job     rma.Job
	window  rma.Window
	regions core.Regions
	reader  *core.Reader
	q       rma.Queue // nil: the own segment is addressable
	buf     rma.Buf
	half    int // which one is next
	words   int // of a half
	part    int // words of a part
	header  []uint64

	rounds uint64
	sent   uint64 // words
}

const (
	// exchangeWords is how many words a half has; more are sent in several rounds.
	exchangeWords = 1 << 18
	leastPart     = 1 << 8
)

// notes are numbers that each rank has in an exchange, and that all add up.
type notes [2]uint64

// newExchange opens an exchange. Collective.
func newExchange(ctx context.Context, job rma.Job) (x *exchange, err error) {
	n := job.Size()
	x = &exchange{job: job}
	x.header = make([]uint64, n+1+len(notes{}))
	x.part = max(leastPart, (exchangeWords-len(x.header))/n)
	x.words = len(x.header) + n*x.part
	if n == 1 {
		return x, nil
	}
	x.window, err = job.NewWindow(ctx, rma.Spec{Name: "spread: exchange", Words: 2 * x.words})
	if err != nil {
		return nil, fmt.Errorf("spread: %w", err)
	}
	x.regions = core.NewRegions(x.window)
	x.reader, err = core.NewReader(job, x.window, &x.regions, max(x.part, len(x.header)))
	if err == nil && x.regions.Here(job.Rank()) == nil {
		if x.q, err = job.NewQueue(1); err == nil {
			x.buf, err = x.q.Alloc(max(x.part, len(x.header)))
		}
	}
	if err = rma.AllSucceeded(ctx, job, "spread: exchange", err); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *exchange) close() (err error) {
	if x.window == nil {
		return nil
	}
	err = x.reader.Close()
	if x.q != nil {
		err = errors.Join(err, x.q.Close())
	}
	return errors.Join(err, x.window.Close())
}

// put writes words to the own segment.
func (x *exchange) put(ctx context.Context, off int, words []uint64) error {
	if segment := x.regions.Here(x.job.Rank()); segment != nil {
		memory.StoreWords(segment[off:off+len(words)], words)
		return nil
	}
	buf := x.buf[:copy(x.buf, words)]
	return core.Await(ctx, x.q, x.q.Put(buf, x.window, x.job.Rank(), off))
}

// run sends out[rank] to each rank, and leaves in in[rank] what that has sent to this one. sum is
// what the notes of all ranks add up to. The context is not of one rank: no rank may leave a round
// alone. Collective.
func (x *exchange) run(out, in [][]uint64, mine notes) (sum notes, err error) {
	ctx, me := context.Background(), x.job.Rank()
	in[me] = append(in[me][:0], out[me]...)
	if x.job.Size() == 1 {
		return mine, nil
	}
	for rank := range in {
		if rank != me {
			in[rank] = in[rank][:0]
		}
	}
	for done, more := 0, true; more; done += x.part {
		base := x.half * x.words
		x.half = 1 - x.half
		if more, err = x.write(ctx, base, out, done, mine); err != nil {
			return sum, err
		}
		x.rounds++
		if err := x.job.Barrier(ctx); err != nil {
			return sum, fmt.Errorf("spread: %w", err)
		}
		sum = mine
		for i := 1; i < len(in); i++ {
			rank := (me + i) % len(in)
			left, err := x.read(ctx, base, rank, in, &sum)
			if err != nil {
				return sum, fmt.Errorf("spread: %w", err)
			}
			more = more || left
		}
	}
	return sum, nil
}

// write writes the parts that begin at done, and reports whether there are more.
func (x *exchange) write(ctx context.Context, base int, out [][]uint64, done int, mine notes) (
	more bool, err error) {
	n := len(out)
	clear(x.header)
	for rank, words := range out {
		if rank == x.job.Rank() || done >= len(words) {
			continue
		}
		part := words[done:min(len(words), done+x.part)]
		err := x.put(ctx, base+len(x.header)+rank*x.part, part)
		if err != nil {
			return false, fmt.Errorf("spread: %w", err)
		}
		x.header[rank] = uint64(len(part))
		x.header[n] += uint64(len(words) - done - len(part))
		x.sent += uint64(len(part))
	}
	copy(x.header[n+1:], mine[:])
	return x.header[n] > 0, x.put(ctx, base, x.header)
}

// read appends the part of a rank for this one to in[rank], adds its notes to sum, and reports
// whether the rank has more for any.
func (x *exchange) read(ctx context.Context, base, rank int, in [][]uint64, sum *notes) (
	more bool, err error) {
	n, me := len(in), x.job.Rank()
	header, err := x.reader.Read(ctx, rank, base, len(x.header))
	if err != nil {
		return false, err
	}
	for i := range sum {
		sum[i] += header[n+1+i]
	}
	words, more := int(header[me]), header[n] > 0
	if words == 0 {
		return more, nil
	}
	part, err := x.reader.Read(ctx, rank, base+len(x.header)+me*x.part, words)
	in[rank] = append(in[rank], part...)
	return more, err
}
