package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// TestCutShort: a file that is cut short while it is mapped gives errors.
func TestCutShort(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems may show zeros there")
	}
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	path := filepath.Join(t.TempDir(), "index")
	saved(t, path, 1, Config{KeySize: 4, ValueSize: 4}, records(rand.New(rand.NewPCG(1, 2)),
		Config{KeySize: 4, ValueSize: 4}, 10000, 1))
	x, err := Open(ctx, job, path)
	must(t, err)
	defer x.Close()
	must(t, os.Truncate(path, 4096))
	keys := make([]byte, 4000)
	for i := range keys {
		keys[i] = byte(i * i)
	}
	says(t, x.LookupBatch(keys, func(int, Value) {}), "cannot be read any more")
	for _, err := range x.Lookup(keys[:4]) {
		says(t, err, "cannot be read any more")
	}
	says(t, x.Check(ctx), "cannot be read any more")
	says(t, x.Save(ctx, path+"2"), "cannot be read any more")
	defer func() {
		if recover() == nil {
			t.Error("a panic of the caller was swallowed")
		}
	}()
	_ = x.t.guarded(func() error { panic("of the caller") })
}

// mappedFile is a file that is mapped, to be cut short.
type mappedFile struct {
	x    *Index
	path string
	m    model
	keys [][]byte
}

// openToCut opens a copy of a file.
func (f mappedFile) openToCut(t *testing.T, content []byte) mappedFile {
	t.Helper()
	f.path = filepath.Join(t.TempDir(), "index")
	must(t, os.WriteFile(f.path, content, 0o600))
	job := local.Single()
	t.Cleanup(func() { _ = job.Close() })
	var err error
	f.x, err = Open(context.Background(), job, f.path)
	must(t, err)
	t.Cleanup(func() { _ = f.x.Close() })
	return f
}

// lookupAll looks all keys up in every way. Each answer is right, or an error.
func (f mappedFile) lookupAll() (failed int, err error) {
	answers := make([][]string, len(f.keys))
	lost := f.x.LookupKeys(f.keys, func(i int, v Value) {
		answers[i] = append(answers[i], string(v))
	})
	for i, key := range f.keys {
		want := f.m[string(key)]
		if lost == nil {
			if err := f.m.same("in a batch", key, answers[i]); err != nil {
				return failed, err
			}
		}
		var got []string
		var single error
		for v, err := range f.x.Lookup(key) {
			if single = err; err == nil {
				got = append(got, string(v))
			}
		}
		if single == nil {
			if err := f.m.same("alone", key, got); err != nil {
				return failed, err
			}
		} else {
			failed++
		}
		v, ok, err := f.x.Get(key, nil)
		if err == nil && (ok != (len(want) > 0) || ok && !slices.Contains(want, string(v))) {
			return failed, fmt.Errorf("Get of key %x has %x, %v; it should have one of %x", key, v,
				ok, want)
		}
		for v, err := range f.x.Lookup(key) { // and leaves
			if err == nil && !slices.Contains(want, string(v)) {
				return failed, fmt.Errorf("key %x has a first value %x", key, v)
			}
			break
		}
	}
	for r, err := range f.x.Local(context.Background()) {
		if err == nil && !slices.Contains(f.m[string(r.Key)], string(r.Value)) {
			return failed, fmt.Errorf("a record is %x %x", r.Key, r.Value)
		}
	}
	return failed, nil
}

// shapesToCut are files of every shape that are small, and what is in them.
func shapesToCut(t *testing.T, use func(t *testing.T, f mappedFile, content []byte)) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems may show zeros there")
	}
	for i, s := range shapes {
		if s.cfg.ValueSize > 700 {
			continue
		}
		for _, copies := range []int{1, 4} { // the quick way is for keys that have one record
			t.Run(fmt.Sprint(s.name, copies), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(i), 3))
				all := records(rng, s.cfg, 150, copies)
				path := filepath.Join(t.TempDir(), "index")
				saved(t, path, 1+i%2, s.cfg, all)
				content, err := os.ReadFile(path)
				must(t, err)
				m := modelOf(all)
				use(t, mappedFile{m: m, keys: m.keys(rng)}, content)
			})
		}
	}
}

// TestCutInAPage: the page in which a file ends after it was cut short can still be read, and is
// zero behind the end. That is no table without records.
func TestCutInAPage(t *testing.T) {
	shapesToCut(t, func(t *testing.T, f mappedFile, content []byte) {
		f = f.openToCut(t, content)
		failed, err := f.lookupAll()
		must(t, err)
		if failed > 0 {
			t.Errorf("%d lookups fail in a file that is whole", failed)
		}
		// In its last page, in the zeros before that, and then in the table.
		rng := rand.New(rand.NewPCG(1, 2))
		end := int64(len(content))
		table := f.x.t.marksAt(f.x.t.image.header, f.x.t.ranks)
		for size := end - 1; size > f.x.t.image.header; size -= 1 + rng.Int64N(700) {
			if size < end-5000 && size > table {
				size = table
			}
			must(t, os.Truncate(f.path, size))
			failed, err = f.lookupAll()
			must(t, err)
			if failed < len(f.keys) && size < end-8 {
				t.Fatalf("%d lookups fail where %d of %d bytes are left", failed, size, end)
			}
		}
	})
}

// TestCutMeanwhile: so it is while lookups run.
func TestCutMeanwhile(t *testing.T) {
	rounds := 4
	shapesToCut(t, func(t *testing.T, f mappedFile, content []byte) {
		for round := range rounds {
			f := f.openToCut(t, content)
			var over atomic.Bool
			done := make(chan error, 1)
			begun := make(chan struct{})
			go func() {
				for first := true; ; first = false {
					last := over.Load()
					if _, err := f.lookupAll(); err != nil || last {
						done <- err
						return
					}
					if first {
						close(begun)
					}
				}
			}()
			<-begun
			header := f.x.t.image.header
			size := f.x.t.marksAt(header, f.x.t.ranks) - header
			err := os.Truncate(f.path, header+int64(round)*size/int64(rounds))
			over.Store(true)
			must(t, err, <-done)
		}
	})
}

// A Get from a file that is mapped allocates nothing.
func TestMappedGetAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	for _, cfg := range []Config{{KeySize: 8, ValueSize: 8}, {KeySize: 16, ValueSize: 100}} {
		path := filepath.Join(t.TempDir(), "index")
		m := records(rand.New(rand.NewPCG(1, 2)), cfg, 1000, 1)
		saved(t, path, 1, cfg, m)
		x, err := Open(ctx, job, path)
		must(t, err)
		value := make([]byte, 0, 100)
		allocated := testing.AllocsPerRun(10, func() {
			if v, ok, err := x.Get(m[0].Key, value); !ok || err != nil || len(v) != cfg.ValueSize {
				t.Fatalf("key %x has %x, %v, %v", m[0].Key, v, ok, err)
			}
		})
		if allocated != 0 {
			t.Errorf("%+v: a Get allocates %v times", cfg, allocated)
		}
		must(t, x.Close())
	}
}
