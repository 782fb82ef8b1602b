package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// words8 are records of 4 and 4 bytes with different keys, of which keys are a sample.
func words8(n int, seed uint32) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var record [8]byte
		for i := range n {
			binary.LittleEndian.PutUint32(record[:], keyNumber(i, seed))
			binary.LittleEndian.PutUint32(record[4:], uint32(i))
			if !yield(Record{record[:4], record[4:]}, nil) {
				return
			}
		}
	}
}

// keyNumber is a bijection of 32 bits that looks random.
func keyNumber(i int, seed uint32) uint32 {
	x := uint32(i) + seed
	x = (x ^ x>>16) * 0x7feb352d
	x = (x ^ x>>15) * 0x846ca68b
	return x ^ x>>16
}

// sample are keys of words8, each of the n at most about once.
func sample(n, count int, seed uint32) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	var keys []byte
	for range count {
		keys = binary.LittleEndian.AppendUint32(keys, keyNumber(rng.IntN(n), seed))
	}
	return keys
}

// lpCosts are what a get costs by the model of LP 3.2, alone or not.
func lpCosts() rma.GetCosts {
	m := readsize.EDR()
	lineNs := m.LatencyNs + 64*m.ByteNs
	return rma.GetCosts{Ns: lineNs, ByteNs: m.ByteNs, EachNs: lineNs, EachByteNs: m.ByteNs}
}

// counted looks up a sample of present keys in some way, through queues.
func counted(x *Index, l Lookups, keys []byte) (readsize.Cost, error) {
	m := readsize.EDR()
	l.OneSided, l.Costs = true, lpCosts()
	r, err := x.NewReader(l)
	if err != nil {
		return readsize.Cost{}, err
	}
	matches := 0
	if err := r.LookupBatch(keys, func(int, Value) { matches++ }); err != nil {
		return readsize.Cost{}, err
	}
	s := r.Stats()
	if matches != len(keys)/4 || s.Matches != uint64(matches) || s.Lookups != s.Matches {
		return readsize.Cost{}, fmt.Errorf("%d keys have %d matches; counted: %+v", len(keys)/4,
			matches, s)
	}
	requests, _, bytes := s.PerLookup()
	ns := requests*m.LatencyNs + bytes*m.ByteNs
	return readsize.Cost{Requests: requests, Bytes: bytes, Ns: ns}, r.Close()
}

// TestLaw counts requests and bytes of lookups of present keys, and holds them against the laws of
// readsize.
func TestLaw(t *testing.T) {
	skipSlow(t)
	const n, lookups = 1 << 18, 40000
	keys := sample(n, lookups, 1)
	for _, load := range []float64{0.25, 0.5, 0.8, 0.9} {
		laws, err := readsize.NewLaws(load)
		must(t, err)
		m := readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}
		sizes, err := readsize.NewSizes(m, load)
		must(t, err)
		want := m.Cost(laws.OrderedPresent, sizes.Ordered...)
		t.Run(fmt.Sprint(load), func(t *testing.T) {
			got := costs(t, load, n, keys, Lookups{GuideBytes: -1})[0]
			// The means vary between tables and samples, the more the longer runs are.
			slack := 0.02 + 0.15*load*load*load
			if math.Abs(got.Requests-want.Requests) > 0.002+slack*(want.Requests-1) ||
				math.Abs(got.Bytes-want.Bytes) > slack*want.Bytes {
				t.Errorf("%.4f requests and %.1f bytes, want %.4f and %.1f", got.Requests,
					got.Bytes, want.Requests, want.Bytes)
			}
		})
	}
}

// costs are those of lookups in a table of n records with some load, by some ways.
func costs(t *testing.T, load float64, n int, keys []byte, ways ...Lookups) (all []readsize.Cost) {
	job := local.Single()
	defer job.Close()
	x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4, Load: load},
		words8(n, 1))
	must(t, err)
	for _, l := range ways {
		c, err := counted(x, l, keys)
		must(t, err)
		all = append(all, c)
	}
	return all
}

// TestTargets: at every load a lookup costs no more, by the cost model of LP 3.2 and as counted,
// than by the policies of the paper, of which readsize has the laws; and it takes not more than
// 1.01 requests and 460 bytes.
func TestTargets(t *testing.T) {
	skipSlow(t)
	const n, lookups = 1 << 18, 30000
	keys := sample(n, lookups, 1)
	for _, load := range []float64{0.25, 0.5, 0.65, 0.8, 0.9, 0.95} {
		laws, err := readsize.NewLaws(load)
		must(t, err)
		m := readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}
		sizes, err := readsize.NewSizes(m, load)
		must(t, err)
		paper := []readsize.Cost{m.Cost(laws.Present, 32), m.Cost(laws.Present, sizes.Capped),
			m.Cost(laws.Present, sizes.Uncapped), readsize.Cuckoo{Ways: 3, Slots: 4}.Parallel(m)}
		ours := costs(t, load, n, keys, Lookups{}, Lookups{GuideBytes: -1})
		for i, c := range paper {
			if ours[0].Ns > c.Ns || i < 3 && ours[1].Ns > c.Ns {
				t.Errorf("load %v: guided %+v, not guided %+v, policy %d of the paper %+v", load,
					ours[0], ours[1], i, c)
			}
		}
		for _, c := range ours {
			if c.Requests > 1.01 || c.Bytes > 460 {
				t.Errorf("load %v: %+v", load, c)
			}
		}
	}
}

// skipSlow skips a test that counts much in one goroutine under the race detector, which
// has nothing to see there.
func skipSlow(t *testing.T) {
	t.Helper()
	if slow {
		t.Skip("it takes long under the race detector, and has no races")
	}
}

// A lookup that waits alone reads by other costs than one of many.
func TestReadsGoByCosts(t *testing.T) {
	job := local.Single()
	defer job.Close()
	const n = 1 << 14
	x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4, Load: .9},
		words8(n, 1))
	must(t, err)
	r, err := x.NewReader(Lookups{OneSided: true, GuideBytes: -1,
		Costs: rma.GetCosts{Ns: 1e6, ByteNs: 1, EachNs: 65, EachByteNs: 1}})
	must(t, err)
	keys := sample(n, 1000, 1)
	must(t, r.LookupBatch(keys, func(int, Value) {}))
	s := r.Stats()
	batch, _, _ := s.PerLookup()
	for i := range 1000 {
		_, _, err := r.Get(keys[4*i:4*i+4], nil)
		must(t, err)
	}
	s = r.Stats()
	both, _, _ := s.PerLookup()
	if alone := 2*both - batch; alone > 1.05 || batch < 1.2 {
		t.Errorf("%.2f requests in a batch, %.2f alone", batch, alone)
	}
	must(t, r.Close(), x.Close())
}
