package explore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

const (
	// firstBuckets is the size of the table that a search begins with: half a
	// megabyte, which a small model never outgrows. Where states are long or memory is
	// short it is less, down to minBuckets.
	firstBuckets = 1 << 16
	minBuckets   = 1 << 10

	// bucketBytes is what a state takes of the tables when the last one is full: 8 bytes in a table
	// that is 0.9 full, and the table before it, of half the size or more.
	bucketBytes = 15
	// nodeBytes is what the nodes of a state take, of most models less.
	nodeBytes = 4

	// waitingShare is the part of the states that the plan takes to wait: of 17 philosophers it
	// is 0.23, of most nets less. In a search that memory ends it may be most of them.
	waitingShare = 0.5
	// rankBlocks is how many blocks of tasks a rank has where few states wait.
	rankBlocks = 8

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
	states  uint64 // bytes of it for tables, arenas, frontiers and logs
	ranks   uint64
	room    uint64 // bytes that there are for windows, if these are fewer; 0: they are not

	perState float64 // bytes of states that one takes, as planned
	tables   uint64  // bytes of states for tables and arenas, old and new ones while they grow
}

// makeBudget divides the memory. Collective.
func (s *search) makeBudget(ctx context.Context) (err error) {
	mem, whole := s.opts.Mem, s.opts.MemWhole && s.opts.Mem > 0
	if whole {
		mem = max(mem, minMem) // reserve refuses too little
	}
	if s.budget, err = s.shareBudget(ctx, mem, rma.Room(s.job)); err != nil {
		return err
	}
	if whole {
		s.budget.mem = s.opts.Mem
		err = s.reserveProgram(ctx)
	}
	if err == nil && s.opts.Mem > 0 {
		err = s.fitWindows(ctx)
	}
	s.budget.states -= min(s.opts.Beside, s.budget.states/2)
	tables, lists := s.stateBytes()
	s.budget.divide(tables, lists, s.taskWords)
	return err
}

// fitWindows has a search use no more of the memory that it was given than windows have room for,
// on all hosts, and says so. Collective.
func (s *search) fitWindows(ctx context.Context) error {
	rooms, err := s.share(ctx, rma.Room(s.job), nil)
	if err != nil {
		return err
	}
	hosts, total := map[string]bool{}, 0.0
	for rank, here := range rooms {
		if s.hosts != nil && hosts[s.hosts[rank]] || s.hosts == nil && rank > 0 {
			continue
		}
		if total += float64(here); s.hosts != nil {
			hosts[s.hosts[rank]] = true
		}
	}
	given := s.budget.mem
	fits, err := s.budget.fit(uint64(min(total, math.MaxInt64)))
	if err == nil && !fits && s.job.Rank() == 0 && s.opts.Warn != nil {
		s.opts.Warn(fmt.Errorf("explore: of %s of memory the search can use %s%s",
			memory.Format(given), memory.Format(s.budget.mem), forWindows(uint64(total))))
	}
	return err
}

// fit keeps what is for states within a share of the room for windows. It reports whether that has
// room for all.
func (b *budget) fit(room uint64) (fits bool, err error) {
	windows := uint64(defaultShare * float64(room))
	if b.states <= windows {
		return true, nil
	}
	b.mem -= b.states - windows
	b.room = room
	if b.states = windows; windows < minStateBytes {
		return false, &memoryError{b.mem, b.mem + minMem - windows, forWindows(room)}
	}
	return false, nil
}

// forWindows says why a search cannot have more memory.
func forWindows(room uint64) string {
	return fmt.Sprintf(", as the engine has %s for windows (/dev/shm if ranks are processes of a "+
		"host)", memory.Format(room))
}

// offered is how many blocks a rank leaves for others together.
func (s *search) offered() int { return offeredBlocks(s.hosts != nil, s.taskWords) }

