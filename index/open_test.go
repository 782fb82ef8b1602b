package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// saved writes an index of all to a file.
func saved(t testing.TB, path string, ranks int, cfg Config, all []Record) {
	t.Helper()
	must(t, withIndex(engines[ranks%2], ranks, cfg, all, func(x *Index) error {
		return x.Save(context.Background(), path)
	}))
}

// TestOpen: a saved table of every shape is opened by jobs of 1, 2 and 3 ranks, whatever the
// number of ranks that have built it.
func TestOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not mapped")
	}
	for i, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 2))
			all := records(rng, s.cfg, 400, 4)
			for range 300 { // which have marks around them
				all = append(all, all[0])
			}
			m := modelOf(all)
			keys := m.keys(rng)
			path := filepath.Join(t.TempDir(), "index")
			saved(t, path, 1+i%4, s.cfg, all)
			for ranks := 1; ranks <= 3; ranks++ {
				e := engines[(i+ranks)%len(engines)]
				must(t, e.Run(ranks, func(job rma.Job) error {
					return openAndVerify(job, path, m, keys)
				}))
			}
		})
	}
}

// openAndVerify opens a file, holds it against a model, and saves it again.
func openAndVerify(job rma.Job, path string, m model, keys [][]byte) error {
	ctx := context.Background()
	x, err := Open(ctx, job, path)
	if err != nil {
		return err
	}
	if !x.Info().Mapped || x.Info().NotMapped != nil {
		return fmt.Errorf("the file is not mapped: %w", x.Info().NotMapped)
	}
	err = errors.Join(x.CheckAll(ctx), m.verify(x.Reader, keys))
	if err != nil {
		return err
	}
	for r, err := range x.Local(ctx) {
		if err != nil {
			return err
		}
		if len(m[string(r.Key)]) == 0 {
			return fmt.Errorf("there is a key %x", r.Key)
		}
	}
	again := fmt.Sprint(path, job.Size())
	if err := x.Save(ctx, again); err != nil {
		return err
	}
	before, err := os.ReadFile(path)
	after, err2 := os.ReadFile(again)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return errors.New("saved again it is another file")
	}
	err = errors.Join(job.Barrier(ctx), x.Close(), x.Close())
	for _, after := range []error{x.LookupKeys(keys, nil), x.Check(ctx), x.Save(ctx, again)} {
		if !errors.Is(after, errClosed) {
			err = errors.Join(err, fmt.Errorf("after Close: %w", after))
		}
	}
	return err
}

const roleFile = "FARHASH_INDEX_TEST_FILE"

// TestOpenRole is another process: it opens the file that it is given, with two ranks, and
// looks up what words8 has put there.
func TestOpenRole(t *testing.T) {
	path := os.Getenv(roleFile)
	if path == "" {
		t.Skip("it is for TestProcessesShareAFile")
	}
	must(t, verifyWords(path, 2))
	fmt.Println("all values are right")
}

func verifyWords(path string, ranks int) error {
	return local.Run(ranks, func(job rma.Job) error {
		x, err := Open(context.Background(), job, path)
		if err != nil {
			return err
		}
		if !x.Info().Mapped {
			return errors.Join(x.Info().NotMapped, x.Close())
		}
		var keys []byte
		for i := range 10000 {
			keys = binary.LittleEndian.AppendUint32(keys, keyNumber(i, 1))
		}
		right := 0
		err = x.LookupBatch(keys, func(i int, v Value) {
			if binary.LittleEndian.Uint32(v) == uint32(i) {
				right++
			}
		})
		if right != 10000 {
			err = errors.Join(err, fmt.Errorf("%d values are right", right))
		}
		return errors.Join(err, x.Close())
	})
}

// TestProcessesShareAFile: other processes open a file while this one has it open.
func TestProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	job := local.Single()
	defer job.Close()
	ctx := context.Background()
	x, err := Build(ctx, job, Config{KeySize: 4, ValueSize: 4}, words8(10000, 1))
	must(t, err)
	must(t, x.Save(ctx, path), x.Close())
	x, err = Open(ctx, job, path)
	must(t, err)
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOpenRole$", "-test.v")
		cmd.Env = append(os.Environ(), roleFile+"="+path)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "all values are right") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	must(t, x.Check(ctx), x.Close(), verifyWords(path, 3))
}

