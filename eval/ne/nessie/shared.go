package nessie

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/farhash/farhash/rma"
)

// ErrNoTransactions is the error of New with [Config].Transactions where the ranks are processes.
var ErrNoTransactions = errors.New("kv: transactions are emulated in memory that the ranks " +
	"share as goroutines of one process; run the table on rma/local or rma/sim")

// sharedSlots emulates the network cards of NE 5.1: it has the slots of all ranks, and changes
// several of them at one moment. All ranks of a table share it.
type sharedSlots struct {
	mu    sync.Mutex
	words []uint64
	rng   *rand.Rand
}

// sharing has those that tables are being made with, by a random number.
var sharing sync.Map

// shareSlots makes some slots on rank 0 and gives them to all ranks. w is a window whose words
// nobody else uses. Where ranks are in several processes, all of them get ErrNoTransactions.
// Collective.
func shareSlots(ctx context.Context, job rma.Job, w rma.Window, slots uint64, all *sync.Map) (
	*sharedSlots, error) {
	const numberWord, foundWord = 0, 1 // of rank 0
	cells, err := rma.NewCells(job, w)
	if err == nil {
		defer cells.Close()
	}
	if err == nil && job.Rank() == 0 {
		number := rand.Uint64()
		all.Store(number, &sharedSlots{words: make([]uint64, slots),
			rng: rand.New(rand.NewPCG(1, 1))})
		defer all.Delete(number)
		err = cells.Store(ctx, 0, numberWord, number)
	}
	const what = "kv: sharing memory for transactions"
	if err := rma.AllSucceeded(ctx, job, what, err); err != nil {
		return nil, err
	}
	number, err := cells.Load(ctx, 0, numberWord)
	m, found := all.Load(number)
	if err == nil && found {
		_, err = cells.Add(ctx, 0, foundWord, 1)
	}
	if err := rma.AllSucceeded(ctx, job, what, err); err != nil {
		return nil, err
	}
	ranks, err := cells.Load(ctx, 0, foundWord)
	if err == nil && ranks < uint64(job.Size()) {
		err = ErrNoTransactions
	}
	if err := rma.AllSucceeded(ctx, job, what, err); err != nil {
		return nil, err
	}
	return m.(*sharedSlots), nil
}

// change is a slot of a transaction.
type change struct {
	slot     uint64
	old, new uint64
	seen     uint64 // what the slot had, when the transaction has been done
}

// swap is a slot that has a word, and is to have another.
func swap(slot, old, word uint64) change { return change{slot: slot, old: old, new: word} }

// transaction is slots of one rank to be changed together.
type transaction struct {
	changes []change
	late    bool // it takes effect when its answer is taken, else it has when it was posted
	agreed  bool // all slots had what they should
}

// takesEffectLate chooses at random.
func (m *sharedSlots) takesEffectLate() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(2) == 0
}

// carryOut changes the slots, if all have what they should; else none changes.
func (m *sharedSlots) carryOut(t *transaction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t.agreed = true
	for i := range t.changes {
		c := &t.changes[i]
		c.seen = m.words[c.slot]
		t.agreed = t.agreed && c.seen == c.old
	}
	if !t.agreed {
		return
	}
	for _, c := range t.changes {
		m.words[c.slot] = c.new
	}
}

// read copies slots.
func (m *sharedSlots) read(dst []uint64, first uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	copy(dst, m.words[first:])
}
