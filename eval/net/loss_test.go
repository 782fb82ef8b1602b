package net

import (
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
)

// Where messages are lost, a batch of a map takes as long as one of a cache, and with growth three
// times as long on average.
func TestLoss(t *testing.T) {
	l := &loss{ranks: 2, lose: 100, batch: 256, batches: 60, depth: 64,
		roundTrip: 20 * time.Millisecond, resend: 200 * time.Millisecond}
	mean, longest := map[string]float64{}, map[string]float64{}
	err := local.Run(1, func(job rma.Job) error {
		return l.Round(t.Context(), job, 1, func(r record.Record) {
			table, lost := r.Keys[3].Value, r.Keys[4].Value
			mean[table+" "+lost], longest[table+" "+lost] = r.Values[0].Value, r.Values[2].Value
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []string{" 0", " 0.01"} {
		put, get := mean["cache-put"+lost], mean["cache-get"+lost]
		if !(put > 0) || mean["kv-put"+lost] > 1.25*put || mean["kv-get"+lost] > 1.25*get ||
			mean["kv-grow"+lost] > 3*put || mean["set"+lost] > 1.25*put {
			t.Errorf("lost%s: %v", lost, mean)
		}
	}
	if most := longest["kv-grow 0"]; most > 1500 {
		t.Errorf("without losses a batch of a map that grows takes %v ms", most)
	}
}
