package set

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// The sets as tables of the lab: their operations and what these may answer.

// labOp is an operation on a key.
type labOp int

const (
	labInsert labOp = iota
	labContains
)

func (o labOp) String() string { return [...]string{"FindOrPut", "Contains"}[o] }

// labAnswer is the answer about a key.
type labAnswer struct {
	result Result
	ref    Ref
	hasRef bool // ref is the reference of the element
}

func (a labAnswer) String() string {
	if a.hasRef {
		return fmt.Sprintf("%v, named %#x", a.result, uint64(a.ref))
	}
	return a.result.String()
}

// labState is what is known of a key: whether it is in the set, its reference, and whether it
// can never be, since all buckets that a search for it examines are occupied.
type labState struct {
	present, shut, named bool
	ref                  Ref
}

// labModel is find-or-put of one key.
var labModel = porcupine.Model{
	Init: func() any { return labState{} },
	Step: func(state, input, output any) (bool, any) {
		s := state.(labState)
		if output == nil {
			s.present = s.present || input == labInsert && !s.shut
			return true, s
		}
		a := output.(labAnswer)
		was := s.present
		if a.result == Found || a.result == Inserted {
			s.present = true
			if a.hasRef && s.named && a.ref != s.ref {
				return false, s
			}
			if a.hasRef {
				s.named, s.ref = true, a.ref
			}
		}
		switch {
		case a.result == Inserted:
			return input == labInsert && !was && !s.shut, s
		case a.result == Found:
			return was, s
		case a.result == NotFound:
			return input == labContains && !was, s
		}
		s.shut = true
		return input == labInsert && !was, s
	},
}

// labSet is what a rank does with a set whose keys have numbers.
type labSet struct {
	keys   int
	drawn  int // calls so far
	insert func(keys []int, single bool) ([]labAnswer, error)
	find   func(keys []int, single bool) ([]labAnswer, error)

	t     *table
	check func(ctx context.Context, rank int) error
	len   func(ctx context.Context) (uint64, error)
	key   func(bucket uint64) (int, error)
	hash  func(key int) uint64
}

// Draw chooses a call. Half of them are about keys that the other ranks come to at about
// the same time; a batch is likely to have one of these more than once.
func (s *labSet) Draw(rng *rand.Rand) lab.Call {
	keys := make([]int, 1)
	single := rng.IntN(2) == 0
	if !single {
		keys = make([]int, 1+rng.IntN(8))
	}
	first, among := 0, s.keys
	if rng.IntN(2) == 0 {
		first, among = s.drawn, 3
	}
	for i := range keys {
		keys[i] = (first + rng.IntN(among)) % s.keys
	}
	s.drawn++
	if rng.IntN(3) == 0 {
		return labCall(labContains, s.find, keys, single)
	}
	return labCall(labInsert, s.insert, keys, single)
}

// labCall is a call on some keys.
func labCall(op labOp, do func([]int, bool) ([]labAnswer, error), keys []int,
	single bool) lab.Call {
	inputs := make([]lab.Input, len(keys))
	for i, key := range keys {
		inputs[i] = lab.Input{Key: key, What: op}
	}
	return lab.Call{Inputs: inputs, Do: func(answers []any) error {
		got, err := do(keys, single)
		var full *FullError
		if errors.As(err, &full) && !full.NoArena {
			err = nil
		}
		if insertedAndFound(keys, got) {
			labDuplicates.Add(1)
		}
		for i, answer := range got {
			if answer.result != 0 {
				answers[i] = answer
			}
		}
		return err
	}}
}

// labDuplicates is how many batches have inserted a key and found it.
var labDuplicates atomic.Uint64

func insertedAndFound(keys []int, got []labAnswer) bool {
	inserted := map[int]bool{}
	for i, answer := range got {
		inserted[keys[i]] = inserted[keys[i]] || answer.result == Inserted
	}
	for i, answer := range got {
		if answer.result == Found && inserted[keys[i]] {
			return true
		}
	}
	return false
}

// Audit looks up every key.
func (s *labSet) Audit() (calls []lab.Call) {
	for key := range s.keys {
		calls = append(calls, labCall(labContains, s.find, []int{key}, true))
	}
	return calls
}

// Check walks the table, and makes sure that it holds nothing twice and that Full was
// the answer only where no bucket in reach is free.
func (s *labSet) Check(ctx context.Context, history []lab.Operation) error {
	for rank := range s.t.window.Size() {
		if err := s.check(ctx, rank); err != nil {
			return err
		}
	}
	tables, err := s.t.inUse(ctx)
	if err != nil {
		return err
	}
	stored := map[int]bool{}
	for _, t := range tables {
		if err := s.addStored(stored, t); err != nil {
			return err
		}
	}
	last := tables[len(tables)-1]
	if last.gen > 0 {
		labGrown.Add(1)
	}
	return errors.Join(s.fullIsTrue(last, history), s.lenFits(ctx, len(stored), history))
}

// labGrown is how many sets have come to a table after their first one.
var labGrown atomic.Uint64

// addStored adds the keys of a table, which has none of them twice. What has moved is in two.
func (s *labSet) addStored(stored map[int]bool, t *table) error {
	buckets, err := t.readAll()
	if err != nil {
		return err
	}
	here := map[int]bool{}
	for at, bucket := range buckets {
		if bucket == 0 {
			continue
		}
		key, err := s.key(bucket)
		if err != nil {
			return fmt.Errorf("bucket %d: %w", at, err)
		}
		if here[key] {
			return fmt.Errorf("key %d is in two buckets: %x", key, buckets)
		}
		here[key], stored[key] = true, true
	}
	return nil
}