// stateBytes is what a state takes of tables and arenas, and of frontiers and logs, as planned.
func (s *search) stateBytes() (tables, lists float64) {
	tables = bucketBytes
	switch s.encoding {
	case EncodingTree:
		tables += nodeBytes
	case EncodingElement:
		tables += float64(s.words * 8)
	}
	lists = waitingShare * float64(blockBytes(s.taskWords)) / blockTasks
	if s.logs() {
		lists += 8
	}
	return tables, lists
}

// divide limits the tables to their part of the memory for states, but at least half of it: what
// fewer states that wait do not need they may have.
func (b *budget) divide(tables, lists float64, taskWords int) {
	b.perState = tables + lists
	states := float64(b.states)
	blocks := float64(b.ranks * rankBlocks * blockBytes(taskWords))
	share := max(states/2, (states-blocks)*tables/b.perState)
	b.tables = uint64(min(share, math.MaxInt/4)) // there are more addresses
}

// shareBudget gives every rank the budget of rank 0, which may have found another amount
// of available memory.
func (s *search) shareBudget(ctx context.Context, mem, room uint64) (*budget, error) {
	b, failure := newBudget(mem, room, s.job.Size())
	if failure == nil {
		mem = b.mem
	}
	mems, err := s.share(ctx, mem, failure)
	if err != nil {
		return nil, err
	}
	return newBudget(mems[0], math.MaxUint64, s.job.Size())
}

// newBudget divides mem between states and the program; 0 is a share of the available memory.
// Windows can take no more than room.
func newBudget(mem, room uint64, ranks int) (*budget, error) {
	if mem == 0 {
		avail, err := memory.Now()
		if err != nil {
			return nil, fmt.Errorf("explore: how much memory there is cannot be found (%w); "+
				"say how much to use", err)
		}
		mem = uint64(defaultShare * float64(avail.Bytes))
		// The memory for states has to fit into the room for windows, such as /dev/shm.
		if room < avail.Bytes {
			windows := uint64(defaultShare * float64(room))
			mem = min(mem, windows+min(runtimeBytes, windows/3))
		}
	}
	if mem < minMem {
		purpose := ""
		if room < minMem {
			purpose = forWindows(room)
		}
		return nil, &memoryError{mem, minMem, purpose}
	}
	return &budget{mem: mem, states: mem - min(runtimeBytes, mem/4), ranks: uint64(ranks)}, nil
}

