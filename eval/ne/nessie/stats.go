package nessie

import (
	"sync"

	"github.com/farhash/farhash/rma"
)

// Kind is an operation.
type Kind uint8

const (
	Read Kind = iota
	Write
	Delete
	kinds
	migrate = kinds
)

// plain and atOnce are where the operations begin, by Kind.
var (
	plain  = [...]step{(*op).read, (*op).write, (*op).delete, (*op).migrate}
	atOnce = [...]step{(*op).readAtOnce, (*op).writeAtOnce, (*op).deleteAtOnce, (*op).moveAtOnce}
)

// counts is what one call has needed.
type counts struct {
	kind               Kind
	trips, retries     uint64
	migrations, chains uint64
}

// KindStats is what the calls of one kind have needed.
type KindStats struct {
	Calls      uint64
	RoundTrips uint64 // times that a call had to wait, its migrations included
	Retries    uint64 // attempts that have met another client
}

// Stats is what this rank has done with a table since New.
type Stats struct {
	Kinds      [kinds]KindStats // by Kind
	Migrations uint64           // keys moved
	Chains     uint64           // writes for which NE would have called the server
	Queues     rma.Stats        // what the engine was asked for
}

// tally adds up statistics.
type tally struct {
	mu       sync.Mutex
	s        Stats
	sessions uint64
}

// add adds a call.
func (t *tally) add(c *counts, queue rma.Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &t.s.Kinds[c.kind]
	k.Calls++
	k.RoundTrips += c.trips
	k.Retries += c.retries
	t.s.Migrations += c.migrations
	t.s.Chains += c.chains
	t.s.Queues.Add(queue)
}

// session is the number of one more session.
func (t *tally) session() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions++
	return t.sessions
}

// Stats returns what this rank has done since New.
func (t *Table) Stats() Stats {
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	return t.tally.s
}
