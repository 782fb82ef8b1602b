package set_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// element is the n-th element of a test.
func element(n uint64) []byte {
	e := make([]byte, 12)
	binary.LittleEndian.PutUint64(e[2:], n*0x9E3779B97F4A7C15+1)
	return e
}

// everyEngine runs a test with several ranks, direct and one-sided.
func everyEngine(t *testing.T, fn func(ctx context.Context, job rma.Job) error) {
	for _, hidden := range []bool{false, true} {
		for _, ranks := range []int{1, 3} {
			t.Run(fmt.Sprintf("ranks=%d/hidden=%v", ranks, hidden), func(t *testing.T) {
				err := local.RunWith(local.Options{Hidden: hidden}, ranks,
					func(job rma.Job) error { return fn(context.Background(), job) })
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

const many = 3000

// fillWords inserts words 0 to many-1, each rank a part.
func fillWords(ctx context.Context, job rma.Job) (*set.Set, error) {
	s, err := set.New(ctx, job, set.Config{Buckets: 4096})
	if err != nil {
		return nil, err
	}
	for n := job.Rank(); n < many; n += job.Size() {
		if _, err := s.FindOrPut(uint64(n)); err != nil {
			return nil, err
		}
	}
	return s, job.Barrier(ctx)
}

func fillElements(ctx context.Context, job rma.Job) (*set.Bytes, error) {
	e, err := set.NewBytes(ctx, job, set.BytesConfig{
		Config: set.Config{Buckets: 4096}, ElementBytes: 12, Capacity: many + 64})
	if err != nil {
		return nil, err
	}
	for n := job.Rank(); n < many; n += job.Size() {
		if _, err := e.FindOrPut(element(uint64(n))); err != nil {
			return nil, err
		}
	}
	return e, job.Barrier(ctx)
}

// expectWords checks that exactly the wanted ones of words 0 to many-1 are there.
func expectWords(ctx context.Context, s *set.Set, wanted func(n uint64) bool) error {
	count := uint64(0)
	for n := range uint64(many) {
		got, err := s.Contains(n)
		if err != nil {
			return err
		}
		if got != wanted(n) {
			return fmt.Errorf("word %d: there %v, wanted %v", n, got, wanted(n))
		}
		if got {
			count++
		}
	}
	if n, err := s.Len(ctx); err != nil || n != count {
		return fmt.Errorf("Len is %d, %v; %d are there", n, err, count)
	}
	return s.Check(ctx)
}

func expectElements(ctx context.Context, e *set.Bytes, wanted func(n uint64) bool) error {
	count := uint64(0)
	for n := range uint64(many) {
		got, err := e.Contains(element(n))
		if err != nil {
			return err
		}
		if got != wanted(n) {
			return fmt.Errorf("element %d: there %v, wanted %v", n, got, wanted(n))
		}
		if got {
			count++
		}
	}
	if n, err := e.Len(ctx); err != nil || n != count {
		return fmt.Errorf("Len is %d, %v; %d are there", n, err, count)
	}
	return e.Check(ctx)
}

func third(n uint64) bool { return n%3 == 0 }
func all(uint64) bool     { return true }

func TestCollectWords(t *testing.T) {
	everyEngine(t, func(ctx context.Context, job rma.Job) error {
		s, err := fillWords(ctx, job)
		if err != nil {
			return err
		}
		if err := s.Collect(ctx, third); err != nil {
			return err
		}
		if err := expectWords(ctx, s, third); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		// What was removed can be inserted again.
		for n := job.Rank(); n < many; n += job.Size() {
			r, err := s.FindOrPut(uint64(n))
			if err != nil || (r == set.Found) != third(uint64(n)) {
				return fmt.Errorf("word %d again: %v, %v", n, r, err)
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		return expectWords(ctx, s, all)
	})
}

func TestCollectElementsReusesSlots(t *testing.T) {
	everyEngine(t, func(ctx context.Context, job rma.Job) error {
		e, err := fillElements(ctx, job)
		if err != nil {
			return err
		}
		results, refs := make([]set.Result, 1), make([]set.Ref, 1)
		if err := e.FindOrPutPacked(element(0), results, refs); err != nil {
			return err
		}
		for range 5 { // the arenas have no room for this without the freed slots
			err := e.Collect(ctx, func(b []byte) bool { return bytes.Equal(b, element(0)) })
			if err != nil {
				return err
			}
			if err := expectElements(ctx, e, func(n uint64) bool { return n == 0 }); err != nil {
				return err
			}
			if err := job.Barrier(ctx); err != nil {
				return err
			}
			// Each rank may use the slots that it freed itself.
			for n := job.Rank(); n < many/2; n += job.Size() {
				if _, err := e.FindOrPut(element(uint64(n))); err != nil {
					return err
				}
			}
			if err := job.Barrier(ctx); err != nil {
				return err
			}
		}
		kept, err := e.Append(nil, refs[0])
		if err != nil || !bytes.Equal(kept, element(0)) {
			return fmt.Errorf("the reference of a kept element gives %x, %v", kept, err)
		}
		return expectElements(ctx, e, func(n uint64) bool { return n < many/2 })
	})
}

// A file is loaded with another number of ranks and buckets.
func TestSaveAndLoad(t *testing.T) {
	words, elements := filepath.Join(t.TempDir(), "words"), filepath.Join(t.TempDir(), "elements")
	everyEngine(t, func(ctx context.Context, job rma.Job) error {
		s, err := fillWords(ctx, job)
		if err != nil {
			return err
		}
		if err := s.Save(ctx, words); err != nil {
			return err
		}
		e, err := fillElements(ctx, job)
		if err != nil {
			return err
		}
		return e.Save(ctx, elements)
	})
	for _, buckets := range []uint64{64, 1 << 14} {
		everyEngine(t, func(ctx context.Context, job rma.Job) error {
			cfg := set.Config{Buckets: buckets, MaxBytes: 1 << 20}
			s, err := set.New(ctx, job, cfg)
			if err != nil {
				return err
			}
			if err := s.Load(ctx, words); err != nil {
				return err
			}
			if err := expectWords(ctx, s, all); err != nil {
				return err
			}
			e, err := set.NewBytes(ctx, job, set.BytesConfig{Config: cfg, ElementBytes: 12})
			if err != nil {
				return err
			}
			if err := e.Load(ctx, elements); err != nil {
				return err
			}
			return expectElements(ctx, e, all)
		})
	}
}

// A file that cannot be trusted changes nothing, on any rank.
func TestLoadRefusals(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	err := local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		s, err := fillWords(ctx, job)
		if err != nil {
			return err
		}
		return s.Save(ctx, good)
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	corrupt := bytes.Clone(data)
	corrupt[4096+100] ^= 1
	for name, content := range map[string][]byte{
		"truncated": data[:len(data)-9], "foreign": bytes.Repeat([]byte("x"), 9000),
		"empty": nil, "corrupt": corrupt,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { refuses(t, path, 8) })
	}
	if err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).Run(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "pipe"), dir, "/dev/zero"} {
		t.Run("no file", func(t *testing.T) { refuses(t, path, 8) })
	}
	t.Run("missing", func(t *testing.T) { refuses(t, filepath.Join(dir, "missing"), 8) })
	t.Run("words for elements", func(t *testing.T) { refuses(t, good, 12) })
}

// refuses loads a file into a set of one item, and expects an error and no other item.
func refuses(t *testing.T, path string, elementBytes int) {
	t.Helper()
	err := local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		s, err := set.New(ctx, job, set.Config{Buckets: 64})
		if err != nil {
			return err
		}
		e, err := set.NewBytes(ctx, job, set.BytesConfig{
			Config: set.Config{Buckets: 64}, ElementBytes: elementBytes})
		if err != nil {
			return err
		}
		if _, err := s.FindOrPut(5); err != nil {
			return err
		}
		if elementBytes == 8 {
			if err := s.Load(ctx, path); err == nil {
				return fmt.Errorf("rank %d: the file was loaded", job.Rank())
			}
		}
		if err := e.Load(ctx, path); err == nil {
			return fmt.Errorf("rank %d: the file was loaded as elements", job.Rank())
		}
		n, _ := s.Len(ctx)
		m, _ := e.Len(ctx)
		if n != 1 || m != 0 {
			return fmt.Errorf("after the refusal the sets hold %d and %d", n, m)
		}
		return job.Barrier(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}
