package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/anishathalye/porcupine"

	"github.com/farhash/farhash/rma"
)

// Table is a table under test.
type Table struct {
	Name string
	// Open makes the table on one rank. All ranks call it; rng gives the same numbers on
	// each.
	Open func(ctx context.Context, job rma.Job, rng *rand.Rand) (Client, error)
	// Model says what operations on one key may answer when they happen one after the
	// other. Its inputs are the inputs of [Operation], its outputs the answers, nil where
	// nobody knows it. It needs no partitions. A nondeterministic model, say of a
	// cache that may forget, comes from porcupine.NondeterministicModel.
	Model porcupine.Model
	// SleepNs is for how long a rank may sleep at a call of the engine, or a message be late, in
	// every schedule: so long that others make many calls meanwhile. 0 is what the schedule draws.
	SleepNs int64
}

// Client makes the calls of one rank on the table.
type Client interface {
	// Draw chooses the next call.
	Draw(rng *rand.Rand) Call
	// Audit returns calls that together read every key.
	Audit() []Call
	// Check walks the whole table when no rank uses it any more and returns what is wrong
	// with it, or with the history compared with it.
	Check(ctx context.Context, history []Operation) error
}

// Call is one call of a rank.
type Call struct {
	Inputs []Input
	// Do makes the call and stores the answer to input i in answers[i]. An answer that it
	// does not get stays nil. The error is of the engine or of the table; that a table
	// is full is an answer.
	Do func(answers []any) error
}

// Input is an operation to be called.
type Input struct {
	Key  int
	What any // what the model knows it by; printed with %v
}

// Operation is an operation of a history.
type Operation struct {
	Input
	Rank     int
	Answer   any // nil: nobody knows
	CallNs   int64
	ReturnNs int64 // [Open] when it never returned

	// Numbers of the call and of the return, counted over all ranks. They order what happens at
	// one moment: calls on memory take no simulated time. 0: they are concurrent.
	callOrder, returnOrder int64
}

// Open is the time at which operations return that have no answer.
const Open = math.MaxInt64

func (o Operation) String() string {
	end := "open"
	if o.ReturnNs != Open {
		end = fmt.Sprint(o.ReturnNs)
	}
	return fmt.Sprintf("%8d to %8s  rank %d  %v of %d: %v", o.CallNs, end, o.Rank, o.What, o.Key,
		o.Answer)
}
