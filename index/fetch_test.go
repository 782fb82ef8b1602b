package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
)

// TestHeapRoundTrips: the records of a key are in flight at the same time, so that a lookup
// waits twice, however many they are; and those that lie behind each other are one request.
func TestHeapRoundTrips(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		copies int
	}{
		{Config{KeySize: 8, ValueSize: 56}, 100}, {Config{KeySize: 8, ValueSize: 56}, 1},
		{Config{KeySize: 8, ValueSize: 4000}, 60},
		{Config{KeySize: 8, ValueSize: 200, Variable: true}, 100},
	} {
		name := fmt.Sprintf("value=%d,%v/copies=%d", c.cfg.ValueSize, c.cfg.Variable, c.copies)
		t.Run(name, func(t *testing.T) { heapRoundTrips(t, c.cfg, c.copies) })
	}
}

func heapRoundTrips(t *testing.T, cfg Config, copies int) {
	rng := rand.New(rand.NewPCG(1, 2))
	const hot = 5
	var all []Record
	for _, r := range records(rng, cfg, 80, 1) {
		for n := range copies {
			if n == 0 || len(all) < hot*copies {
				all = append(all, r)
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	m := modelOf(all)
	keys := m.keys(rng)
	must(t, withIndex(engines[1], 2, cfg, all, func(x *Index) error {
		r, err := x.NewReader(Lookups{Depth: 8, OneSided: true, Costs: lpCosts()})
		if err != nil {
			return err
		}
		defer r.Close()
		for key, values := range m {
			if len(values) < copies {
				continue
			}
			var got []string
			counted, before := r.Stats(), r.engineStats()
			err := r.LookupBatch([]byte(key), func(_ int, v Value) { got = append(got, string(v)) })
			if err != nil {
				return err
			}
			if err := m.same("in the heap", []byte(key), got); err != nil {
				return err
			}
			s, trips := r.Stats(), r.engineStats().Since(before)
			s.Rounds -= counted.Rounds
			s.Requests -= counted.Requests
			s.HeapRequests -= counted.HeapRequests
			// After the last slots the records, and the end of a long one.
			if s.Rounds > s.Requests+2 || s.Rounds > 4 ||
				trips.RoundTrips != s.Rounds || trips.Gets != s.Requests+s.HeapRequests {
				return fmt.Errorf("%d records took %+v, and the queue counts %+v", len(got), s,
					trips)
			}
			most := uint64(len(got)*m.words(values, cfg)/8+len(got))/64 + 6
			if cfg.ValueSize > 1000 {
				most = uint64(len(got)) + 6
			}
			if s.HeapRequests > most {
				return fmt.Errorf("%d records took %d requests to the heap, want at most %d",
					len(got), s.HeapRequests, most)
			}
		}
		// With hardly any buffers to share it takes longer, and nobody waits for ever.
		s, _, err := r.sessions.Take()
		if err != nil {
			return err
		}
		s.pool.free, s.pool.more = nil, 1
		r.sessions.Give(s, false)
		return m.verify(r, keys)
	}))
}

// words is the mean length of records with these values, in bytes.
func (m model) words(values []string, cfg Config) int {
	sum := 0
	for _, v := range values {
		sum += len(v) + cfg.KeySize + 2 + 7
	}
	return sum / len(values)
}

// engineStats is what the queues of a reader that nobody uses have counted.
func (r *Reader) engineStats() (all rma.Stats) {
	s, ok, err := r.sessions.Take()
	if err != nil || !ok {
		return all
	}
	defer r.sessions.Give(s, false)
	return *s.Stats()
}
