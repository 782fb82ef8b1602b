package ne

import (
	"context"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
)

// TestFigure1: each operation is measured with each length, a compare-and-swap with one.
func TestFigure1(t *testing.T) {
	f := figure1{bytes: []int{8, 1024}, operations: 20}
	seen := map[string]int{}
	err := local.RunWith(local.Options{Hosts: 2}, 2, func(job rma.Job) error {
		return f.Round(context.Background(), job, 0, func(r record.Record) {
			if seen[r.Keys[1].Value]++; len(r.Values) == 0 {
				t.Errorf("nothing was measured: %v", r)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for op, n := range map[string]int{"get": 2, "put": 2, "swap": 1, "tcp": 2} {
		if seen[op] != n {
			t.Errorf("%s was measured %d times, not %d", op, seen[op], n)
		}
	}
}
