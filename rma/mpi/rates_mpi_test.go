//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi/internal/guest"
)

// What is measured: operations of a line, how many in flight, how long each.
const (
	ratesWords   = 8
	ratesBatch   = 64
	ratesSeconds = 0.25
)

// rates has rank 0 measure what it gets from the last rank, and prints microseconds of one
// operation: first of a plain loop in C, in the same processes, then of the engine.
func rates(argument string) error {
	runtime.LockOSThread()
	if err := guest.Init(2); err != nil {
		return err
	}
	loop, err := guest.Loop(ratesWords, argument != "", ratesSeconds)
	if err != nil {
		return err
	}
	err = inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		if job.Rank() > 0 {
			return job.Barrier(ctx)
		}
		fmt.Printf("loop-get %.3f\nloop-put %.3f\nloop-swap %.3f\n", loop.Get, loop.Put, loop.Swap)
		return errors.Join(ratesOf(ctx, job, w), job.Barrier(ctx))
	})
	return errors.Join(err, guest.Finalize())
}

func ratesOf(ctx context.Context, job rma.Job, w rma.Window) error {
	q, err := job.NewQueue(ratesBatch)
	if err != nil {
		return err
	}
	buf, err := q.Alloc(ratesBatch * ratesWords)
	if err != nil {
		return err
	}
	last := job.Size() - 1
	get := func(n int) rma.Handle {
		return q.Get(buf[n*ratesWords:(n+1)*ratesWords], w, last, n*5%300*ratesWords)
	}
	for _, c := range []struct {
		name  string
		batch int
		post  func(n int) rma.Handle
	}{
		{"get", 1, get},
		{"put", 1, func(int) rma.Handle { return q.Put(buf[:ratesWords], w, last, 0) }},
		{"swap", 1, func(int) rma.Handle { return q.CompareAndSwap(w, last, 0, 0, 0) }},
		{"gathered-get", ratesBatch, get},
		{"swap-in-flight", ratesBatch,
			func(n int) rma.Handle { return q.CompareAndSwap(w, last, n, 0, 0) }},
	} {
		done, begin := 0, time.Now()
		handles := make([]rma.Handle, c.batch)
		for time.Since(begin).Seconds() < ratesSeconds {
			for n := range handles {
				handles[n] = c.post(n)
			}
			if err := finishAll(ctx, q, handles); err != nil {
				return err
			}
			done += c.batch
		}
		fmt.Printf("%s %.3f\n", c.name, time.Since(begin).Seconds()*1e6/float64(done))
	}
	return q.Close()
}

// BenchmarkRates measures between two ranks: of one host, said to be on two, and on two.
func BenchmarkRates(b *testing.B) {
	for _, c := range []struct {
		name, how string
		launcher  func(t testing.TB, kind string) launcher
	}{
		{"one host", "", find}, {"said to be two hosts", "hosts", find},
		{"two hosts", "hidden", func(t testing.TB, kind string) launcher {
			return twoHosts(t, kind, 1)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := c.launcher(b, ask().kind)
			for b.Loop() {
				out, err := l.play(b, 2, "rates:"+c.how, oscVariable+"="+oscChoice())
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
		})
	}
}
