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
		switch decide(r.table.Model, operations) {
		case porcupine.Illegal:
			return fmt.Errorf("the history of key %d is not linearizable:\n%s", key,
				Print(operations))
		case porcupine.Unknown:
			r.counts.Undecided++
		}
	}
	return nil
}

// decideLimit is how long the history of a key may take. It takes some milliseconds, but may
// take for ever, and all memory.
const decideLimit = 30 * time.Second

// decide tells whether a history is linearizable. Each operation without an answer may have been
// done or not, at any time since, and all combinations are tried where none is right: 32 of them
// are too many. Mostly all is well without any of them.
func decide(model porcupine.Model, operations []Operation) porcupine.CheckResult {
	answered := slices.DeleteFunc(slices.Clone(operations), func(o Operation) bool {
		return o.ReturnNs == Open
	})
	is := porcupine.CheckOperationsTimeout(model, inTime(answered), decideLimit)
	if is != porcupine.Ok && len(answered) < len(operations) {
		is = porcupine.CheckOperationsTimeout(model, inTime(operations), decideLimit)
	}
	return is
}

// inTime is operations as porcupine takes them. Those of one moment count as concurrent.
func inTime(operations []Operation) []porcupine.Operation {
	history := make([]porcupine.Operation, len(operations))
	for i, o := range operations {
		history[i] = porcupine.Operation{ClientId: o.Rank, Input: o.What, Output: o.Answer,
			Call: o.CallNs, Return: o.ReturnNs}
	}
	return history
}

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
