package sim_test

import (
	"context"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// Gets that follow each other and go to one rank share messages, up to so many; others do not.
func TestGather(t *testing.T) {
	for _, c := range []struct {
		name     string
		gather   int
		post     string // the target of a get, or p: a put at rank 1
		messages uint64
	}{
		{"none", 0, "1111", 8}, {"one", 1, "1111", 8}, {"three", 3, "1111", 4},
		{"all", 9, "1111", 2}, {"two ranks", 9, "1122", 4}, {"in turns", 9, "1212", 8},
		{"a put between", 9, "11p11", 6},
	} {
		opts := sim.Options{Ranks: 3, Gather: c.gather}
		r := mustTogether(t, opts, 64, func(m *member) error {
			if m.Rank() > 0 {
				return nil
			}
			var handles []rma.Handle
			for i, to := range c.post {
				if to == 'p' {
					handles = append(handles, m.q.Put(make(rma.Buf, 1), m.w, 1, 63))
					continue
				}
				handles = append(handles, m.q.Get(make(rma.Buf, 8), m.w, int(to-'0'), i))
			}
			if err := m.q.Submit(); err != nil {
				return err
			}
			for _, h := range handles {
				if err := m.q.Wait(context.Background(), h); err != nil {
					return err
				}
				if _, err := m.q.Value(h); err != nil {
					return err
				}
			}
			return nil
		})
		if r.Messages != c.messages {
			t.Errorf("%s: %d messages, want %d", c.name, r.Messages, c.messages)
		}
	}
	if _, err := sim.Run(sim.Options{Ranks: 1, Gather: -1}, nil); err == nil {
		t.Error("a negative Gather is accepted")
	}
}
