package spread

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/statespace/symbolic"
)

// Config shapes a Diagram.
type Config struct {
	// Levels is the length of all vectors, 1 or more.
	Levels int
	// MaxBytes is the memory of all ranks together, MinBytes for each or more. 0 means 0.8 of what
	// is left on all hosts.
	MaxBytes uint64

	pace          int    // requests that a rank works on in a round; 0: by the memory
	collect       uint64 // collect garbage when so many nodes were made; 0: as the manual says
	nodeBytes     uint64 // of all ranks; 0: as the manual says
	requestsBytes uint64 // of a rank; 0: as the manual says
}

// MinBytes is the smallest memory of a rank.
const MinBytes = 16 << 20

// Node names a set: the same one on all ranks. It is valid until the next call of Reach, unless
// that is given it.
type Node uint64

const (
	empty     = uint64(symbolic.Empty)
	unit      = uint64(symbolic.Unit)
	firstNode = 2 // what the node has whose element has the reference 0
)

// Stats is what one rank has done.
type Stats struct {
	Requests    uint64 // that it has worked on
	Terms       uint64 // of these requests
	Nodes       uint64 // that it has inserted
	Rounds      uint64 // of exchanges
	WordsSent   uint64 // to other ranks
	Forgotten   uint64 // how often it has forgotten answers
	Collections uint64 // of garbage, by all ranks
}

// Diagram is what one rank has of a diagram.
type Diagram struct {
	job    rma.Job
	levels int
	nodes  *set.Bytes
	x      *exchange
	cells  cells
	terms  terms

	pace       int
	everyNodes uint64 // Config.collect
	nextNodes  uint64 // how many nodes of all ranks there are when garbage is collected
	made       uint64 // nodes that this rank has made and that are not known to be garbage
	maxBytes   uint64 // Config.MaxBytes
	mostBytes  uint64 // of this rank's requests
	lists      lists

	stats Stats
}

const (
	// firstCollect is the number of nodes at which garbage is collected for the first time.
	firstCollect = 1 << 20
	// garbageFactor is how many nodes there may be for each that was in use at the last collection.
	garbageFactor = 4
	// leastFreed is the part of the nodes, one in so many, that a collection must free when no node
	// fits any more.
	leastFreed = 8

	firstBuckets = 1 << 16
	mostPace     = 1 << 16
)

// New makes an empty diagram. Collective.
func New(ctx context.Context, job rma.Job, cfg Config) (*Diagram, error) {
	ranks := uint64(job.Size())
	var refusal error
	switch {
	case cfg.Levels < 1:
		refusal = fmt.Errorf("spread: Levels must be positive, not %d", cfg.Levels)
	case cfg.MaxBytes > 0 && cfg.MaxBytes < MinBytes*ranks:
		refusal = fmt.Errorf("spread: MaxBytes must be %s or more for %d ranks, not %d",
			memory.Format(MinBytes*ranks), ranks, cfg.MaxBytes)
	}
	err := rma.Agree(ctx, job, "spread", refusal,
		rma.Field{Name: "levels", Value: uint64(cfg.Levels)},
		rma.Field{Name: "bytes at most", Value: cfg.MaxBytes})
	if err == nil && cfg.MaxBytes == 0 {
		cfg.MaxBytes, err = core.DefaultBytes(ctx, job)
		cfg.MaxBytes = max(cfg.MaxBytes, MinBytes*ranks)
	}
	if err != nil {
		return nil, err
	}
	perRank := cfg.MaxBytes / ranks
	d := &Diagram{job: job, levels: cfg.Levels, everyNodes: cfg.collect,
		maxBytes:  cfg.MaxBytes,
		pace:      cmp.Or(cfg.pace, int(min(mostPace, perRank>>12))),
		nextNodes: cmp.Or(cfg.collect, firstCollect),
		mostBytes: cmp.Or(cfg.requestsBytes, perRank/8)}
	d.terms.open(cfg.Levels)
	elements := elementsConfig(cmp.Or(cfg.nodeBytes, cfg.MaxBytes/2))
	if d.nodes, err = set.NewBytes(ctx, job, elements); err != nil {
		return nil, fmt.Errorf("spread: %w", err)
	}
	d.cells.nodes = d.nodes
	if d.x, err = newExchange(ctx, job); err != nil {
		return nil, errors.Join(err, d.nodes.Close())
	}
	return d, nil
}

// elementsConfig is for a set that takes so many bytes with the table beside it while garbage is
// collected: 32 for each bucket.
func elementsConfig(bytes uint64) set.BytesConfig {
	cfg := set.BytesConfig{ElementBytes: 16}
	cfg.MaxBytes = bytes / 32 * 23
	for cfg.Buckets = firstBuckets; cfg.Bytes() > cfg.MaxBytes; {
		cfg.Buckets /= 2
	}
	return cfg
}

// Close gives the memory back.
func (d *Diagram) Close() error { return errors.Join(d.x.close(), d.nodes.Close()) }

// Stats is what this rank has done so far.
func (d *Diagram) Stats() Stats {
	st := d.stats
	st.Rounds, st.WordsSent = d.x.rounds, d.x.sent
	return st
}

// Import makes a set that a store of each rank has. Collective.
func (d *Diagram) Import(store *symbolic.Store, n symbolic.Node) (Node, error) {
	if store.Levels() != d.levels {
		return 0, fmt.Errorf("spread: the store has vectors of %d entries, and this diagram of %d",
			store.Levels(), d.levels)
	}
	known := map[symbolic.Node]uint64{symbolic.Empty: empty, symbolic.Unit: unit}
	err := eachNode(store, n, known, func(c cell) (uint64, error) {
		var l lists
		l.begin()
		l.add(c.value, c.down)
		l.after(c.right)
		nodes, err := d.make(&l)
		if err != nil {
			return 0, err
		}
		return nodes[0], nil
	})
	return Node(known[n]), err
}

// eachNode calls take for the nodes of a set of a store that known has not, what a node names
// before the node, and keeps in known what it returns. A node is given with what known has.
func eachNode(store *symbolic.Store, n symbolic.Node, known map[symbolic.Node]uint64,
	take func(cell) (uint64, error)) error {
	var list []symbolic.Node // from n on
	for ; ; _, _, n = store.Entry(n) {
		if _, ok := known[n]; ok {
			break
		}
		list = append(list, n)
	}
	for len(list) > 0 {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		value, down, right := store.Entry(n)
		if err := eachNode(store, down, known, take); err != nil {
			return err
		}
		name, err := take(cell{value: value, down: known[down], right: known[right]})
		if err != nil {
			return err
		}
		known[n] = name
	}
	return nil
}
