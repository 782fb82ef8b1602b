package kv

import (
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// Writes of one batch to one key do not lose compare-and-swaps to each other.
func TestBatchOfOneKey(t *testing.T) {
	job := local.SingleWith(local.Options{Hidden: true})
	defer job.Close()
	m, err := New(t.Context(), job, Config{Slots: 64, Bytes: 1 << 16, MaxKey: 8,
		MaxValue: 8})
	if err != nil {
		t.Fatal(err)
	}
	calls := make([]Call, 300)
	for i := range calls {
		calls[i] = Call{Kind: Put, Key: []byte("key"), Value: fmt.Append(nil, i)}
		if i%10 == 9 {
			calls[i].Kind = Get
			calls[i].Value = nil
		}
	}
	if err := m.Batch(calls); err != nil {
		t.Fatal(err)
	}
	versions := map[Version]bool{}
	for i := range calls {
		if calls[i].Kind == Put {
			versions[calls[i].Version] = calls[i].Done
		}
	}
	puts := m.Stats().Kinds[Put]
	if len(versions) != 270 || puts.Lost > 0 || puts.RoundTrips > 3*270 {
		t.Errorf("%d versions, %d compare-and-swaps lost, %d round trips", len(versions),
			puts.Lost, puts.RoundTrips)
	}
	value, version, found, err := m.Get([]byte("key"), nil)
	if err != nil || !found || !versions[version] {
		t.Errorf("%q, %v, %v, %v", value, version, found, err)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
