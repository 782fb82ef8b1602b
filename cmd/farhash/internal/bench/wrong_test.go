package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// TestCases: what the limit of each case counts, and that a case without answers is wrong.
func TestCases(t *testing.T) {
	job := local.Single()
	defer job.Close()
	var got string
	for _, w := range []workload{&setTable{}, &indexTable{}, &cacheTable{}, &mapTable{}} {
		if err := w.open(context.Background(), job, &Config{SizeBytes: 1 << 16,
			Operations: 20}); err != nil {
			t.Fatal(err)
		}
		_, forgets := w.(*cacheTable)
		for _, c := range w.cases() {
			got += fmt.Sprintf("%s: %d lines, swaps %v\n", c.operation, c.lines, c.swaps)
			c.ready(20)
			if err := c.check(20); err == nil && !forgets {
				t.Errorf("%s is right before it has run", c.operation)
			}
			if err := errors.Join(c.run(0, 20, 1), c.check(20)); err != nil {
				t.Errorf("%s: %v", c.operation, err)
			}
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
	const want = "find-or-put, new: 1 lines, swaps true\n" +
		"find-or-put, present: 1 lines, swaps false\n" +
		"lookup, 8+8 bytes: 1 lines, swaps false\n" +
		"put, 80+104 bytes: 3 lines, swaps true\n" +
		"get, 80+104 bytes: 3 lines, swaps false\n" +
		"put, 8+100 bytes: 3 lines, swaps true\n" +
		"get, 8+100 bytes: 3 lines, swaps false\n" +
		"add, 8+8 bytes: 3 lines, swaps true\n"
	if got != want {
		t.Errorf("cases\n%swant\n%s", got, want)
	}
}

// TestLimitOf is the limit of a case between two measurements.
func TestLimitOf(t *testing.T) {
	before, after := bounds{reads: 10, swaps: 4}, bounds{reads: 14, swaps: 8}
	for _, c := range []struct {
		lines int
		swaps bool
		want  float64
	}{{1, false, 12}, {1, true, 6}, {3, false, 4}, {3, true, 2}} {
		if got := before.and(after, &testCase{lines: c.lines, swaps: c.swaps}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSee: a value of another record is not right.
func TestSee(t *testing.T) {
	table := &indexTable{numbers: []uint64{7, 8}}
	for i, n := range []uint64{7, 7} {
		table.see(i, binary.LittleEndian.AppendUint64(nil, n))
	}
	if table.right != 1 {
		t.Errorf("%d are right", table.right)
	}
}

// faulty is a job with queues that fail from some call on.
type faulty struct {
	rma.Job
	left int
}

var errPlanned = errors.New("planned")

func (f *faulty) fails() error {
	if f.left--; f.left < 0 {
		return errPlanned
	}
	return nil
}

func (f *faulty) NewQueue(depth int) (rma.Queue, error) {
	q, err := f.Job.NewQueue(depth)
	return faultyQueue{q, f}, err
}

type faultyQueue struct {
	rma.Queue
	job *faulty
}

func (q faultyQueue) Submit() error { return errors.Join(q.job.fails(), q.Queue.Submit()) }

func (q faultyQueue) Wait(ctx context.Context, h rma.Handle) error {
	return errors.Join(q.job.fails(), q.Queue.Wait(ctx, h))
}

// TestRunFails: from whichever call on queues fail, Run fails.
func TestRunFails(t *testing.T) {
	cfg := Config{SizeBytes: 1 << 14, Operations: 10, Batch: 8, Runs: 1}
	err := local.RunWith(local.Options{Hidden: true}, 1, func(job rma.Job) error {
		f := &faulty{Job: job}
		for calls := 0; ; calls += 1 + calls/8 {
			f.left = calls
			_, err := Run(context.Background(), f, cfg)
			if f.left >= 0 {
				return err
			}
			if !errors.Is(err, errPlanned) {
				t.Errorf("call %d fails: %v", calls, err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
