package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// labAnswer is what a lookup finds: how many values, and a digest of them in their order.
type labAnswer struct {
	values int
	digest uint64
}

func answerOf(values []string) labAnswer {
	slices.Sort(values)
	digest := uint64(0)
	for _, v := range values {
		digest = xxh3.HashStringSeed(v, digest+1)
	}
	return labAnswer{len(values), digest}
}

// labModel is a key of a table that is only read. The input of a lookup is its answer, which
// a plain map has given.
var labModel = porcupine.Model{
	Init: func() any { return nil },
	Step: func(state, input, output any) (bool, any) {
		return output == nil || output == input, state
	},
}

var labTable = &lab.Table{Name: "index", Model: labModel,
	Open: func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		return openLab(ctx, job, rng, rma.Auto)
	}}

// labIndex is what a rank does with an index.
type labIndex struct {
	x       *Index
	readers []*Reader
	keys    [][]byte
	want    []labAnswer // by key
}

func openLab(ctx context.Context, job rma.Job, rng *rand.Rand, access rma.Access) (
	lab.Client, error) {
	cfg := labConfig(rng)
	cfg.Access = access
	all := labRecords(rng, cfg, job.Size())
	m := modelOf(all)
	x, err := Build(ctx, job, cfg, each(all, job.Rank(), job.Size()))
	if err != nil {
		return nil, err
	}
	l := &labIndex{x: x, keys: m.some(rng, 60, cfg.KeySize)}
	l.keys = append(l.keys, x.marker()...)
	for _, key := range l.keys {
		l.want = append(l.want, answerOf(m[string(key)]))
	}
	// Each rank has another way beside the default.
	way := ways[(rng.IntN(len(ways))+job.Rank())%len(ways)]
	way.Depth = 1 + rng.IntN(20)
	r, err := x.NewReader(way)
	l.readers = []*Reader{x.Reader, r}
	return l, err
}

// some are so many keys of a model, as many others, and zeros.
func (m model) some(rng *rand.Rand, n, size int) [][]byte {
	keys := m.keys(rng)
	rng.Shuffle(len(m), func(i, j int) {
		for k := range 2 {
			keys[2*i+k], keys[2*j+k] = keys[2*j+k], keys[2*i+k]
		}
	})
	return append(keys[:min(2*n, len(keys))], make([]byte, size))
}

// labConfig draws the shape of a table.
func labConfig(rng *rand.Rand) Config {
	cfg := Config{KeySize: 4, ValueSize: 4, Load: 0.1 + 0.89*rng.Float64()}
	if rng.IntN(3) > 0 {
		cfg.KeySize, cfg.ValueSize = 4+rng.IntN(9), rng.IntN(40)
		cfg.Storage = Storage(rng.IntN(3))
		if cfg.Storage != Inline && rng.IntN(2) == 0 {
			cfg.Variable, cfg.ValueSize = true, rng.IntN(500)
		}
		if cfg.Storage != Inline && rng.IntN(2) == 0 {
			cfg.VariableKeys, cfg.KeySize = true, 4+rng.IntN(100)
		}
		if cfg.Storage == Heap && (cfg.Variable || cfg.VariableKeys) && cfg.ValueSize%2 == 0 {
			cfg.Storage = Hybrid
		}
	}
	return cfg
}

// labRecords draws records, of which some keys have many. There are some thousand homes on a
// rank, so that most parts of a store have a few, and share one with the next part.
func labRecords(rng *rand.Rand, cfg Config, ranks int) (all []Record) {
	n := ranks * rng.IntN(2000)
	switch rng.IntN(100) {
	case 0:
		n *= 20
	case 1, 2, 3, 4, 5, 6, 7, 8, 9:
		n = rng.IntN(50)
	}
	hot := 1 << rng.IntN(9) // one key of so many has more than a record
	copies := []int{1, 4, 100, 100, 100, 900}[rng.IntN(6)]
	first := rng.Uint32()
	for number := first; len(all) < n; number++ {
		key := make([]byte, cfg.KeySize)
		binary.LittleEndian.PutUint32(key, number*0x9E3779B1)
		key[cfg.KeySize-1] ^= byte(cfg.KeySize - MinKeySize)
		if cfg.VariableKeys {
			key = key[:4+rng.IntN(cfg.KeySize-3)]
		}
		many := 1
		if rng.IntN(hot) == 0 {
			many = 1 + rng.IntN(copies)
		}
		for range many {
			size := cfg.ValueSize
			if cfg.Variable && rng.IntN(20) > 0 { // some are far longer than the others
				size = rng.IntN(size/8 + 1)
			}
			value := make([]byte, size+8)
			binary.LittleEndian.PutUint64(value[size/2:], rng.Uint64())
			all = append(all, Record{key, value[:size]})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Draw chooses a batch, or a single lookup.
func (l *labIndex) Draw(rng *rand.Rand) lab.Call {
	keys := make([]int, 1+rng.IntN(40))
	if rng.IntN(3) == 0 {
		keys = keys[:1]
	}
	for i := range keys {
		keys[i] = rng.IntN(len(l.want))
	}
	return l.call(rng.IntN(len(l.readers)), keys, len(keys) == 1 && rng.IntN(2) == 0)
}

func (l *labIndex) call(reader int, keys []int, single bool) lab.Call {
	r := l.readers[reader]
	call := lab.Call{}
	var batch [][]byte
	for _, key := range keys {
		call.Inputs = append(call.Inputs, lab.Input{Key: key, What: l.want[key]})
		batch = append(batch, l.keys[key])
	}
	call.Do = func(answers []any) (err error) {
		values := make([][]string, len(keys))
		found := func(i int, v Value) { values[i] = append(values[i], string(v)) }
		if single {
			for v, failed := range r.Lookup(batch[0]) {
				if err = failed; err == nil {
					found(0, v)
				}
			}
		} else {
			err = l.batch(r, batch, found)
		}
		if err != nil {
			return fmt.Errorf("%+v: %w", r.cfg, err)
		}
		for i := range answers {
			answers[i] = answerOf(values[i])
		}
		return nil
	}
	return call
}

// batch looks keys up together.
func (l *labIndex) batch(r *Reader, keys [][]byte, found func(int, Value)) error {
	if len(keys)%2 == 0 || l.x.t.VariableKeys {
		return r.LookupKeys(keys, found)
	}
	return r.LookupBatch(slices.Concat(keys...), found)
}

// Audit looks all keys up, by all readers.
func (l *labIndex) Audit() (calls []lab.Call) {
	keys := make([]int, len(l.want))
	for i := range keys {
		keys[i] = i
	}
	for reader := range l.readers {
		calls = append(calls, l.call(reader, keys, false))
	}
	return calls
}

// Check checks the memory of all ranks.
func (l *labIndex) Check(ctx context.Context, _ []lab.Operation) error {
	for rank := range l.x.t.ranks {
		if err := l.x.t.check(ctx, rank); err != nil {
			return err
		}
	}
	return nil
}
