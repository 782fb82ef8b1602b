package index

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

var carriers = lab.Carriers()

// TestShipped is TestMultisets with batches that are shipped.
func TestShipped(t *testing.T) {
	for i, e := range carriers {
		for j, s := range shapes {
			if slow && (i+j)%4 > 0 {
				continue
			}
			t.Run(e.Name+"/"+s.name, func(t *testing.T) {
				cfg := s.cfg
				cfg.Access = rma.Shipped
				multiset(t, e, cfg, 2, 1)
				multiset(t, e, cfg, 3, 300)
			})
		}
	}
}

// Owners answer, each key is counted once, and keys with more values than an answer has room
// for are looked up by the rank that asked.
func TestShippedCounts(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 40, Access: rma.Shipped}
	rng := rand.New(rand.NewPCG(6, 7))
	all := records(rng, cfg, 400, 1)
	for range 500 {
		all = append(all, Record{all[0].Key, bytes.Repeat([]byte{9}, cfg.ValueSize)})
	}
	m := modelOf(all)
	var keys []byte
	for key := range m {
		keys = append(keys, key...)
	}
	for _, e := range carriers {
		must(t, withIndex(e, 2, cfg, all, func(x *Index) error {
			values := 0
			err := x.LookupBatch(keys, func(int, Value) { values++ })
			if err != nil {
				return err
			}
			s := x.Stats()
			if values != len(all) || s.Matches != uint64(len(all)) || s.Lookups != uint64(len(m)) {
				return fmt.Errorf("%d values of %d, and %+v", values, len(all), s)
			}
			if s.Shipped < uint64(len(m))/3 || s.Shipped > uint64(len(m))*2/3 ||
				s.ShippedRequests == 0 || s.ShippedRequests > 5 {
				return fmt.Errorf("of %d look-ups on two ranks were shipped: %+v", len(m), s)
			}
			if !strings.HasPrefix(x.Stats().Access.String(), "shipped") {
				return fmt.Errorf("the index says %q", x.Stats().Access)
			}
			return nil
		}))
	}
}

// A request that is none is refused and harms nobody.
func TestForeignRequest(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 4, Access: rma.Shipped}
	all := records(rand.New(rand.NewPCG(8, 9)), cfg, 50, 1)
	must(t, withIndex(carriers[0], 2, cfg, all, func(x *Index) error {
		other := []uint64{1}
		for rank := x.t.job.Rank(); rank == x.t.job.Rank(); other[0]++ {
			rank, _ = place(hashKey(core.BytesOf(other)), 2)
		}
		other[0]--
		for _, c := range []struct {
			n           int
			request, to []uint64
		}{{3, []uint64{1, 2}, make([]uint64, 9)}, {1, []uint64{1, 2}, make([]uint64, 9)},
			{2, []uint64{1, 2}, make([]uint64, 1)}, {1, other, make([]uint64, 9)}} {
			if _, err := x.answer(0, c.n, c.request, c.to); err == nil {
				return fmt.Errorf("%d keys in %d words are answered", c.n, len(c.request))
			}
		}
		return nil
	}))
}

// An answer that is none is an error, whatever its words say.
func TestForeignAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 10))
	for range 20_000 {
		c := Config{ValueSize: rng.IntN(20), Variable: rng.IntN(2) == 0}
		x := table{description: description{Config: c, Records: 100}}
		from := make([]uint64, 1+rng.IntN(12))
		for i := range from {
			from[i] = rng.Uint64() >> rng.IntN(65)
		}
		values := uint64(0)
		words, err := x.unpackValues(from, func(Value) { values++ })
		if words > len(from) || err == nil && (words < 1 || values != from[0]) {
			t.Fatalf("%v: %d values in %d words: %v", from, values, words, err)
		}
	}
	x := table{description: description{Config: Config{ValueSize: 12}, Records: 2}}
	if words, err := x.unpackValues([]uint64{2, 1, 2, 3, 4, 5}, func(Value) {}); words != 5 ||
		err != nil {
		t.Errorf("two values of 12 bytes have %d words: %v", words, err)
	}
}

// Access is checked, and where the engine carries nothing it can be no other than one-sided.
func TestAccessRefused(t *testing.T) {
	for _, access := range []rma.Access{7, rma.Shipped} {
		err := local.RunWith(local.Options{Hidden: true}, 2, func(job rma.Job) error {
			_, err := Build(context.Background(), job, Config{KeySize: 8, Access: access}, nil)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "Access") &&
			!strings.Contains(err.Error(), "carries no requests") {
			t.Errorf("Access %v: %v", access, err)
		}
	}
}

// TestUnpackKey: keys of a request are in it, whatever it says.
func TestUnpackKey(t *testing.T) {
	for _, cfg := range []Config{{KeySize: 12}, {KeySize: 12, VariableKeys: true}} {
		is := &table{description: description{Config: cfg}}
		for words := range 4 {
			for _, size := range []uint64{0, 1, 8, 9, 12, 13, 1 << 63} {
				request := make([]uint64, words)
				if words > 0 {
					request[0] = size
				}
				key, rest, ok := is.unpackKey(request)
				want := words >= 2
				if cfg.VariableKeys {
					want = words > 0 && size <= 12 && words >= 1+core.WordsOf(int(size))
				} else {
					size = 12
				}
				if ok != want || ok && (len(key) != int(size) || len(rest) > words) {
					t.Errorf("%+v, %d words, size %d: %d bytes, %d words left, %v", cfg, words,
						size, len(key), len(rest), ok)
				}
			}
		}
	}
}
