package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/archivetest"
	"github.com/farhash/farhash/rma/local"
)

var saveConfig = Config{KeySize: 13, ValueSize: 40, Buckets: 6000}

// fill puts numbers 0 to n-1, shared out to the ranks.
func fill(c *Cache, n int) error {
	for i := c.job.Rank(); i < n; i += c.job.Size() {
		if _, err := c.Put(saveKey(i), spread(uint64(i), c.cfg.ValueSize)); err != nil {
			return err
		}
	}
	return c.job.Barrier(context.Background())
}

func saveKey(i int) []byte {
	return append(core.BytesOf([]uint64{uint64(i)}), "abcde"...)
}

// there counts the numbers 0 to n-1 that are there, each with its own value.
func there(c *Cache, n int) (count int, err error) {
	value := make([]byte, c.cfg.ValueSize)
	for i := range n {
		found, err := c.Get(saveKey(i), value)
		if err != nil {
			return 0, err
		}
		if !found {
			continue
		}
		count++
		if number, err := gather(value); err != nil || number != uint64(i) {
			return 0, errors.Join(err, errors.New("a value of another key"))
		}
	}
	return count, nil
}

// saved writes a file with numbers 0 to 999, from 3 ranks.
func saved(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cache")
	must(t, withCache(engines[0], 3, saveConfig, func(c *Cache) error {
		return errors.Join(fill(c, 1000), c.Save(context.Background(), path))
	}))
	return path
}

// TestSaveAndLoad: what 3 ranks have saved is loaded by others, in other modes and shapes.
func TestSaveAndLoad(t *testing.T) {
	path := saved(t)
	for _, e := range engines {
		for ranks := 1; ranks <= 4; ranks++ {
			cfg := saveConfig
			cfg.Mode = Mode(ranks % 3)
			cfg.Addressing = Addressing(ranks % 2)
			cfg.Buckets = 4001
			must(t, withCache(e, ranks, cfg, func(c *Cache) error {
				ctx := context.Background()
				if err := c.Load(ctx, path); err != nil {
					return err
				}
				least := 995
				if cfg.Mode == LockFree {
					least = 900 // many puts at a time, in few buckets, meet each other
				}
				if n, err := there(c, 1000); n < least || err != nil {
					t.Errorf("%s, %d ranks: %d of 1000 are there: %v", e.Name, ranks, n, err)
				}
				return c.CheckAll(ctx)
			}))
		}
	}
}

// TestLoadIntoTooFewBuckets keeps as many as there is room for.
func TestLoadIntoTooFewBuckets(t *testing.T) {
	path := saved(t)
	cfg := saveConfig
	cfg.Buckets = 128
	must(t, withCache(engines[0], 2, cfg, func(c *Cache) error {
		if err := c.Load(context.Background(), path); err != nil {
			return err
		}
		if n, err := there(c, 1000); n < 120 || n > 128 || err != nil {
			t.Errorf("%d are there, in 128 buckets: %v", n, err)
		}
		return c.CheckAll(context.Background())
	}))
}

// TestSaveLeavesOutWhatIsBroken: a bucket that fails its checksum is not in the file.
func TestSaveLeavesOutWhatIsBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	job := local.Single()
	defer job.Close()
	c, err := New(t.Context(), job, saveConfig)
	must(t, err, fill(c, 1000))
	breakBucket(t, c)
	must(t, c.Save(t.Context(), path))
	other, err := New(t.Context(), job, saveConfig)
	must(t, err, other.Load(t.Context(), path))
	if n, err := there(other, 1000); n != 999 || err != nil {
		t.Errorf("%d are there: %v", n, err)
	}
}

// breakBucket changes the last word of the first bucket in use.
func breakBucket(t *testing.T, c *Cache) bucket {
	t.Helper()
	for b, err := range c.buckets(t.Context(), 0, 0) {
		must(t, err)
		c.batches.Segments.Of(0)[b.at:][:c.bucketWords][c.bucketWords-1] ^= 1 << 40
		return b
	}
	t.Fatal("no bucket is in use")
	return bucket{}
}

