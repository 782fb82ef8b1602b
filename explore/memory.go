package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"

	"github.com/farhash/farhash/internal/memory"
)

const (
	// firstBuckets is the size of the table that a search begins with: half a
	// megabyte, which a small model never outgrows. Where states are long or memory is
	// short it is less, down to minBuckets.
	firstBuckets = 1 << 16
	minBuckets   = 1 << 10

	// growLoad is the load factor at which the table grows. Growth by half from
	// there holds old and new table at once: 2.5/0.85 buckets, 23.5 bytes, a state
	// at the worst moment, and 9.4 to 14.1 bytes a state afterwards.
	growLoad = 0.85

	// waitingShare is the part of the states that the plan takes to wait: of 17 philosophers it
	// is 0.23, of most nets less. In a search that memory ends it may be most of them.
	waitingShare = 0.25

	// runtimeBytes is what the program itself needs beside states and frontier.
	runtimeBytes = 48 << 20

	// defaultShare is the part of the available memory that a search may use
	// when Options.Mem is 0.
	defaultShare = 0.8

	// minMem is the smallest budget that a search accepts.
	minMem = 4 << 20
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

// budget is how a search spends its memory: the same on every rank.
type budget struct {
	mem     uint64 // bytes for everything
	program uint64 // bytes of it for the program; 0: not known
	states  uint64 // bytes of it for table, arenas, frontier and log
	ranks   uint64
	task    int   // words of a task
	blocked error // why the table cannot grow any more, once that is known
}

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

// shareBudget gives every rank the budget of rank 0, which may have found another amount
// of available memory.
func shareBudget(ctx context.Context, c *control, mem uint64, barrier func(context.Context) error) (
	*budget, error) {
	b, err := newBudget(mem, c.ranks)
	if err != nil {
		return nil, err
	}
	if c.rank == 0 {
		if err := c.Store(ctx, 0, cellMem, b.mem); err != nil {
			return nil, err
		}
	}
	if err := barrier(ctx); err != nil {
		return nil, err
	}
	shared, err := c.Load(ctx, 0, cellMem)
	if err != nil {
		return nil, err
	}
	return newBudget(shared, c.ranks)
}

// newBudget divides mem, 0 for a share of what is available.
func newBudget(mem uint64, ranks int) (*budget, error) {
	if mem == 0 {
		avail, err := memory.Now()
		if err != nil {
			return nil, fmt.Errorf("explore: how much memory there is cannot be found (%w); "+
				"say how much to use", err)
		}
		mem = uint64(defaultShare * float64(avail.Bytes))
	}
	if mem < minMem {
		return nil, &memoryError{mem, minMem, ""}
	}
	return &budget{mem: mem, states: mem - min(runtimeBytes, mem/4), ranks: uint64(ranks),
		task: 1}, nil
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

// memoryError says that a search cannot begin with so little memory.
type memoryError struct {
	mem, need uint64
	purpose   string
}

func (e *memoryError) Error() string {
	return fmt.Sprintf("explore: %s of memory is too little%s; give at least %s",
		memory.Format(e.mem), e.purpose, memory.Format(e.need))
}

// firstTable is the size to begin with, where bytesFor is the memory of a table: at
// most half of the budget, or the least table.
func (b *budget) firstTable(bytesFor func(buckets uint64) uint64) (uint64, error) {
	buckets := uint64(firstBuckets)
	for buckets > minBuckets && bytesFor(buckets) > b.states/2 {
		buckets /= 2
	}
	if need := bytesFor(buckets); need > b.states {
		if b.program > 0 {
			need += b.program + need/128
		} else {
			need += min(runtimeBytes, need)
		}
		return 0, &memoryError{b.mem, need, " for states of this length"}
	}
	return buckets, nil
}

// nextBuckets is the size to grow to: half as many again, or what the budget still
// allows; 0 when that would be no more than a tenth.
func (b *budget) nextBuckets(v growable, heapBytes uint64) uint64 {
	if b.blocked != nil {
		return 0
	}
	old := v.buckets()
	for _, percent := range []uint64{50, 40, 30, 20, 10} {
		buckets := old + old*percent/100
		// During growth the old buckets, the new ones and the arenas are there.
		need := v.bytesFor(old) - v.keptBytes() + v.bytesFor(buckets) + heapBytes
		if need <= b.states {
			return buckets
		}
	}
	return 0
}

// heapLeft is what one rank's frontier and log may take while the table is v.
func (b *budget) heapLeft(v visited) uint64 {
	table := v.bytesFor(v.buckets())
	return (b.states - min(b.states, table)) / b.ranks
}

// stateBytes is the memory that a state takes at the worst moment: just after
// growth by half, with the old buckets still there, while waitingShare of the states wait. Of
// nodes of trees it takes there to be as many for a state as now.
func (b *budget) stateBytes(v visited) float64 {
	old := max(1<<20, v.buckets())
	return float64(v.bytesFor(old/2*3)+old*8)/(growLoad*float64(old)) +
		waitingShare*float64(blockBytes(b.task))/blockTasks
}

// enough is a budget with which a search that got this far would come to twice
// as many states.
func (b *budget) enough(v visited, states uint64) uint64 {
	return 2*max(uint64(float64(states)*b.stateBytes(v)), b.states) + (b.mem - b.states)
}

// tableSize is the memory of the visited set, for the progress display and for
// the final figures.
type tableSize struct {
	buckets atomic.Uint64
	bytes   atomic.Uint64
	peak    atomic.Uint64 // bytes at the worst moment so far
}

// see notes the present size, and that a table of oldBytes existed at the same time.
func (t *tableSize) see(v visited, oldBytes uint64) {
	now := v.bytesFor(v.buckets())
	t.buckets.Store(v.buckets())
	t.bytes.Store(now)
	t.peak.Store(max(t.peak.Load(), now+oldBytes))
}