// TestOpenLoads: where a rank cannot map the file, all ranks get a table that is built, and hear
// why.
func TestOpenLoads(t *testing.T) {
	ctx := context.Background()
	cfg := Config{KeySize: 5, ValueSize: 9, Variable: true, Load: 0.6}
	rng := rand.New(rand.NewPCG(1, 2))
	all := records(rng, cfg, 300, 3)
	m := modelOf(all)
	keys := m.keys(rng)
	path := filepath.Join(t.TempDir(), "index")
	saved(t, path, 3, cfg, all)
	mapping = func(*os.File, int64) ([]byte, error) { return nil, errors.New("not today") }
	defer func() { mapping = memory.MapFile }()
	must(t, engines[0].Run(2, func(job rma.Job) error {
		x, err := Open(ctx, job, path)
		if err != nil {
			return err
		}
		says(t, x.Info().NotMapped, "not today")
		if x.Info().Mapped || x.Config().Load != 0.6 {
			return fmt.Errorf("it is mapped, or has load %v", x.Config().Load)
		}
		return errors.Join(x.CheckAll(ctx), m.verify(x.Reader, keys),
			job.Barrier(ctx), x.Close())
	}))
}

// TestEarlierVersion: a file of another version is refused.
func TestEarlierVersion(t *testing.T) {
	cfg := Config{KeySize: 5, ValueSize: 9}
	path := filepath.Join(t.TempDir(), "index")
	saved(t, path, 2, cfg, records(rand.New(rand.NewPCG(1, 2)), cfg, 300, 3))
	content, err := os.ReadFile(path)
	must(t, err)
	header := binary.LittleEndian.Uint64(content[16:])
	binary.LittleEndian.PutUint64(content[8:], 1)
	binary.LittleEndian.PutUint64(content[header-8:], xxh3.Hash(content[:header-8]))
	must(t, os.WriteFile(path, content, 0o600))
	job := local.Single()
	defer job.Close()
	_, err = Open(t.Context(), job, path)
	says(t, err, "has version 1")
	_, err = Load(t.Context(), job, path, Config{})
	says(t, err, "build the index anew")
}

// TestDamagedImages: files that were cut short or have a damaged header are not opened; a
// damage in other places is found by Check, and lookups survive it.
func TestDamagedImages(t *testing.T) {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	path := filepath.Join(t.TempDir(), "index")
	for _, s := range shapes {
		if s.cfg.ValueSize > 700 {
			continue
		}
		rng := rand.New(rand.NewPCG(1, 2))
		all := records(rng, s.cfg, 150, 1)
		m := modelOf(all)
		keys := m.keys(rng)
		saved(t, path, 2, s.cfg, all)
		good, err := os.ReadFile(path)
		must(t, err)
		header := int(binary.LittleEndian.Uint64(good[16:]))
		for _, n := range []int{0, 7, 31, 100, header - 1, header, header + 99, len(good) - 1} {
			must(t, os.WriteFile(path, good[:n], 0o600))
			if x, err := Open(ctx, job, path); err == nil {
				t.Errorf("%s: opened with %d of %d bytes", s.name, n, len(good))
				must(t, x.Close())
			}
		}
		for round := range 60 {
			bad := bytes.Clone(good)
			at := rng.IntN(header)
			switch round % 4 {
			case 1:
				at = header + rng.IntN(len(bad)-header)
			case 2, 3:
				at = header + rng.IntN(len(bad)-header-imageGap)
			}
			bad[at] ^= byte(1 + rng.IntN(255))
			must(t, os.WriteFile(path, bad, 0o600))
			_, err := Load(ctx, job, path, Config{})
			if err == nil {
				t.Errorf("%s: loaded with byte %d of %d damaged", s.name, at, len(good))
			}
			x, err := Open(ctx, job, path)
			if (err != nil) != (at < header) {
				t.Fatalf("%s: byte %d of %d is damaged, the header has %d: %v", s.name, at,
					len(good), header, err)
			}
			if err != nil {
				continue
			}
			_ = x.LookupKeys(keys, func(int, Value) {})
			says(t, x.Check(ctx), "corrupt")
			must(t, x.Close())
		}
	}
}

// withoutGap is a file without the zeros before its sums, which have so many bytes.
func withoutGap(file []byte, sums int) []byte {
	end := len(file) - sums
	return append(file[:end-imageGap:end-imageGap], file[end:]...)
}