// fullIsTrue: what is refused has no free bucket in reach, in the last table that there can be.
func (s *labSet) fullIsTrue(t *table, history []lab.Operation) error {
	buckets, err := t.readAll()
	if err != nil {
		return err
	}
	for _, o := range history {
		if answer, ok := o.Answer.(labAnswer); !ok || answer.result != Full {
			continue
		}
		if !t.last {
			return fmt.Errorf("key %d is refused, and there can be more tables than %d: %v", o.Key,
				t.gen+1, o)
		}
		home := t.home(s.hash(o.Key))
		for i := range t.limit {
			if at := (home + i) % t.buckets; buckets[at] == 0 {
				return fmt.Errorf("bucket %d is free, in reach of key %d from %d: %v",
					at, o.Key, home, o)
			}
		}
	}
	return nil
}

// lenFits: insertions whose rank did not live to count them are missing from Len.
func (s *labSet) lenFits(ctx context.Context, stored int, history []lab.Operation) error {
	n, err := s.len(ctx)
	if err != nil {
		return err
	}
	open := slices.ContainsFunc(history, func(o lab.Operation) bool { return o.Answer == nil })
	if n > uint64(stored) || n < uint64(stored) && !open {
		return fmt.Errorf("Len is %d, and %d keys are stored", n, stored)
	}
	return nil
}

// labWordTable is Set.
var labWordTable = &lab.Table{Name: "set of words", Model: labModel,
	Open: with(openLabWords, rma.Auto)}

// labGrowingWords, labGrowingElements and labGrowingStrings are sets that move to larger tables
// while they are used.
var (
	labGrowingWords = &lab.Table{Name: "set of words that grows", Model: labModel,
		Open: whichGrows(openLabWords, rma.Auto)}
	labGrowingElements = &lab.Table{Name: "set of elements that grows", Model: labModel,
		Open: whichGrows(openLabElements, rma.Auto)}
	labGrowingStrings = &lab.Table{Name: "set of strings that grows", Model: labModel,
		Open: whichGrows(openLabStrings, rma.Auto)}
)

// whichGrows is an opener that draws a configuration with room for larger tables.
func whichGrows(open labOpener, access rma.Access) func(context.Context, rma.Job, *rand.Rand) (
	lab.Client, error) {
	return func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		cfg := labConfig(rng, job.Size())
		cfg.Access, cfg.MaxBytes = access, 64*24+cfg.Bytes()*uint64(4+rng.IntN(12))
		return open(ctx, job, rng, cfg)
	}
}

// labOpener opens a table with a configuration.
type labOpener func(context.Context, rma.Job, *rand.Rand, Config) (lab.Client, error)

// with is an opener that draws the configuration, except Access.
func with(open labOpener, access rma.Access) func(context.Context, rma.Job, *rand.Rand) (
	lab.Client, error) {
	return func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		cfg := labConfig(rng, job.Size())
		cfg.Access = access
		return open(ctx, job, rng, cfg)
	}
}

func openLabWords(ctx context.Context, job rma.Job, rng *rand.Rand, cfg Config) (lab.Client,
	error) {
	s, err := New(ctx, job, cfg)
	if err != nil {
		return nil, err
	}
	first := s.newTable(0) // the others may have come to the next one
	words := labWords(rng, first)
	c := &labSet{keys: len(words), t: first, check: s.check, len: s.Len}
	c.hash = func(key int) uint64 { return hashWord(words[key]) }
	c.key = func(bucket uint64) (int, error) {
		if key := slices.Index(words, bucket&^occupied); key >= 0 {
			return key, nil
		}
		return 0, fmt.Errorf("%#x was never inserted", bucket)
	}
	callItems(c, s, words)
	return c, nil
}

// itemSet is a set of words or of strings.
type itemSet[T any] interface {
	FindOrPut(item T) (Result, error)
	FindOrPutBatch(items []T, results []Result) error
	Contains(item T) (bool, error)
	ContainsBatch(items []T, results []Result) error
}

// callItems has a client call a set, whose items have keys.
func callItems[T any](c *labSet, s itemSet[T], items []T) {
	of := func(keys []int) []T {
		batch := make([]T, len(keys))
		for i, key := range keys {
			batch[i] = items[key]
		}
		return batch
	}
	c.insert = func(keys []int, single bool) ([]labAnswer, error) {
		results := make([]Result, len(keys))
		if single {
			r, err := s.FindOrPut(items[keys[0]])
			return answersOf([]Result{r}, nil), err
		}
		err := s.FindOrPutBatch(of(keys), results)
		return answersOf(results, nil), err
	}
	c.find = func(keys []int, single bool) ([]labAnswer, error) {
		results := make([]Result, len(keys))
		if single {
			found, err := s.Contains(items[keys[0]])
			return []labAnswer{{result: resultOf(found, err)}}, err
		}
		err := s.ContainsBatch(of(keys), results)
		return answersOf(results, nil), err
	}
}

// answersOf joins results with references, if there are any.
func answersOf(results []Result, refs []Ref) []labAnswer {
	answers := make([]labAnswer, len(results))
	for i, r := range results {
		answers[i].result = r
		if refs != nil && (r == Found || r == Inserted) {
			answers[i].ref, answers[i].hasRef = refs[i], true
		}
	}
	return answers
}

// resultOf is the answer of Contains.
func resultOf(found bool, err error) Result {
	switch {
	case err != nil:
		return 0
	case found:
		return Found
	}
	return NotFound
}
