package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
)

// TestSaveAndLoad: a table is loaded with another number of ranks, on another engine, with
// another layout and storage.
func TestSaveAndLoad(t *testing.T) {
	ctx := context.Background()
	for i, c := range []struct{ from, to Config }{
		{Config{KeySize: 4, ValueSize: 4}, Config{Layout: Cuckoo}},
		{Config{KeySize: 10, ValueSize: 50}, Config{Storage: Inline, Layout: Linear}},
		{Config{KeySize: 6, ValueSize: 4000, Variable: true}, Config{Load: 0.3}},
		{Config{KeySize: 9, ValueSize: 70, Layout: Cuckoo}, Config{OffsetBytes: 8}},
		{Config{KeySize: 9, ValueSize: 700, Variable: true, Layout: Cuckoo, Choices: 2},
			Config{KeySize: 9, ValueSize: 700, Variable: true}},
	} {
		for _, n := range []int{0, 2000} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			all := records(rng, c.from, n, copiesOf(c.from))
			m := modelOf(all)
			keys := m.keys(rng, c.from.KeySize)
			path := filepath.Join(t.TempDir(), "index")
			must(t, withIndex(engines[i%2], 3, c.from, all, func(x *Index) error {
				return x.Save(ctx, path)
			}))
			must(t, engines[(i+1)%2].Run(2, func(job rma.Job) error {
				x, err := Load(ctx, job, path, c.to)
				if err != nil {
					return err
				}
				defer x.Close()
				if got := x.Config(); got.Layout != c.to.Layout || x.Len() != uint64(len(all)) {
					return fmt.Errorf("loaded %d records into %+v", x.Len(), got)
				}
				err = errors.Join(x.CheckAll(ctx), m.verify(x.Reader, keys, c.from.KeySize))
				return errors.Join(err, job.Barrier(ctx))
			}))
		}
	}
}

// TestRefusedFiles: all ranks refuse a file that is not what it should be.
func TestRefusedFiles(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "index")
	cfg := Config{KeySize: 4, ValueSize: 9, Variable: true}
	all := records(rand.New(rand.NewPCG(1, 2)), cfg, 3000, 3)
	must(t, withIndex(engines[0], 2, cfg, all, func(x *Index) error { return x.Save(ctx, path) }))
	good, err := os.ReadFile(path)
	must(t, err)
	foreign := filepath.Join(dir, "foreign")
	write := func(description string, payload []byte) []byte {
		w, err := archive.Create(foreign)
		must(t, err)
		must(t, w.WriteBlock(0, 0, payload), w.Finish(1, []byte(description)), w.Close())
		content, err := os.ReadFile(foreign)
		must(t, err)
		return content
	}
	is := `{"kind":"farhash index","keyBytes":4,"valueBytes":9,"variable":true,"records":%d}`
	spoilt := bytes.Clone(good)
	spoilt[5000] ^= 1
	for _, c := range []struct {
		content []byte
		cfg     Config
		want    string
	}{
		{good[:len(good)-1], Config{}, "truncated"},
		{spoilt, Config{}, "fails its checksum"},
		{[]byte("nothing"), Config{}, "no archive"},
		{write(`{"kind":"farhash cache"}`, nil), Config{}, "is no farhash index"},
		{write(`{"kind":"farhash index","keyBytes":900}`, nil), Config{}, "KeySize must be"},
		{write(fmt.Sprintf(is, 1), []byte{1, 0, 'k', 'e', 'y', '1'}), Config{},
			"a block ends within a record"},
		{write(fmt.Sprintf(is, 1), []byte{1}), Config{}, "a block ends within a record"},
		{write(fmt.Sprintf(is, 1), []byte{255, 255, 'k', 'e', 'y', '1'}), Config{},
			"a block ends within a record"},
		{write(fmt.Sprintf(is, 2), []byte{1, 0, 'k', 'e', 'y', '1', 'v'}), Config{},
			"it has 1 records and says 2"},
		{good, Config{KeySize: 8}, "8 and 0 (false) are asked for; leave the sizes at 0"},
		{good, Config{Storage: Inline}, "need a heap"},
	} {
		must(t, os.WriteFile(path, c.content, 0o600))
		var told [2]bool
		must(t, engines[0].Run(2, func(job rma.Job) error {
			x, err := Load(ctx, job, path, c.cfg)
			if err == nil {
				return errors.Join(fmt.Errorf("loaded in spite of %q", c.want), x.Close())
			}
			told[job.Rank()] = strings.Contains(err.Error(), c.want)
			return job.Barrier(ctx)
		}))
		if !told[0] && !told[1] {
			t.Errorf("nobody said %q", c.want)
		}
	}
}

// FuzzDecode: whatever a block holds, decoding it ends, and stays inside.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{1, 0, 'k', 'e', 'y', '1', 'v', 0, 0, 'k', 'e', 'y', '2'}, true)
	f.Add([]byte("key1value"), false)
	f.Fuzz(func(t *testing.T, block []byte, variable bool) {
		cfg := Config{KeySize: 4, ValueSize: 5, Variable: variable}
		form, rest := formOf(&cfg), block
		var again []byte
		for len(rest) > 0 {
			r, n, ok := form.decode(rest)
			if !ok {
				return
			}
			again = append(again, rest[:form.prefix]...)
			again = append(append(again, r.Key...), r.Value...)
			rest = rest[n:]
		}
		if !bytes.Equal(again, block) {
			t.Errorf("%x was read as %x", block, again)
		}
	})
}