// TestRefusedFiles: what is refused leaves the cache as it was.
func TestRefusedFiles(t *testing.T) {
	path := saved(t)
	good, err := os.ReadFile(path)
	must(t, err)
	for _, c := range []struct {
		name, want string
		damage     func([]byte) []byte
	}{
		{"truncated", "truncated", func(b []byte) []byte { return b[:len(b)-1] }},
		{"foreign", "no checkpoint", func(b []byte) []byte { return append([]byte("PK"), b...) }},
		{"bit", "checksum", func(b []byte) []byte { b[5000] ^= 4; return b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "bad")
			must(t, os.WriteFile(bad, c.damage(bytes.Clone(good)), 0o600))
			must(t, withCache(engines[0], 2, saveConfig, func(cache *Cache) error {
				err := cache.Load(context.Background(), bad)
				if err == nil || cache.job.Rank() == 0 && !strings.Contains(err.Error(), c.want) {
					t.Errorf("rank %d returned %v, want %q", cache.job.Rank(), err, c.want)
				}
				n, err := there(cache, 1000)
				if n != 0 {
					t.Errorf("%d records were loaded all the same", n)
				}
				return err
			}))
		})
	}
	other := saveConfig
	other.ValueSize = 48
	must(t, withCache(engines[0], 1, other, func(c *Cache) error {
		err := c.Load(context.Background(), path)
		if err == nil || !strings.Contains(err.Error(), "values of 40") {
			t.Errorf("values of another size are taken: %v", err)
		}
		return nil
	}))
}

// A file of the blocks of two caches, or with a block too many, too few or twice, is refused.
func TestSplicedFiles(t *testing.T) {
	one, other := saved(t), filepath.Join(t.TempDir(), "other")
	must(t, withCache(engines[0], 3, saveConfig, func(c *Cache) error {
		return errors.Join(fill(c, 300), c.Save(context.Background(), other))
	}))
	cfg := saveConfig
	cfg.Mode, cfg.Buckets = Coarse, 40000 // or some would find no bucket
	archivetest.Refused(t, one, other, func(path string) (content string, err error) {
		failed := make([]error, 2)
		err = withCache(engines[0], 2, cfg, func(c *Cache) error {
			failed[c.job.Rank()] = c.Load(context.Background(), path)
			n, err := there(c, 1000)
			if failed[c.job.Rank()] != nil && n > 0 {
				err = errors.Join(err, fmt.Errorf("%d are there after a refusal", n))
			}
			if c.job.Rank() == 0 {
				content = fmt.Sprint(n)
			}
			return errors.Join(err, c.job.Barrier(context.Background()))
		})
		if (failed[0] == nil) != (failed[1] == nil) {
			t.Errorf("one rank has loaded the file and one has not: %v", failed)
		}
		must(t, err)
		return content, errors.Join(failed...)
	})
}

// TestRecordsAreCounted: a file that has more or fewer records than it says is refused.
func TestRecordsAreCounted(t *testing.T) {
	for records := range uint64(4) {
		path := filepath.Join(t.TempDir(), "file")
		w, err := archive.Create(path, "")
		must(t, err, w.WriteBlock(0, 0, make([]byte, 106)), w.Finish(1, records,
			[]byte(`{"kind":"farhash cache","keyBytes":13,"valueBytes":40}`)), w.Close())
		must(t, withCache(engines[0], 2, saveConfig, func(c *Cache) error {
			if err := c.Load(context.Background(), path); (err == nil) != (records == 2) {
				t.Errorf("2 records that are said to be %d: %v", records, err)
			}
			return c.job.Barrier(context.Background())
		}))
	}
}

