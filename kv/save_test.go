package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/testkit/archivetest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// saveKeys is how many keys the tests of files put, of which they delete every tenth.
const saveKeys = 300

func saveKey(i int) []byte { return fmt.Appendf(nil, "key %d", i) }

// saveValue has any length up to 200 bytes.
func saveValue(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i*7%201) }

func saveConfig(copies bool) Config {
	return Config{Slots: 64, MaxSlots: 1 << 10, Bytes: 1 << 18, MaxKey: 40,
		MaxValue: 200, Copies: copies}
}

// fillToSave puts the keys, those of other ranks by these.
func fillToSave(m *Map) error {
	for i := m.job.Rank(); i < saveKeys; i += m.job.Size() {
		if _, err := m.Put(saveKey(i), saveValue(i)); err != nil {
			return err
		}
		if i%10 == 0 {
			if _, err := m.Delete(saveKey(i)); err != nil {
				return err
			}
		}
	}
	return m.job.Barrier(context.Background())
}

// compareSaved compares a map with what fillToSave has put.
func compareSaved(m *Map) error {
	for i := range saveKeys {
		value, _, ok, err := m.Get(saveKey(i), nil)
		if err != nil || ok != (i%10 != 0) || ok && !bytes.Equal(value, saveValue(i)) {
			return fmt.Errorf("key %d has %q, %v, %w", i, value, ok, err)
		}
	}
	n, err := m.Len(context.Background())
	if err == nil && n != saveKeys*9/10 {
		err = fmt.Errorf("the map has %d keys", n)
	}
	return err
}

// savedMap writes a file by 3 ranks.
func savedMap(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "map")
	err := withMap(engines[0], 3, saveConfig(false), func(m *Map) error {
		return errors.Join(fillToSave(m), m.Save(context.Background(), path))
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What 3 ranks have saved is loaded by others, on every engine, with and without copies.
func TestSaveAndLoad(t *testing.T) {
	path := savedMap(t)
	for i, e := range slices.Concat(engines, carriers) {
		for ranks := 1; ranks <= 4; ranks++ {
			err := withMap(e, ranks, saveConfig((i+ranks)%2 == 0), func(m *Map) error {
				ctx := context.Background()
				return errors.Join(m.Load(ctx, path), compareSaved(m), m.job.Barrier(ctx),
					m.Check(ctx), m.job.Barrier(ctx))
			})
			if err != nil {
				t.Errorf("%s, %d ranks: %v", e.Name, ranks, err)
			}
		}
	}
}

// A move that nobody has ended is ended before the map is saved.
func TestSaveEndsMove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	err := withMap(engines[0], 2, saveConfig(false), func(m *Map) error {
		ctx := context.Background()
		if err := fillToSave(m); err != nil {
			return err
		}
		if m.job.Rank() == 0 {
			now, err := m.state(ctx)
			if err == nil {
				now, err = m.changeState(ctx, now, now.begun(newShape(now.shape().size()+1, 1)))
			}
			if err != nil || !now.moving() {
				return fmt.Errorf("the table does not move: %w", err)
			}
		}
		if err := errors.Join(m.job.Barrier(ctx), m.Save(ctx, path)); err != nil {
			return err
		}
		now, err := m.state(ctx)
		if err == nil && now.moving() {
			err = errors.New("the table moves still")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = withMap(engines[0], 1, saveConfig(true), func(m *Map) error {
		return errors.Join(m.Load(t.Context(), path), compareSaved(m))
	})
	if err != nil {
		t.Error(err)
	}
}

// Files that cannot be loaded are refused by all ranks, and the map is as it was.
func TestLoadRefuses(t *testing.T) {
	path := savedMap(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	err = local.Run(1, func(job rma.Job) error {
		s, err := archive.NewSaver(t.Context(), job, foreign, "")
		if err != nil {
			return err
		}
		return s.Finish(t.Context(), s.Add(t.Context(), 0, []byte("a record")), []byte("{}"))
	})
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, good[:len(good)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	tight := saveConfig(false)
	tight.MaxValue = 100
	for _, c := range []struct {
		path, want string
		cfg        Config
	}{
		{short, "truncated", saveConfig(false)},
		{foreign, "is no farhash map", saveConfig(false)},
		{path, "make MaxKey and MaxValue larger", tight},
		{filepath.Join(t.TempDir(), "none"), "no such file", saveConfig(false)},
	} {
		err := withMap(engines[0], 2, c.cfg, func(m *Map) error {
			err := m.Load(context.Background(), c.path)
			if err == nil {
				return fmt.Errorf("%s was loaded", c.path)
			}
			if n, failed := m.Len(context.Background()); n != 0 || failed != nil {
				return fmt.Errorf("%d keys are there; %w", n, failed)
			}
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; %q was expected", filepath.Base(c.path), err, c.want)
		}
	}
}

// A map with too little room says so.
func TestLoadIntoTooLittleRoom(t *testing.T) {
	path := savedMap(t)
	cfg := saveConfig(false)
	cfg.MaxSlots = 0
	err := withMap(engines[0], 1, cfg, func(m *Map) error {
		return m.Load(context.Background(), path)
	})
	if full := (*FullError)(nil); !errors.As(err, &full) {
		t.Error(err)
	}
}

// Blocks of two files, put together in any way, are not loaded as one of them.
func TestSplicedFiles(t *testing.T) {
	var paths [2]string
	cfg := Config{Slots: 1 << 10, Bytes: 1 << 23, MaxKey: 8, MaxValue: 2000}
	for i := range paths {
		paths[i] = filepath.Join(t.TempDir(), "map")
		err := withMap(engines[0], 1, cfg, func(m *Map) error {
			for n := range 600 {
				value := bytes.Repeat([]byte{byte(i)}, 2000)
				if _, err := m.Put(fmt.Append(nil, n), value); err != nil {
					return err
				}
			}
			return m.Save(context.Background(), paths[i])
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	archivetest.Refused(t, paths[0], paths[1], func(path string) (content string, err error) {
		err = withMap(engines[0], 1, cfg, func(m *Map) error {
			if err := m.Load(context.Background(), path); err != nil {
				return err
			}
			value, _, _, err := m.Get([]byte("7"), nil)
			content = string(value)
			return err
		})
		return content, err
	})
}

// What a block says of its records is not believed.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0, 'k', 'v', 'v'})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		m := &Map{cfg: Config{MaxKey: 40, MaxValue: 200}}
		puts, err := m.records(payload)
		if err != nil {
			return
		}
		read := 0
		for _, p := range puts {
			if p.Kind != Put || len(p.Key) < 1 || len(p.Key) > 40 || len(p.Value) > 200 {
				t.Fatalf("a record of %d and %d bytes", len(p.Key), len(p.Value))
			}
			read += recordHeadBytes + len(p.Key) + len(p.Value)
		}
		if read != len(payload) {
			t.Errorf("%d of %d bytes were read", read, len(payload))
		}
	})
}
