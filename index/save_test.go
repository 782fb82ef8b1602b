package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// TestSaveAndLoad: a table is loaded with another number of ranks, on another engine, with
// another load and storage.
func TestSaveAndLoad(t *testing.T) {
	ctx := context.Background()
	for i, c := range []struct{ from, to Config }{
		{Config{KeySize: 4, ValueSize: 4}, Config{Load: 0.5}},
		{Config{KeySize: 10, ValueSize: 50}, Config{Storage: Inline}},
		{Config{KeySize: 6, ValueSize: 4000, Variable: true}, Config{Load: 0.3}},
		{Config{KeySize: 9, ValueSize: 70}, Config{Load: 0.4}},
		{Config{KeySize: 9, ValueSize: 700, Variable: true},
			Config{KeySize: 9, ValueSize: 700, Variable: true}},
		{Config{KeySize: 9, ValueSize: 70, Variable: true}, Config{Storage: Hybrid}},
		{Config{KeySize: 9, ValueSize: 70, Variable: true, Storage: Hybrid},
			Config{Storage: Hybrid, Load: 0.4, InlineBytes: 30}},
	} {
		for _, n := range []int{0, 2000} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			all := records(rng, c.from, n, 4)
			m := modelOf(all)
			keys := m.keys(rng)
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
				if got := x.Config(); x.t.Records != uint64(len(all)) {
					return fmt.Errorf("loaded %d records into %+v", x.t.Records, got)
				}
				err = errors.Join(x.CheckAll(ctx), m.verify(x.Reader, keys))
				return errors.Join(err, job.Barrier(ctx))
			}))
		}
	}
}

// TestNote: a file keeps the note of its index, also when it is opened and saved again. A file
// without one has no field for it, as files of earlier programs.
func TestNote(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "index")
	cfg := Config{KeySize: 4, ValueSize: 4}
	all := records(rand.New(rand.NewPCG(1, 3)), cfg, 50, 1)
	saved(t, path, 2, cfg, all)
	head, err := os.ReadFile(path)
	must(t, err)
	if text := string(head[:imagePage]); strings.Contains(text, `"note"`) {
		t.Error("a header without a note has a field for it")
	}
	const note = "types <i4, \"f4\" and ä"
	cfg.Note = note
	saved(t, path, 2, cfg, all)
	given := func(x *Index, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return x.Config().Note, errors.Join(x.Save(ctx, path), x.t.job.Barrier(ctx), x.Close())
	}
	must(t, engines[0].Run(2, func(job rma.Job) error {
		first, err := given(Open(ctx, job, path))
		second, err2 := given(Load(ctx, job, path, Config{}))
		third, err3 := given(Load(ctx, job, path, Config{Note: "another"}))
		last, err4 := given(Open(ctx, job, path))
		if got := []string{first, second, third, last}; !slices.Equal(got,
			[]string{note, note, "another", "another"}) {
			t.Errorf("rank %d has notes %q", job.Rank(), got)
		}
		return errors.Join(err, err2, err3, err4)
	}))
	long := strings.Repeat("a", MaxNoteSize+1)
	for _, c := range []struct{ zero, one, want string }{
		{"a", "b", "hashes of notes"},
		{"\xff", "\xff", "UTF-8"},
		{long, long, "65537"},
	} {
		must(t, engines[0].Run(2, func(job rma.Job) error {
			cfg := Config{KeySize: 4, Note: []string{c.zero, c.one}[job.Rank()]}
			_, err := Build(ctx, job, cfg, nil)
			if err == nil || job.Rank() == 0 && !strings.Contains(err.Error(), c.want) {
				return fmt.Errorf("a build with notes %.9q and %.9q gives %v", c.zero, c.one, err)
			}
			return nil
		}))
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
	spoilt := bytes.Clone(good)
	spoilt[5000] ^= 1
	for _, c := range []struct {
		content []byte
		cfg     Config
		want    string
	}{
		{good[:len(good)-1], Config{}, "truncated"},
		{spoilt, Config{}, "fails its checksum"},
		{[]byte("nothing"), Config{}, "is no index of farhash; one that an earlier build"},
		{good, Config{KeySize: 8}, "8 (false) and 0 (false) are asked for; leave the sizes at 0"},
		{good, Config{Storage: Inline}, "need a heap"},
	} {
		must(t, os.WriteFile(path, c.content, 0o600))
		var reported [2]bool
		must(t, engines[0].Run(2, func(job rma.Job) error {
			x, err := Load(ctx, job, path, c.cfg)
			if err == nil {
				return errors.Join(fmt.Errorf("loaded in spite of %q", c.want), x.Close())
			}
			reported[job.Rank()] = strings.Contains(err.Error(), c.want)
			return job.Barrier(ctx)
		}))
		if !reported[0] && !reported[1] {
			t.Errorf("nobody said %q", c.want)
		}
	}
}

