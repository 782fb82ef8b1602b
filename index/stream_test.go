package index

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/replay"
)

// TestMultisets builds tables of random multisets, of every shape, on every engine, and
// looks up in every way what is there and what is not. A plain map has the answers.
func TestMultisets(t *testing.T) {
	for i, e := range engines {
		for j, s := range shapes {
			if (slow || !replay.Nightly()) && (i+j)%3 > 0 {
				continue
			}
			for _, c := range []struct{ ranks, records int }{{1, 500}, {2, 1}, {3, 0}, {4, 200}} {
				name := fmt.Sprintf("%s/%s/ranks=%d/records=%d", e.Name, s.name, c.ranks, c.records)
				t.Run(name, func(t *testing.T) { multiset(t, e, s.cfg, c.ranks, c.records) })
			}
		}
	}
}

func multiset(t *testing.T, e engine, cfg Config, ranks, n int) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(ranks)))
	all := records(rng, cfg, n, 4)
	m := modelOf(all)
	if n == 0 {
		m = model{string(make([]byte, cfg.KeySize)): nil}
	}
	keys := m.keys(rng)
	must(t, withIndex(e, ranks, cfg, all, func(x *Index) error {
		keys := append(slices.Clone(keys), x.marker()...) // which nobody has
		if x.t.Records != uint64(len(all)) {
			return fmt.Errorf("%d records, want %d", x.t.Records, len(all))
		}
		if err := x.CheckAll(context.Background()); err != nil {
			return err
		}
		if err := m.verify(x.Reader, keys); err != nil {
			return fmt.Errorf("as default: %w", err)
		}
		for _, l := range ways {
			r, err := x.NewReader(l)
			if err != nil {
				return err
			}
			if err := m.verify(r, keys); err != nil {
				return fmt.Errorf("%+v: %w", l, err)
			}
			if err := r.Close(); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestManyCopies has keys with hundreds of records: runs are longer than any read, and
// displacements than fit in a byte.
func TestManyCopies(t *testing.T) {
	for i, e := range engines[:2] {
		for j, s := range shapes {
			if slow && (i+j)%3 > 0 {
				continue
			}
			if s.cfg.ValueSize > 1000 {
				continue
			}
			t.Run(e.Name+"/"+s.name, func(t *testing.T) { manyCopies(t, e, s.cfg) })
		}
	}
}

func manyCopies(t *testing.T, e engine, cfg Config) {
	rng := rand.New(rand.NewPCG(4, 5))
	all := records(rng, cfg, 300, 4)
	for i, copies := range []int{0: 600, 1: 100, 2: 40} {
		for range copies {
			all = append(all, Record{all[i].Key, bytes.Repeat([]byte{7}, cfg.ValueSize)})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	m := modelOf(all)
	keys := m.keys(rng)
	must(t, withIndex(e, 2, cfg, all, func(x *Index) error {
		if err := x.CheckAll(context.Background()); err != nil {
			return err
		}
		for _, l := range append(ways, Lookups{}) {
			r, err := x.NewReader(l)
			if err != nil {
				return err
			}
			if err := m.verify(r, keys); err != nil {
				return fmt.Errorf("%+v: %w", l, err)
			}
		}
		return nil
	}))
}
