package nessie

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// labInput is a call on a key. Values are numbers, each written once; 0 is a key that is not
// there.
type labInput struct {
	kind  Kind
	value uint64
	exact bool // a delete reports whether the key was there
}

func (i labInput) String() string {
	return fmt.Sprintf("%s(%d)", [...]string{"read", "write", "delete"}[i.kind], i.value)
}

// labAnswer is what a rank gets: the value that it has read, or that it has deleted a key.
type labAnswer struct {
	full  bool
	value uint64
	taken bool
}

// labModel is a key. What a delete reports is not checked, unless with transactions: NE has it
// report nothing.
var labModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		in := input.(labInput)
		got, known := output.(labAnswer)
		switch {
		case got.full:
			return true, state
		case in.kind == Read:
			return !known || got.value == state, state
		case in.kind == Delete && in.exact && known:
			return got.taken == (state != uint64(0)), uint64(0)
		}
		return true, in.value
	},
}

// labTable is what a rank does with a table.
type labTable struct {
	t         *Table
	keys      [][]byte
	writes    uint64
	next      []labInput
	on        int
	shared    bool // all ranks write all keys; else each key is one's
	contended bool
}

func openLab(name string, shared, transactions bool) *lab.Table {
	open := func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		cfg := Config{SlotsPerRank: uint64(1 + rng.IntN(4)), ItemsPerRank: uint64(2 + rng.IntN(6)),
			MaxKey: 8, MaxValue: 8, Attempts: 60, Transactions: transactions}
		if job.Size() == 1 || transactions {
			cfg.SlotsPerRank++
		}
		if shared || rng.IntN(2) == 0 {
			job = slowJob{job.(*sim.Job), job.(*sim.Job).Rand()}
		}
		t, err := New(ctx, job, cfg)
		if err != nil {
			return nil, err
		}
		l := &labTable{t: t, keys: make([][]byte, 1+rng.IntN(6)), shared: shared}
		l.contended = shared || rng.IntN(2) == 0
		if shared {
			l.keys = l.keys[:min(len(l.keys), 3)]
		}
		for n := range l.keys {
			l.keys[n] = l.key(uint64(n))
		}
		return l, nil
	}
	return &lab.Table{Name: name, Model: labModel, Open: open}
}

// slowJob is a rank that is kept from its work now and then, between two accesses.
type slowJob struct {
	*sim.Job
	rng *rand.Rand
}

func (j slowJob) NewQueue(depth int) (rma.Queue, error) {
	q, err := j.Job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	return slowQueue{q, j}, nil
}

type slowQueue struct {
	rma.Queue
	job slowJob
}

func (q slowQueue) Submit() error {
	if q.job.rng.IntN(10) == 0 {
		q.job.Sleep(q.job.rng.Int64N(300_000))
	}
	return q.Queue.Submit()
}

// key is a key for a number. Contended ones have the same primary slot.
func (l *labTable) key(n uint64) []byte {
	for ; ; n += 1 << 8 {
		key := number(n)
		if p, _ := l.t.slotsOf(key); p == 0 || !l.contended {
			return key
		}
	}
}

// labPlans are what a rank does with a key that all write.
var labPlans = [][]labInput{{{kind: Delete}}, {{kind: Read}, {kind: Write}, {kind: Read}}}

// Draw chooses a call: all kinds of all keys, or the next one of a plan.
func (l *labTable) Draw(rng *rand.Rand) lab.Call {
	key, in := rng.IntN(len(l.keys)), labInput{kind: Kind(rng.IntN(int(kinds)))}
	if l.shared {
		if len(l.next) == 0 {
			l.next = labPlans[rng.IntN(len(labPlans))]
			l.on = key
		}
		key, in, l.next = l.on, l.next[0], l.next[1:]
	} else if key%l.t.job.Size() != l.t.job.Rank() {
		in.kind = Read
	}
	in.exact = l.t.cfg.Transactions
	if in.kind == Write {
		l.writes++
		in.value = l.writes<<8 | uint64(l.t.job.Rank()+1)
	}
	return l.call(key, in)
}

func (l *labTable) call(key int, in labInput) lab.Call {
	return lab.Call{Inputs: []lab.Input{{Key: key, What: in}}, Do: func(answers []any) error {
		var a labAnswer
		err := l.do(l.keys[key], in, &a)
		var full *FullError
		var busy *BusyError
		switch {
		case errors.As(err, &full):
			a.full, err = true, nil
		case errors.As(err, &busy): // the lab forgives it where somebody may have died
			err = fmt.Errorf("%w: %w", err, &rma.PeerError{What: "lab", Rank: -1})
		}
		if err == nil {
			answers[0] = a
		}
		return err
	}}
}

func (l *labTable) do(key []byte, in labInput, a *labAnswer) error {
	ctx := context.Background()
	switch in.kind {
	case Write:
		return l.t.Write(ctx, key, number(in.value))
	case Delete:
		taken, err := l.t.Delete(ctx, key)
		a.taken = taken
		return err
	}
	value, ok, err := l.t.Read(ctx, key, nil)
	if ok {
		a.value = binary.LittleEndian.Uint64(value)
	}
	return err
}

// Audit reads every key.
func (l *labTable) Audit() (calls []lab.Call) {
	for key := range l.keys {
		calls = append(calls, l.call(key, labInput{kind: Read}))
	}
	return calls
}

// Check walks the table, unless somebody died or lost a link in the middle of a write.
func (l *labTable) Check(ctx context.Context, history []lab.Operation) error {
	for _, o := range history {
		if o.ReturnNs == lab.Open {
			return nil
		}
	}
	return l.t.Check(ctx)
}

// The tables of the lab.
var (
	oneWriter   = openLab("one writer for each key", false, false)
	manyWriters = openLab("many writers", true, false)
	atOnceTable = openLab("transactions", true, true)
)

// TestLab: where each key has one writer, the protocol is linearizable, whatever keys have to
// make room for others.
func TestLab(t *testing.T) {
	for _, m := range []*mark.Mark{torn, undone} {
		m.Claim(t)
	}
	oneWriter.Search(t, lab.Schedules(150))
}

// TestLabTransactions: with transactions keys may have as many writers as they like.
func TestLabTransactions(t *testing.T) { atOnceTable.Search(t, lab.Schedules(150)) }

func TestSoak(t *testing.T) { lab.Soak(t, oneWriter, atOnceTable) }

// TestLabFindsFaults: where a key has several writers, it is not, also where nobody dies:
// docs/nessie.md, 3 and 4. About one schedule in 200 shows it.
func TestLabFindsFaults(t *testing.T) {
	for seed := uint64(1); seed <= 3000; seed++ {
		summary, err := manyWriters.Run(seed, nil)
		if err == nil || summary.Engine.Kills+summary.Engine.Lost > 0 {
			continue
		}
		if !strings.Contains(err.Error(), "is not linearizable") {
			t.Fatal(err)
		}
		if _, again := manyWriters.Run(seed, nil); again == nil || again.Error() != err.Error() {
			t.Errorf("seed %d gives %v, then %v", seed, err, again)
		}
		t.Log(err)
		return
	}
	t.Error("the lab does not find the faults of the protocol")
}
