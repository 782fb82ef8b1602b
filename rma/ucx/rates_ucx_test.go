//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// BenchmarkRates measures operations on the memory of a rank on another host, one at a time
// and many in flight, by TCP between two network namespaces.
func BenchmarkRates(b *testing.B) { betweenHosts(b, "rates") }

// BenchmarkShips measures requests that are answered with as many words.
func BenchmarkShips(b *testing.B) { betweenHosts(b, "ships") }

// betweenHosts has two ranks on two hosts play a role, and logs what rank 0 says.
func betweenHosts(b *testing.B, role string) {
	b.Helper()
	hosts := twohosts.New(b)
	ranks := startWith(b, 2, role, "hosts", hosts.Address(0)+":29500",
		func(rank int) *exec.Cmd { return hosts.Command(rank, os.Args[0]) })
	for _, p := range ranks {
		if err := p.wait(); err != nil {
			b.Error(err)
		}
	}
	for line := range strings.Lines(ranks[0].out.String()) {
		b.Log(strings.TrimSpace(line))
	}
}

// rates is the role of that.
func rates(a *actor) error {
	if a.job.Rank() != 0 {
		return a.job.Barrier(a.ctx)
	}
	const words = 8
	for _, depth := range []int{1, 16, 64, 256} {
		q, err := a.job.NewQueue(depth)
		if err != nil {
			return err
		}
		buf, err := q.Alloc(depth * words)
		if err != nil {
			return err
		}
		line := func(i int) rma.Buf { return buf[i*words : (i+1)*words] }
		at := func(i int) int { return i * words }
		for _, c := range []struct {
			what string
			post func(i int) rma.Handle
		}{
			{"get", func(i int) rma.Handle { return q.Get(line(i), a.w, 1, at(i)) }},
			{"put", func(i int) rma.Handle { return q.Put(line(i), a.w, 1, at(i)) }},
			{"swap", func(i int) rma.Handle { return q.CompareAndSwap(a.w, 1, at(i), 0, 0) }},
		} {
			ns, err := a.time(q, depth, c.post)
			if err != nil {
				return err
			}
			fmt.Printf("%4d in flight, %-4s %8.2f us\n", depth, c.what, ns/1e3)
		}
		if err := q.Close(); err != nil {
			return err
		}
	}
	return a.job.Barrier(a.ctx)
}

// ships is the role of that.
func ships(a *actor) error {
	if a.job.Rank() != 0 {
		return a.job.Barrier(a.ctx)
	}
	const most = 16
	q, err := a.job.NewQueue(most)
	if err != nil {
		return err
	}
	for _, words := range []int{1, 64, 1024, rma.MaxShipWords} {
		request, err := q.Alloc(words)
		if err != nil {
			return err
		}
		answers, err := q.Alloc(most * words)
		if err != nil {
			return err
		}
		for _, depth := range []int{1, 2, 4, most} {
			ns, err := a.time(q, depth, func(i int) rma.Handle {
				answer := answers[i*words : (i+1)*words]
				return q.(rma.Carrier).Ship(request, answer, a.w, 1)
			})
			if err != nil {
				return err
			}
			fmt.Printf("%4d words, %2d in flight: %7.0f a second, %7.2f us, %7.1f MB/s each way\n",
				words, depth, 1e9/ns, ns/1e3, float64(words)*8e3/ns)
		}
	}
	return errors.Join(q.Close(), a.job.Barrier(a.ctx))
}

// echo is a handler that gives back what was asked.
func echo(_ int, request, answer []uint64) int { return copy(answer, request) }

// time is nanoseconds of one operation, with so many in flight.
func (a *actor) time(q rma.Queue, depth int, post func(i int) rma.Handle) (float64, error) {
	handles := make([]rma.Handle, depth)
	begin, ops := time.Now(), 0
	for time.Since(begin) < 300*time.Millisecond {
		for i := range handles {
			handles[i] = post(i)
		}
		err := q.Submit()
		for _, h := range handles {
			err = errors.Join(err, q.Wait(a.ctx, h))
			_, lost := q.Value(h)
			err = errors.Join(err, lost)
		}
		if err != nil {
			return 0, err
		}
		ops += depth
	}
	return float64(time.Since(begin)) / float64(ops), nil
}
