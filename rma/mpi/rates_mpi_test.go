//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

// rates has rank 0 measure what it gets from the last rank, on another host, and prints
// microseconds of one operation.
func rates(string) error {
	return inJob("hosts", func(ctx context.Context, job rma.Job, w rma.Window) error {
		if job.Rank() > 0 {
			return job.Barrier(ctx)
		}
		const batch, words = 64, 8
		q, err := job.NewQueue(batch)
		if err != nil {
			return err
		}
		buf, err := q.Alloc(batch * words)
		if err != nil {
			return err
		}
		last := job.Size() - 1
		one := func(n int) rma.Handle {
			return q.Get(buf[n*words:(n+1)*words], w, last, n%300*words)
		}
		for _, c := range []struct {
			name  string
			batch int
			post  func(n int) rma.Handle
		}{
			{"get", 1, one},
			{"line", batch, one},
			{"put", 1, func(int) rma.Handle { return q.Put(buf[:words], w, last, 0) }},
			{"swap", 1, func(int) rma.Handle { return q.CompareAndSwap(w, last, 0, 0, 0) }},
			{"swaps", batch, func(n int) rma.Handle { return q.CompareAndSwap(w, last, n, 0, 0) }},
		} {
			done, begin := 0, time.Now()
			for time.Since(begin) < time.Second/4 {
				var handles []rma.Handle
				for n := range c.batch {
					handles = append(handles, c.post(n))
				}
				if err := finishAll(ctx, q, handles); err != nil {
					return err
				}
				done += c.batch
			}
			fmt.Printf("%s %.3f\n", c.name, time.Since(begin).Seconds()*1e6/float64(done))
		}
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

// BenchmarkRates measures between two ranks that are said to be on two hosts.
func BenchmarkRates(b *testing.B) {
	for b.Loop() {
		out, err := find(b, ask().kind).play(b, 2, "rates")
		if err != nil {
			b.Fatal(err, out)
		}
		for line := range strings.Lines(out) {
			var name string
			var us float64
			if n, _ := fmt.Sscan(line, &name, &us); n == 2 {
				b.ReportMetric(us, name+"-us")
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}
