//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/stream"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

const (
	cyclesWarm = 3
	cycles     = 10 // after them
)

// single is a job of one process.
func single(_ int, fn func(rma.Job) error) error {
	job, err := shm.Join(context.Background(),
		shm.Config{Size: 1, Job: fmt.Sprint("torture-", os.Getpid())})
	if err != nil {
		return err
	}
	return errors.Join(fn(job), job.Close())
}

// strikeCycle opens and closes jobs with tables of every kind, in this process.
func strikeCycle(r *round) error {
	engines := append(lab.Engines()[:2], lab.Carriers()...) // a simulation takes nothing
	e, ranks := pick(r, append(engines, lab.Engine{Name: "shm", Run: single})...), 1+r.IntN(3)
	ctx, seed := context.Background(), r.Uint64()
	err := r.cycle(func() error {
		return e.Run(ranks, func(job rma.Job) error {
			s, err := stream.Open(ctx, job, stream.Options{Seed: seed})
			for n := 0; err == nil && n < 10; n++ {
				err = s.Step()
			}
			if err != nil {
				return err
			}
			return errors.Join(s.Finish(ctx), job.Barrier(ctx), s.Close())
		})
	})
	if err != nil {
		return fmt.Errorf("%s with %d ranks: %w", e.Name, ranks, err)
	}
	return nil
}

// holdings are what a process has taken and not given back.
type holdings struct{ descriptors, goroutines, maps int }

// cycle repeats what should leave nothing.
func (r *round) cycle(once func() error) error {
	var before holdings
	for n := range cyclesWarm + cycles {
		if n == cyclesWarm {
			before = held()
		}
		if err := once(); err != nil {
			return err
		}
		r.count(1, "cycles")
	}
	after := held()
	// Goroutines that are to end may still run, and Go takes memory now and then.
	for begin := time.Now(); after.goroutines > before.goroutines; after = held() {
		if time.Since(begin) > stretch(r.linger) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if after.descriptors > before.descriptors || after.goroutines > before.goroutines ||
		after.maps > before.maps+cycles/2 {
		return fmt.Errorf("before %d cycles %+v, after them %+v", cycles, before, after)
	}
	return nil
}

func held() holdings {
	files, _ := os.ReadDir("/proc/self/fd")
	maps, _ := os.ReadFile("/proc/self/maps")
	return holdings{len(files), runtime.NumGoroutine(), strings.Count(string(maps), "\n")}
}