// FuzzImage: whatever a description says, opening ends, and so do lookups in what was opened.
func FuzzImage(f *testing.F) {
	if runtime.GOOS == "windows" {
		f.Skip("files are not mapped")
	}
	ctx := context.Background()
	for _, s := range []Config{{KeySize: 4, ValueSize: 4}, {KeySize: 8, ValueSize: 40},
		{KeySize: 9, ValueSize: 20, Variable: true},
		{KeySize: 20, VariableKeys: true, ValueSize: 4},
		{KeySize: 20, VariableKeys: true, ValueSize: 4, Storage: Hybrid}} {
		path := filepath.Join(f.TempDir(), "index")
		saved(f, path, 2, s, records(rand.New(rand.NewPCG(1, 2)), s, 40, 1))
		content, err := os.ReadFile(path)
		must(f, err)
		size := binary.LittleEndian.Uint64(content[16:])
		text := binary.LittleEndian.Uint64(content[24:])
		f.Add(content[imageHead:imageHead+text], withoutGap(content[size:], 2*8))
	}
	f.Fuzz(func(t *testing.T, text, body []byte) {
		var d description
		if json.Unmarshal(text, &d) != nil {
			return
		}
		if d.check() == nil { // inputs are short without the zeros before the sums
			is := d.table(nil)
			at := len(body) - int(is.sumsAt(0, is.ranks)-is.sumsAt(0, 0))
			body = slices.Insert(slices.Clone(body), max(at, 0), make([]byte, imageGap)...)
		}
		size := headerBytes(len(text))
		file := make([]byte, size, size+len(body))
		copy(file, imageMagic)
		binary.LittleEndian.PutUint64(file[8:], d.version())
		binary.LittleEndian.PutUint64(file[16:], uint64(size))
		binary.LittleEndian.PutUint64(file[24:], uint64(len(text)))
		copy(file[imageHead:], text)
		binary.LittleEndian.PutUint64(file[size-8:], xxh3.Hash(file[:size-8]))
		path := filepath.Join(t.TempDir(), "index")
		must(t, os.WriteFile(path, append(file, body...), 0o600))
		job := local.Single()
		defer job.Close()
		x, err := Open(ctx, job, path)
		if err != nil {
			return
		}
		joined := make([]byte, 64*x.Config().KeySize)
		for i := range joined {
			joined[i] = byte(i)
		}
		keys := slices.Collect(slices.Chunk(joined, x.Config().KeySize))
		_ = x.LookupBatch(joined, func(int, Value) {})
		_ = x.LookupKeys(keys, func(int, Value) {})
		for _, err := range x.Lookup(keys[0]) {
			_ = err
		}
		_ = x.Check(ctx)
		must(t, x.Close())
	})
}

// TestSavedBefore: files that an earlier program has saved are opened and loaded, and a table that
// is not ordered is refused. Keys 0 to 299 have a record each, those below 100 all key 0.
func TestSavedBefore(t *testing.T) {
	job := local.Single()
	defer job.Close()
	for name, want := range map[string]string{"inline": "", "heap": "",
		"linear": "has linear probing or cuckoo hashing"} {
		path := filepath.Join(t.TempDir(), name)
		must(t, unzip(filepath.Join("testdata", "saved", name+".gz"), path))
		for _, open := range []func() (*Index, error){
			func() (*Index, error) { return Open(t.Context(), job, path) },
			func() (*Index, error) { return Load(t.Context(), job, path, Config{}) },
		} {
			x, err := open()
			if want != "" {
				says(t, err, want)
				continue
			}
			must(t, err, x.Check(t.Context()))
			for i := range uint32(300) {
				sum, wanted := uint32(0), i
				for v, err := range x.Lookup(binary.LittleEndian.AppendUint32(nil, i)) {
					must(t, err)
					sum += binary.LittleEndian.Uint32(v)
				}
				if i < 100 {
					wanted = 0
				}
				if i == 0 {
					wanted = 99 * 100 / 2
				}
				if sum != wanted {
					t.Errorf("%s: key %d has values of sum %d, want %d", name, i, sum, wanted)
				}
			}
			must(t, x.Close())
		}
	}
}

// unzip writes what a compressed file has to another one.
func unzip(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(r)
	return errors.Join(err, os.WriteFile(to, content, 0o600))
}
