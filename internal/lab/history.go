package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
		if !porcupine.CheckOperations(r.table.Model, inTime(operations)) {
			return fmt.Errorf("the history of key %d is not linearizable:\n%s", key,
				Print(operations))
		}
	}
	return nil
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
