package explore

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// States that wait and the log are outside the Go heap, which may hold garbage as well.
func TestFrontierOutsideHeap(t *testing.T) {
	if memory.RaceEnabled {
		t.Skip("the race detector watches the Go heap alone")
	}
	p := pool{taskWords: 1}
	f, l := frontier{pool: &p}, newLevelLog()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range uint64(1 << 20) {
		f.push([]uint64{i})
		l.add(i)
	}
	runtime.ReadMemStats(&after)
	grown, all := after.TotalAlloc-before.TotalAlloc, p.bytes()+l.bytes()
	if grown > all/16 {
		t.Errorf("%d bytes of the Go heap for %d of frontier and log", grown, all)
	}
	if lists := 2 * 24 * uint64(cap(f.blocks)); p.made*1024+lists > p.bytes() {
		t.Errorf("%d blocks and %d bytes of lists are said to take %d", p.made, lists, p.bytes())
	}
	if err := errors.Join(p.slabs.close(), l.close()); err != nil {
		t.Error(err)
	}
}

// What the program takes is not there for states, and what is left suffices for some.
func TestLeave(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		mem, program, peak uint64
		fits               bool
	}{
		{64 * mib, 20 * mib, 30 * mib, true},
		{64 * mib, 60 * mib, 30 * mib, true},
		{64 * mib, 61 * mib, 30 * mib, false},
		{64 * mib, 20 * mib, 64 * mib, false}, // it has been too much already
		{1, 20 * mib, 20 * mib, false},
		{1 << 40, 20 * mib, 20 * mib, true},
	} {
		b := &budget{mem: c.mem, states: c.mem, ranks: 1}
		err := b.reserve(c.program, c.peak)
		if (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if err == nil && (b.states+4096 < minStateBytes ||
			b.states+c.program+c.mem/512 != c.mem) {
			t.Errorf("%+v: %+v", c, b)
		}
		if err == nil { // a table that is too large says what all takes
			_, err := b.forTables(2 * c.mem)
			if err == nil || !strings.Contains(err.Error(),
				memory.Format(2*c.mem+2*c.mem/128+b.program)) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// Ranks of one process weigh it once, and each its own buffers.
func TestProgramOfOneProcess(t *testing.T) {
	var program [5]uint64
	for _, ranks := range []int{1, 4} {
		err := local.Run(ranks, func(job rma.Job) error {
			s, err := newSearch(t.Context(), job, single{},
				Options{Mem: 1 << 40, MemWhole: true})
			if err != nil {
				return err
			}
			defer s.close()
			program[job.Rank()] = s.budget.program
			return job.Barrier(t.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank := range ranks {
			if program[rank] != program[0] {
				t.Errorf("rank %d leaves %d bytes, rank 0 %d", rank, program[rank], program[0])
			}
		}
		now, peak, err := memory.Resident()
		if err != nil {
			t.Skip(err)
		}
		own := buffersFor(false, 1, 1).bytes(1, 1, spareStates)
		more := uint64(ranks)*(rankBytes+own) + 1<<40/512
		if p := program[0]; p < more+processBytes || p > more+processBytes+max(now, peak) {
			t.Errorf("%d ranks: %d bytes for the program, of which %d for ranks", ranks, p, more)
		}
	}
	// Every rank gets the error.
	var errs [3]error
	_ = local.Run(3, func(job rma.Job) error {
		_, errs[job.Rank()] = Run(t.Context(), job, single{}, Options{Mem: 1, MemWhole: true})
		return nil
	})
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "explore: 1 B of memory is too little") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
