package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"

	"github.com/farhash/farhash/internal/memory"
)

const (
	// processBytes is what a process comes to take beside what it does when a search begins: code
	// that runs for the first time, stacks, and garbage of the Go heap.
	processBytes = 8 << 20
	// rankBytes is what a rank takes in queues, exchange, and pages that are not full.
	rankBytes = 512 << 10
	// minStateBytes is the least that a search must have for states.
	minStateBytes = minMem - minMem/4
)

// process is a number by which ranks know which of them share a process.
var process = rand.Uint64() | 1

// makeBudget divides the memory. Collective.
func (s *search) makeBudget(ctx context.Context) (err error) {
	mem, whole := s.opts.Mem, s.opts.MemWhole && s.opts.Mem > 0
	if whole {
		mem = max(mem, minMem) // reserve refuses too little
	}
	s.budget, err = shareBudget(ctx, s.control, mem, s.job.Barrier)
	if err != nil {
		return err
	}
	if s.budget.task = s.taskWords; !whole {
		return nil
	}
	s.budget.mem = s.opts.Mem
	return s.reserveProgram(ctx)
}

// reserveProgram has the budget leave what the processes of all ranks take for themselves, net and
// model included: what they take now and what they are about to. Collective.
func (s *search) reserveProgram(ctx context.Context) error {
	n, _ := s.successors() // an error here comes again in the search, on all ranks
	s.spare = max(s.spare, n+n/2)
	mine := rankBytes + buffersFor(s.hosts != nil).bytes(s.words, s.taskWords, s.spare) +
		exchangeBytes(s.taskWords) - exchangeBytes(1)
	if err := s.control.set(ctx, cellProcess, process); err != nil {
		return err
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	first := true // of the ranks of this process
	for rank := 0; rank < s.job.Rank() && first; rank++ {
		other, err := s.control.Load(ctx, rank, cellProcess)
		if err != nil {
			return err
		}
		first = other != process
	}
	peak := uint64(0)
	if first {
		debug.FreeOSMemory() // of what the net and the model were made
		now, most, err := memory.Resident()
		if err != nil {
			now = runtimeBytes // as without MemWhole
		}
		mine, peak = mine+now+processBytes, most
	}
	if err := s.control.set(ctx, cellProgram, mine); err != nil {
		return err
	}
	if err := s.control.set(ctx, cellPeak, peak); err != nil {
		return err
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	program, err := s.control.Sum(ctx, cellProgram)
	if err != nil {
		return err
	}
	if peak, err = s.control.Sum(ctx, cellPeak); err != nil {
		return err
	}
	return s.budget.reserve(program, peak)
}

// leave takes what the program needs out of what is for states, with what the system needs to map
// it all. The program has taken peak bytes already.
func (b *budget) reserve(program, peak uint64) error {
	need := max(program+minStateBytes, peak)
	if need += need / 512; b.mem < need {
		need += need / 32 // the next time it may take a little more
		return fmt.Errorf("explore: %s of memory is too little, as program, net and model "+
			"alone come to %s; give at least %s", memory.Format(b.mem),
			memory.Format(max(program, peak)), memory.Format(need))
	}
	b.program = program + b.mem/512
	b.states = b.mem - b.program
	return nil
}