// What is no file is refused at once.
func TestNoFile(t *testing.T) {
	ctx := context.Background()
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, exec.Command("mkfifo", pipe).Run())
	for path, want := range map[string]string{pipe: "it is a pipe", t.TempDir(): "it is a folder",
		"/dev/zero": "it is a device"} {
		must(t, local.Run(1, func(job rma.Job) error {
			_, err := Open(ctx, job, path)
			says(t, err, want)
			_, err = Load(ctx, job, path, Config{})
			says(t, err, want)
			return nil
		}))
	}
}

// A file of the pieces of two indexes of one shape is not loaded, and Check notices where it was
// opened.
func TestSplicedFiles(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "spliced")
	rng := rand.New(rand.NewPCG(1, 2))
	cfg := Config{KeySize: 4, ValueSize: 4}
	var files [2][]byte
	all := records(rng, cfg, 3000, 1)
	for i := range files {
		must(t, withIndex(engines[0], 3, cfg, all, func(x *Index) error {
			return x.Save(ctx, path)
		}))
		var err error
		files[i], err = os.ReadFile(path)
		must(t, err)
		for _, r := range all { // for the other
			r.Value[0] ^= 1
		}
	}
	size := len(files[0])
	if len(files[1]) != size || bytes.Equal(files[0], files[1]) {
		t.Fatalf("the files have %d and %d bytes", size, len(files[1]))
	}
	splice := func(from, to int) {
		file := slices.Concat(files[0][:from], files[1][from:to], files[0][to:])
		if bytes.Equal(file, files[0]) || bytes.Equal(file, files[1]) {
			return
		}
		must(t, os.WriteFile(path, file, 0o600), local.Run(2, func(job rma.Job) error {
			if x, err := Load(ctx, job, path, Config{}); err == nil {
				return errors.Join(fmt.Errorf("bytes %d to %d are loaded", from, to), x.Close())
			} else if job.Rank() == 0 && !strings.Contains(err.Error(), path) {
				t.Error(err)
			}
			x, err := Open(ctx, job, path)
			if err != nil {
				return job.Barrier(ctx)
			}
			if err = x.CheckAll(ctx); err == nil {
				err = fmt.Errorf("bytes %d to %d are checked", from, to)
			} else {
				err = nil
			}
			return errors.Join(err, x.Close())
		}))
	}
	splice(0, imagePage)
	for range 50 {
		from, to := rng.IntN(size), rng.IntN(size+1)
		splice(min(from, to), max(from, to))
	}
}

// TestVersions: a file says in its version whether keys have different sizes, so that programs that
// know no such keys refuse it. A file whose version says something else is refused.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		cfg     Config
		version byte
	}{{Config{KeySize: 8}, 2}, {Config{KeySize: 8, VariableKeys: true}, 3},
		{Config{KeySize: 8, VariableKeys: true, Storage: Hybrid}, 4}} {
		path := filepath.Join(t.TempDir(), "index")
		saved(t, path, 1, c.cfg, records(rand.New(rand.NewPCG(1, 2)), c.cfg, 20, 1))
		file, err := os.ReadFile(path)
		must(t, err)
		if file[8] != c.version {
			t.Errorf("%+v has version %d, want %d", c.cfg, file[8], c.version)
		}
		for version := range byte(6) {
			file[8] = version
			size := binary.LittleEndian.Uint64(file[16:])
			binary.LittleEndian.PutUint64(file[size-8:], xxh3.Hash(file[:size-8]))
			must(t, os.WriteFile(path, file, 0o600))
			m, err := openImage(path)
			if (err == nil) != (version == c.version) {
				t.Errorf("version %d of %+v: %v", version, c.cfg, err)
			}
			_ = m.close()
		}
	}
}
