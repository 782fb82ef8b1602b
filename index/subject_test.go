package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// must ends a test after an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// engine runs ranks.
type engine = lab.Engine

var engines = lab.Engines()

// shapes are configurations of every storage.
var shapes = []struct {
	name string
	cfg  Config
}{
	{"words", Config{KeySize: 4, ValueSize: 4, Load: 0.95}},
	{"sparse", Config{KeySize: 4, ValueSize: 4, Load: 0.1}},
	{"inline", Config{KeySize: 8, ValueSize: 5, Load: 0.9}},
	{"novalue", Config{KeySize: 6, Load: 0.5}},
	{"heap", Config{KeySize: 10, ValueSize: 30, Load: 0.95}},
	{"smallkey", Config{KeySize: 4, ValueSize: 40}},
	{"variable", Config{KeySize: 16, ValueSize: 700, Variable: true, Load: 0.9}},
	{"strings", Config{KeySize: 40, VariableKeys: true, ValueSize: 8}},
	{"hybrid", Config{KeySize: 16, ValueSize: 700, Variable: true, Storage: Hybrid, Load: 0.9}},
	{"hybrid strings", Config{KeySize: 40, VariableKeys: true, ValueSize: 8, Storage: Hybrid}},
	{"hybrid pairs", Config{KeySize: 90, VariableKeys: true, ValueSize: 50, Variable: true,
		Load: 0.95, Storage: Hybrid, InlineBytes: 40}},
	{"pairs", Config{KeySize: 90, VariableKeys: true, ValueSize: 50, Variable: true, Load: 0.95}},
}

// ways are those to look up through queues.
var ways = []Lookups{{OneSided: true}, {OneSided: true, GuideBytes: -1},
	{OneSided: true, GuideBytes: -1, Depth: 3}}

// records are a random multiset: some keys are zero or all ones, some stand there several
// times, with equal and with different values.
func records(rng *rand.Rand, cfg Config, n, copies int) []Record {
	var all []Record
	for len(all) < n {
		key := make([]byte, keySize(rng, cfg))
		switch rng.IntN(20) {
		case 0: // zero
		case 1:
			for i := range key {
				key[i] = 0xff
			}
		case 2:
			putNumber(key[max(0, len(key)-4):], rng.Uint32N(50))
		default:
			putNumber(key, rng.Uint32())
			if len(key) > 4 {
				key[len(key)-1] ^= byte(rng.Uint32())
			}
		}
		stands := 0
		for _, r := range all {
			if bytes.Equal(r.Key, key) {
				stands++
			}
		}
		for range min(1+rng.IntN(copies), copies-stands) {
			size := cfg.ValueSize
			if cfg.Variable {
				size = min(rng.IntN(cfg.ValueSize+1), rng.IntN(cfg.ValueSize+1))
			}
			value := make([]byte, size)
			for i := range value {
				value[i] = byte(rng.Uint32N(4) + 1)
			}
			all = append(all, Record{key, value})
		}
	}
	return all
}

// keySize is the size of a key.
func keySize(rng *rand.Rand, cfg Config) int {
	if cfg.VariableKeys {
		return min(rng.IntN(cfg.KeySize+1), rng.IntN(cfg.KeySize+1))
	}
	return cfg.KeySize
}

// putNumber writes as many bytes of a number as there is room for.
func putNumber(to []byte, number uint32) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], number)
	copy(to, b[:])
}

// each gives the records of a rank: number rank, rank+ranks, ...
func each(all []Record, rank, ranks int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var key, value []byte
		for i := rank; i < len(all); i += ranks {
			key = append(key[:0], all[i].Key...)
			value = append(value[:0], all[i].Value...)
			if !yield(Record{key, value}, nil) {
				return
			}
		}
	}
}

// model is what a table should say.
type model map[string][]string

func modelOf(all []Record) model {
	m := model{}
	for _, r := range all {
		m[string(r.Key)] = append(m[string(r.Key)], string(r.Value))
	}
	for _, values := range m {
		slices.Sort(values)
	}
	return m
}

// keys are all keys of a model, each before another one.
func (m model) keys(rng *rand.Rand) (keys [][]byte) {
	var known []string
	for key := range m {
		known = append(known, key)
	}
	slices.Sort(known)
	for _, key := range known {
		other := []byte(key)
		if len(other) > 0 {
			other[rng.IntN(len(other))] ^= 1 << rng.IntN(8)
		}
		keys = append(keys, []byte(key), other)
	}
	return keys
}

// marker is the key of empty slots, if there is one.
func (x *Index) marker() [][]byte {
	if x.t.Marker == nil {
		return nil
	}
	return [][]byte{x.t.Marker}
}

// verify looks up keys in a batch and one by one.
func (m model) verify(r *Reader, keys [][]byte) error {
	if err := m.verifyBatch("in a list", keys, r.LookupKeys); err != nil {
		return err
	}
	if !r.t.VariableKeys {
		err := m.verifyBatch("in a batch", keys, func(_ [][]byte, found func(int, Value)) error {
			return r.LookupBatch(slices.Concat(keys...), found)
		})
		if err != nil {
			return err
		}
	}
	for i, key := range keys {
		if i%7 == 0 {
			var single []string
			for v, err := range r.Lookup(key) {
				if err != nil {
					return err
				}
				single = append(single, string(v))
			}
			if err := m.same("alone", key, single); err != nil {
				return err
			}
			one, ok, err := r.Get(key, []byte("before"))
			if err != nil {
				return err
			}
			value, _ := strings.CutPrefix(string(one), "before")
			if ok != (len(single) > 0) || ok && !slices.Contains(single, value) {
				return fmt.Errorf("key %x has value %x (%v), and should have one of %x", key, value,
					ok, single)
			}
		}
	}
	return nil
}

// verifyBatch looks up keys together.
func (m model) verifyBatch(how string, keys [][]byte,
	lookup func([][]byte, func(int, Value)) error) error {
	answers := make([][]string, len(keys))
	found := func(i int, v Value) { answers[i] = append(answers[i], string(v)) }
	if err := lookup(keys, found); err != nil {
		return err
	}
	for i, key := range keys {
		if err := m.same(how, key, answers[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m model) same(how string, key []byte, got []string) error {
	slices.Sort(got)
	if !slices.Equal(got, m[string(key)]) {
		return fmt.Errorf("key %x looked up %s has %d values %.200q; it should have %d: %.200q",
			key, how, len(got), got, len(m[string(key)]), m[string(key)])
	}
	return nil
}

// withIndex runs fn with an index of the records on every rank.
func withIndex(e engine, ranks int, cfg Config, all []Record, fn func(x *Index) error) error {
	return e.Run(ranks, func(job rma.Job) error {
		x, err := Build(context.Background(), job, cfg, each(all, job.Rank(), ranks))
		if err != nil {
			return err
		}
		err = errors.Join(fn(x), job.Barrier(context.Background()))
		return errors.Join(err, x.Close())
	})
}
