package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearizable checks the history key by key.
func (r *run) linearizable() error {
	byKey := map[int][]Operation{}
	for _, o := range r.history {
		byKey[o.Key] = append(byKey[o.Key], o)
		r.counts.Operations++
		if o.ReturnNs == Open {
			r.counts.Open++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		operations := byKey[key]
		switch decide(r.table.Model, operations, decideLimit) {
		case porcupine.Illegal:
			return fmt.Errorf("the history of key %d is not linearizable:\n%s", key,
				Print(operations))
		case porcupine.Unknown:
			r.counts.Undecided++
		}
	}
	return nil
}

const (
	// decideLimit is how long the history of a key may take. It takes some milliseconds, but may
	// take for ever, and all memory.
	decideLimit = 30 * time.Second
	// openFew operations without an answer are no trouble.
	openFew = 10
)

// decide checks whether a history is linearizable. Each operation without an answer may have been
// done or not, at any time since, and porcupine tries all combinations, and 32 have
// too many.
// Mostly all is well without any of them, or with one or two; half of the time is for those.
func decide(model porcupine.Model, operations []Operation, limit time.Duration,
) porcupine.CheckResult {
	var answered, open []Operation
	for _, o := range operations {
		if o.ReturnNs == Open {
			open = append(open, o)
		} else {
			answered = append(answered, o)
		}
	}
	check := func(limit time.Duration, done ...Operation) porcupine.CheckResult {
		return porcupine.CheckOperationsTimeout(model, inTime(append(done, answered...)), limit)
	}
	if len(open) <= openFew {
		return check(limit, open...)
	}
	begin := time.Now()
	for _, done := range few(open) {
		if check(limit/100, done...) == porcupine.Ok {
			return porcupine.Ok
		}
		if time.Since(begin) > limit/2 {
			break
		}
	}
	return check(limit/2, open...)
}

// few are none of the operations, each one alone, and two of them.
func few(open []Operation) [][]Operation {
	sets := [][]Operation{nil}
	for i, o := range open {
		sets = append(sets, []Operation{o})
		for _, other := range open[:i] {
			sets = append(sets, []Operation{o, other})
		}
	}
	return sets
}

// inTime is operations as porcupine takes them.
func inTime(operations []Operation) []porcupine.Operation {
	history := make([]porcupine.Operation, len(operations))
	for i, o := range operations {
		history[i] = porcupine.Operation{ClientId: o.Rank, Input: o.What, Output: o.Answer,
			Call: o.CallNs<<orderBits | o.callOrder, Return: o.ReturnNs}
		if o.ReturnNs != Open {
			history[i].Return = o.ReturnNs<<orderBits | o.returnOrder
		}
	}
	return history
}

// orderBits are enough for the calls and returns of a schedule, and leave two hours for its time.
const orderBits = 20

// Print lists operations by the time of their calls.
func Print(operations []Operation) string {
	operations = slices.Clone(operations)
	slices.SortStableFunc(operations, func(a, b Operation) int { return int(a.CallNs - b.CallNs) })
	var b strings.Builder
	for _, o := range operations {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
