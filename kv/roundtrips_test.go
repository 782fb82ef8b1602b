package kv

import (
	"encoding/binary"
	"testing"
)

// TestRoundTrips counts them as NE Table 1 does: a single writer, new keys, in the load
// before alpha; and keys that are there. The paper's figures are 2.5, 3.5, 5.8, 9.9 and 13.3
// for a put, 2 for a get.
func TestRoundTrips(t *testing.T) {
	for _, copies := range []bool{false, true} {
		cfg := Config{Slots: 1 << 13, Bytes: 1 << 20, MaxKey: 8, MaxValue: 8,
			Copies: copies}
		present, get := 3.0, 2.1
		if copies {
			present, get = 2.1, 1.1
		}
		limits := []struct{ load, put, present, get float64 }{
			{.1, 2.1, present, get}, {.25, 2.1, present, get}, {.5, 2.1, present, get},
			{.75, 2.2, present, get}, {.9, 3.5, present + .1, get + .1},
		}
		err := withMap(engines[1], 1, cfg, func(m *Map) error {
			n := uint64(0)
			for _, l := range limits {
				for ; n < uint64(float64(m.Slots())*(l.load-.02)); n++ {
					if err := do(m, Put, n); err != nil {
						return err
					}
				}
				before := n
				put, err := cost(m, Put, n, uint64(float64(m.Slots())*l.load))
				if err != nil {
					return err
				}
				n = uint64(float64(m.Slots()) * l.load)
				over, err := cost(m, Put, 0, before)
				if err != nil {
					return err
				}
				found, err := cost(m, Get, 0, before)
				if err != nil {
					return err
				}
				t.Logf("copies %v, load %.2f: put %.3f, put again %.3f, get %.3f", copies,
					l.load, put, over, found)
				if put > l.put || over > l.present+.005 || found > l.get {
					t.Errorf("more than %.2f, %.2f and %.2f", l.put, l.present, l.get)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRoundTripsOfAdds counts them for new keys, and for keys that are there.
func TestRoundTripsOfAdds(t *testing.T) {
	for _, copies := range []bool{false, true} {
		cfg := Config{Slots: 1 << 13, Bytes: 1 << 20, MaxKey: 8, MaxValue: 8, Copies: copies}
		err := withMap(engines[1], 1, cfg, func(m *Map) error {
			first, err := cost(m, Add, 0, m.Slots()/2)
			if err != nil {
				return err
			}
			again, err := cost(m, Add, 0, m.Slots()/2)
			limit := 4.1
			if copies {
				limit = 3.1
			}
			if t.Logf("copies %v: new %.3f, there %.3f", copies, first, again); first > 2.1 ||
				again > limit {
				t.Errorf("more than 2.1 and %.1f", limit)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// do makes a call with key number n.
func do(m *Map, kind Kind, n uint64) error {
	key := binary.LittleEndian.AppendUint64(nil, n)
	return m.one(&Call{Kind: kind, Key: key, Value: key[:0:0], Delta: 1}, false)
}

// cost is the mean of round trips of calls with keys from first to last.
func cost(m *Map, kind Kind, first, last uint64) (float64, error) {
	before := m.Stats().Kinds[kind]
	for n := first; n < last; n++ {
		if err := do(m, kind, n); err != nil {
			return 0, err
		}
	}
	after := m.Stats().Kinds[kind]
	return float64(after.RoundTrips-before.RoundTrips) / float64(after.Calls-before.Calls), nil
}