// reserveProgram has the budget leave what the processes of all ranks take for themselves, net and
// model included: what they take now and what they are about to. Collective.
func (s *search) reserveProgram(ctx context.Context) error {
	n, _ := s.successors() // an error here comes again in the search, on all ranks
	s.spare = max(s.spare, n+n/2)
	b := buffersFor(s.hosts != nil, s.job.Size(), s.words)
	mine := rankBytes + b.bytes(s.words, s.taskWords, s.spare) +
		exchangeBytes(s.taskWords, s.offered()) - exchangeBytes(1, 1)
	processes, err := s.share(ctx, process, nil)
	if err != nil {
		return err
	}
	peak := uint64(0)
	if !slices.Contains(processes[:s.job.Rank()], process) { // it is the first rank of its process
		debug.FreeOSMemory() // of what the net and the model were made
		now, most, err := memory.Resident()
		if err != nil {
			now = runtimeBytes // as without MemWhole
		}
		mine, peak = mine+now+processBytes, most
	}
	programs, peaks, err := s.sharePair(ctx, mine, peak, nil)
	if err != nil {
		return err
	}
	return s.budget.reserve(sum(programs), sum(peaks))
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

// tableConfigs shape the tables of states and of nodes. Each may come to take nearly all memory,
// and asks before it grows. Where windows take their memory at once, each has a part from the
// beginning instead: all tables of a set take 1.5 times MaxBytes at most.
func (s *search) tableConfigs() (states, nodes set.Config, err error) {
	bytes, err := s.budget.forTables(s.encoding.leastBytes(s.words, s.job.Size()))
	if err != nil {
		return states, nodes, err
	}
	bytes -= s.encoding.listBytes(s.words, s.job.Size())
	states, nodes = set.Config{MaxBytes: bytes, Access: s.opts.Access}, set.Config{}
	reserves, tree := rma.Reserves(s.job), s.encoding == EncodingTree
	switch {
	case reserves && tree:
		states.MaxBytes, nodes.MaxBytes = bytes/10*9, bytes/4*3
	case tree:
		states.MaxBytes, nodes.MaxBytes = bytes/2, bytes/6
	case !reserves:
		states.MaxBytes = bytes / 3 * 2
	}
	if reserves {
		states.MayGrow, nodes.MayGrow = s.mayGrow(0), s.mayGrow(1)
	} else {
		s.mayGrow(0)(0, bytes)
	}
	nodes.Access = states.Access
	words := 0
	if s.encoding == EncodingElement {
		words = s.words
	}
	begin(&states, words, firstBuckets)
	begin(&nodes, 1, firstBuckets/nodeShare)
	return states, nodes, nil
}

// begin sets the buckets that a table of elements of so many words, or of words of a set, begins
// with: at most a quarter of its memory, or minBuckets. Doubled again and again they come to a last
// table that takes two thirds of the memory, beside the one before it.
func begin(cfg *set.Config, words int, most uint64) {
	perBucket := float64(tableBytes(1<<20, words))/(1<<20) + 8.0/2
	cfg.Buckets = uint64(float64(cfg.MaxBytes) / perBucket)
	for cfg.Buckets > most || tableBytes(cfg.Buckets, words) > cfg.MaxBytes/4 {
		cfg.Buckets /= 2
	}
	cfg.Buckets = max(cfg.Buckets, minBuckets)
	cfg.MaxBytes = max(cfg.MaxBytes, tableBytes(cfg.Buckets, words))
}

// pageBytes is the unit in which the memory of tables is counted.
const pageBytes = 4096

func pages(bytes uint64) uint64 { return (bytes + pageBytes - 1) / pageBytes }

// mayGrow is the set.Config.MayGrow of a table: it may if there is memory for it beside the other
// table and the lists. The word cellTables has the pages of both, 32 bits each, so that they cannot
// both take what is left.
func (s *search) mayGrow(table int) func(from, to uint64) bool {
	shift := 32 * table
	return func(from, to uint64) bool {
		ctx := context.Background()
		before, after := pages(from), pages(to)
		for {
			word, err := s.control.Load(ctx, 0, cellTables)
			if err != nil || word>>shift&math.MaxUint32 != before {
				return err == nil // another rank has told this
			}
			next := word + (after-before)<<shift
			heap, err := s.control.Sum(ctx, cellHeapBytes)
			if err != nil || after > before && s.accounted(next)+heap > s.budget.states {
				return false
			}
			won, err := s.control.CompareAndSwap(ctx, 0, cellTables, word, next)
			if won || err != nil {
				return won && s.control.raise(ctx, cellPeakTables, s.accounted(next)) == nil
			}
		}
	}
}

// tables is the memory of the tables, old and new ones while they grow, with listBytes.
func (s *search) tables(ctx context.Context) (uint64, error) {
	word, err := s.control.Load(ctx, 0, cellTables)
	return s.accounted(word), err
}

// accounted is the memory that a word in cellTables stands for.
func (s *search) accounted(word uint64) uint64 {
	return (word>>32+word&math.MaxUint32)*pageBytes + s.encoding.listBytes(s.words, s.job.Size())
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

// forTables is what the tables may take: the least that they need, or more.
func (b *budget) forTables(least uint64) (uint64, error) {
	if b.tables = max(b.tables, least); least <= b.states {
		return b.tables, nil
	}
	if b.program > 0 {
		least += b.program + least/128
	} else {
		least += min(runtimeBytes, least)
	}
	return 0, &memoryError{b.mem, least, " for states of this length"}
}

// enough is a budget with which a search that memory has ended would come to about twice as many
// states.
func (b *budget) enough() uint64 { return b.mem + b.states }