// FuzzLoad gives blocks and descriptions of all kinds to Load: it says no, or puts whole
// records.
func FuzzLoad(f *testing.F) {
	description := []byte(`{"kind":"farhash cache","keyBytes":13,"valueBytes":40}`)
	f.Add(description, make([]byte, 53), 0)
	f.Add(description, make([]byte, 54), 0)
	f.Add(description, make([]byte, 106), 9)
	f.Add([]byte(`{"kind":"farhash set of words"}`), make([]byte, 106), 0)
	f.Add([]byte("{"), []byte{}, 5000)
	f.Fuzz(func(t *testing.T, description, payload []byte, flip int) {
		path := filepath.Join(t.TempDir(), "file")
		w, err := archive.Create(path, "")
		must(t, err)
		if len(payload) > archive.PayloadBytes || len(description) > archive.MaxDescriptionBytes {
			t.Skip("more than a writer takes")
		}
		must(t, w.WriteBlock(0, 0, payload), w.Finish(1, uint64(len(payload)/53), description),
			w.Close())
		if flip > 0 {
			content, err := os.ReadFile(path)
			must(t, err)
			content[flip%len(content)] ^= 1 << (flip % 8)
			must(t, os.WriteFile(path, content, 0o600))
		}
		job := local.Single()
		defer job.Close()
		c, err := New(t.Context(), job, saveConfig)
		must(t, err)
		err = c.Load(t.Context(), path)
		n, occupiedErr := c.occupied(t.Context(), c.job.Rank())
		must(t, occupiedErr, c.Check(t.Context()))
		if len(payload)%53 != 0 && err == nil {
			t.Errorf("a block of %d bytes is taken", len(payload))
		}
		if most := uint64(len(payload) / 53); n > most || err != nil && n > 0 {
			t.Errorf("%d records are there after %v; the block has room for %d", n, err, most)
		}
	})
}

// TestCheckFindsFaults breaks a cache in every way that Check knows.
func TestCheckFindsFaults(t *testing.T) {
	for _, c := range []struct {
		want  string
		fault func(t *testing.T, c *Cache)
	}{
		{"fails its checksum", func(t *testing.T, c *Cache) { breakBucket(t, c) }},
		{"do not come here", func(t *testing.T, c *Cache) {
			b := breakBucket(t, c) // move it to where it does not belong
			from := c.batches.Segments.Of(0)[b.at:][:c.bucketWords]
			from[c.bucketWords-1] ^= 1 << 40
			group := uint64(b.at / c.groupWords)
			copy(c.bucketAt(0, (group+100)%c.groups, 3), from)
			from[0] = invalid
		}},
		{"stands in 8 buckets", func(t *testing.T, c *Cache) {
			b := breakBucket(t, c)
			from := c.batches.Segments.Of(0)[b.at:][:c.bucketWords]
			from[c.bucketWords-1] ^= 1 << 40
			for i := range c.cfg.GroupBuckets {
				copy(c.bucketAt(0, uint64(b.at/c.groupWords), i), from)
			}
		}},
		{"belongs to rank 1", func(t *testing.T, c *Cache) {
			for b, err := range c.buckets(t.Context(), 1, 0) {
				must(t, err)
				copy(c.bucketAt(0, 0, 0), c.batches.Segments.Of(1)[b.at:][:c.bucketWords])
				break
			}
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			must(t, withCache(engines[0], 2, saveConfig, func(cache *Cache) error {
				if err := fill(cache, 100); err != nil || cache.job.Rank() > 0 {
					return errors.Join(err, cache.job.Barrier(context.Background()))
				}
				must(t, cache.Check(t.Context()))
				c.fault(t, cache)
				if err := cache.Check(t.Context()); err == nil ||
					!strings.Contains(err.Error(), c.want) {
					t.Errorf("Check says %v, want %q", err, c.want)
				}
				return cache.job.Barrier(context.Background())
			}))
		})
	}
}

// TestCheckFindsLocks: a lock that is taken is found, in both modes that have any.
func TestCheckFindsLocks(t *testing.T) {
	for _, mode := range []Mode{Fine, Coarse} {
		cfg := saveConfig
		cfg.Mode = mode
		must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
			l := latch{job: c.job, writer: true}
			word := &c.batches.Segments.Of(0)[c.lockOf(0)]
			l.lock(word)
			err := c.Check(t.Context())
			if err == nil || !strings.Contains(err.Error(), "owner 0") {
				t.Errorf("%v: a lock that is held gives %v", mode, err)
			}
			l.unlock(word)
			return c.Check(t.Context())
		}))
	}
}
