package set

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
)

// byName is a set of any kind that was opened by name, of numbers.
type byName struct {
	put   func(n int) (Result, error)
	batch func(n []int) ([]Result, error)
	Check func(ctx context.Context) error
	Len   func(ctx context.Context) (uint64, error)
	Close func() error
	space *space
}

// kinds open sets for so many numbers.
var kinds = map[string]func(path string, numbers int) (byName, error){
	"words": func(path string, numbers int) (byName, error) {
		s, err := Open(path, Config{Buckets: uint64(numbers) * 5 / 4})
		if err != nil {
			return byName{}, err
		}
		return byName{
			put: func(n int) (Result, error) { return s.FindOrPut(uint64(n)) },
			batch: func(n []int) ([]Result, error) {
				words, results := make([]uint64, len(n)), make([]Result, len(n))
				for i := range n {
					words[i] = uint64(n[i])
				}
				return results, s.FindOrPutBatch(words, results)
			},
			Check: s.Check, Len: s.Len, Close: s.Close, space: s.space}, nil
	},
	"elements": func(path string, numbers int) (byName, error) {
		s, err := OpenBytes(path, BytesConfig{ElementBytes: 12, Capacity: uint64(numbers),
			Config: Config{Buckets: uint64(numbers) * 5 / 4}})
		if err != nil {
			return byName{}, err
		}
		return byName{
			put: func(n int) (Result, error) { return s.FindOrPut(textOf(n, 12)) },
			batch: func(n []int) ([]Result, error) {
				var all []byte
				for _, n := range n {
					all = append(all, textOf(n, 12)...)
				}
				results := make([]Result, len(n))
				return results, s.FindOrPutPacked(all, results, nil)
			},
			Check: s.Check, Len: s.Len, Close: s.Close, space: s.space}, nil
	},
	"strings": func(path string, numbers int) (byName, error) {
		s, err := OpenBytes(path, BytesConfig{Config: Config{MaxBytes: 8 << 20}})
		if err != nil {
			return byName{}, err
		}
		return byName{
			put: func(n int) (Result, error) { return s.FindOrPut(textOf(n, n%5000)) },
			batch: func(n []int) ([]Result, error) {
				var all [][]byte
				for _, n := range n {
					all = append(all, textOf(n, n%50))
				}
				results := make([]Result, len(n))
				return results, s.FindOrPutBatch(all, results)
			},
			Check: s.Check, Len: s.Len, Close: s.Close, space: s.space}, nil
	},
}

// textOf is a number in at least so many bytes.
func textOf(n, size int) []byte {
	text := make([]byte, max(size, 12))
	binary.LittleEndian.PutUint64(text, uint64(n))
	return text
}

// named is the path of a set in memory for one test.
func named(t *testing.T) string {
	t.Helper()
	return filepath.Join(lab.TempFolder(t), "set")
}

// A process that comes for one element and goes leaves what it has not used to the next one. Each
// would take 64 slots otherwise, or 4096 words.
func TestOpenForOneElement(t *testing.T) {
	for kind, open := range kinds {
		t.Run(kind, func(t *testing.T) {
			path, numbers := named(t), 1000
			for n := range numbers {
				s, err := open(path, numbers)
				if err != nil {
					t.Fatal(err)
				}
				r, err := s.put(n)
				again, againErr := s.put(n / 2)
				if err := errors.Join(err, againErr, s.Close()); err != nil || r != Inserted ||
					n > 0 && again != Found {
					t.Fatal(n, r, again, err)
				}
			}
			s, err := open(path, numbers)
			if err != nil {
				t.Fatal(err)
			}
			n, err := s.Len(t.Context())
			if a := s.space.arenas; a != nil {
				runs, _ := a.counter.Load(t.Context(), 0, cellTaken)
				if a.strings {
					runs /= runWords
				} else {
					runs /= slotRun
				}
				if runs > 40 {
					t.Errorf("%d runs were taken; the elements fit into 16", runs)
				}
			}
			if err := errors.Join(err, s.Check(t.Context()), s.Close()); err != nil ||
				n != uint64(numbers) {
				t.Fatalf("there are %d elements, %v", n, err)
			}
		})
	}
}

// Of several openings that insert the same numbers, one inserts each, while the set grows.
func TestOpenTogether(t *testing.T) {
	const openings, numbers, batch = 6, 60000, 200
	for kind, open := range kinds {
		t.Run(kind, func(t *testing.T) {
			path := named(t)
			if kind == "words" {
				first, err := Open(path, Config{MaxBytes: 4 << 20})
				if err != nil {
					t.Fatal(err)
				}
				defer first.Close()
				open = func(path string, _ int) (byName, error) { return kinds[kind](path, 0) }
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			inserted := 0
			for range openings {
				s, err := open(path, numbers)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				wg.Go(func() {
					mine := 0
					for at := 0; at < numbers; at += batch {
						var some []int
						for i := range batch {
							some = append(some, at+i)
						}
						results, err := s.batch(some)
						if err != nil {
							t.Error(err)
							return
						}
						for _, r := range results {
							if r == Inserted {
								mine++
							}
						}
					}
					mu.Lock()
					inserted += mine
					mu.Unlock()
				})
			}
			wg.Wait()
			s, err := open(path, numbers)
			if err != nil {
				t.Fatal(err)
			}
			n, err := s.Len(t.Context())
			if err := errors.Join(err, s.Check(t.Context()), s.Close()); err != nil ||
				inserted != numbers || n != numbers {
				t.Errorf("%d inserted, %d there, %v", inserted, n, err)
			}
		})
	}
}

// The configuration comes from the file, and one that differs is refused, as are other kinds.
func TestOpenAgain(t *testing.T) {
	path := named(t)
	e, err := OpenBytes(path, BytesConfig{ElementBytes: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	same, err := OpenBytes(path, BytesConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer same.Close()
	if n := same.Config().ElementBytes; n != 20 {
		t.Errorf("elements of %d bytes", n)
	}
	_, err = OpenBytes(path, BytesConfig{ElementBytes: 21})
	if err == nil || !strings.Contains(err.Error(), "bytes per element differ") {
		t.Errorf("another length: %v", err)
	}
	if _, err = Open(path, Config{}); err == nil {
		t.Error("a set of elements was opened as one of words")
	}
	if err := e.Collect(t.Context(), func([]byte) bool { return true }); err == nil {
		t.Error("Collect of a set by name")
	}
}

// What was filled in is legal when a set is opened again.
func TestOpenFilledIn(t *testing.T) {
	for _, cfg := range []BytesConfig{{}, {Config: Config{Buckets: 1001}},
		{Config: Config{Buckets: 1001, MaxBytes: 38056}},
		{Config: Config{MaxBytes: 1<<22 + 3}}, {Capacity: 77},
		{Config: Config{Chunk: 64, Chunks: 3}}} {
		for kind, open := range map[string]func(path string) (anySet, error){
			"words": func(path string) (anySet, error) {
				s, err := Open(path, cfg.Config)
				if err != nil {
					return anySet{}, err
				}
				return s.anySet, nil
			},
			"elements": func(path string) (anySet, error) {
				cfg := cfg
				cfg.ElementBytes = 8
				s, err := OpenBytes(path, cfg)
				if err != nil {
					return anySet{}, err
				}
				return s.anySet, nil
			},
			"strings": func(path string) (anySet, error) {
				s, err := OpenBytes(path, BytesConfig{Config: cfg.Config})
				if err != nil {
					return anySet{}, err
				}
				return s.anySet, nil
			}} {
			path := named(t)
			first, err := open(path)
			if err != nil {
				t.Fatal(kind, cfg, err)
			}
			again, err := open(path)
			if err != nil {
				t.Fatal(kind, cfg, "again:", err)
			}
			if a, b := first.cfg.fields(), again.cfg.fields(); !slices.Equal(a, b) {
				t.Errorf("%s: %v, then %v", kind, a, b)
			}
			if err := errors.Join(again.Close(), first.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// Check finds elements in slots that were not handed out: their counter may be older after a power
// failure. Owners of runs that are gone do not end the work of others.
func TestDamagedArenas(t *testing.T) {
	for _, kind := range []string{"elements", "strings"} {
		t.Run(kind, func(t *testing.T) {
			s, err := kinds[kind](named(t), 1000)
			if err != nil {
				t.Fatal(err)
			}
			for n := range 100 {
				if _, err := s.put(n); err != nil {
					t.Fatal(err)
				}
			}
			a := s.space.arenas
			clear(a.shared.owners.window.Words(0))
			if err := errors.Join(a.shared.inherit(a, 5), s.Check(t.Context())); err != nil {
				t.Error(err)
			}
			a.counter.window.Words(0)[cellTaken] = 0
			err = s.Check(t.Context())
			if err == nil || !strings.Contains(err.Error(), "that others may take") {
				t.Errorf("Check: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A file that is cut off makes calls fail.
func TestCutOff(t *testing.T) {
	for kind, open := range kinds {
		t.Run(kind, func(t *testing.T) {
			path := named(t)
			s, err := open(path, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.put(1); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, 1<<13); err != nil {
				t.Fatal(err)
			}
			_, putErr := s.put(2)
			_, batchErr := s.batch([]int{1, 2, 3})
			_, lenErr := s.Len(t.Context())
			for what, err := range map[string]error{"FindOrPut": putErr, "batch": batchErr,
				"Len": lenErr, "Check": s.Check(t.Context())} {
				if err == nil || !strings.Contains(err.Error(), "was cut off") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(fmt.Errorf("Close: %w", err))
			}
		})
	}
}

// A typed set with a name is of the kind that its type needs, and Remove ends it for those who open
// it later.
func TestOpenTypedAndRemove(t *testing.T) {
	t.Run("words", func(t *testing.T) { openTypedAndRemove[uint32](t, 7, 9) })
	t.Run("elements", func(t *testing.T) {
		openTypedAndRemove(t, [2]uint64{7, 1}, [2]uint64{9, 1})
	})
	t.Run("strings", func(t *testing.T) { openTypedAndRemove(t, "seven", "nine") })
}

func openTypedAndRemove[K any](t *testing.T, here, missing K) {
	path := named(t)
	open := func() *Typed[K] {
		s, err := OpenTyped[K](path, Config{Buckets: 1000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	first := open()
	if result, err := first.FindOrPut(here); result != Inserted || err != nil {
		t.Fatalf("%v, %v", result, err)
	}
	again := open()
	if found, err := again.Contains(here); !found || err != nil {
		t.Errorf("%v, which another process inserted: found %v, %v", here, found, err)
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if found, err := again.Contains(missing); found || err != nil {
		t.Errorf("%v after Remove: found %v, %v", missing, found, err)
	}
	if found, err := open().Contains(here); found || err != nil {
		t.Errorf("%v in a set made after Remove: found %v, %v", here, found, err)
	}
	if err := Remove(path + "-none"); err == nil {
		t.Error("a set that is not there was removed")
	}
}

// A set whose control words are damaged, as after a crash of the host, is not opened, or its calls
// return an error. None ends the process, and none goes on for ever.
func TestDamagedControl(t *testing.T) {
	marks := func(s byName) []uint64 { return s.space.marks.regions.Here(0) }
	counter := func(s byName) []uint64 { return s.space.arenas.counter.window.Words(0) }
	owners := func(s byName) []uint64 { return s.space.arenas.shared.owners.window.Words(0) }
	for name, damage := range map[string]func(s byName){
		"oldest": func(s byName) { marks(s)[cellOldest] = marks(s)[cellBegun] + 1 },
		"piece":  func(s byName) { marks(s)[cellPiece] = marks(s)[cellBegun] + 1 },
		"begun":  func(s byName) { marks(s)[cellBegun] = marks(s)[cellReady] + 1 },
		"ready":  func(s byName) { marks(s)[cellReady] = uint64(len(s.space.tables)) },
		"beyond": func(s byName) {
			counter(s)[cellTaken] = s.space.arenas.slots + s.space.arenas.run
		},
		"a part": func(s byName) { counter(s)[cellTaken]++ },
		"no run": func(s byName) { owners(s)[0] = 1 },
		"a run too many": func(s byName) {
			owners(s)[0] = (s.space.arenas.slots/s.space.arenas.run+1)<<runsAt | 1
		},
		"no run at the counter": func(s byName) {
			owners(s)[counter(s)[cellTaken]/s.space.arenas.run] = 1
		},
	} {
		for _, kind := range []string{"elements", "strings"} {
			path := named(t)
			s, err := kinds[kind](path, 1000)
			must(t, err)
			_, err = s.put(1)
			must(t, err)
			damage(s)
			must(t, s.Close())
			s, err = kinds[kind](path, 1000)
			if err == nil {
				_, err = s.batch([]int{2, 3, 4})
				must(t, s.Close())
			}
			if err == nil || !strings.Contains(err.Error(), "is damaged") ||
				!strings.Contains(err.Error(), "remove its file") {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
	}
}

// TestNamedBytesAsRecorded: whether elements have one length, and which, is in the file.
func TestNamedBytesAsRecorded(t *testing.T) {
	for _, size := range []int{12, 0} {
		path, element := named(t), []byte("twelve bytes")
		first, err := OpenBytes(path, BytesConfig{ElementBytes: size,
			Config: Config{MaxBytes: 16 << 20}})
		must(t, err)
		_, err = first.FindOrPut(element)
		must(t, err, first.Close())
		again, err := OpenBytes(path, BytesConfig{})
		must(t, err)
		found, err := again.Contains(element)
		must(t, err)
		if got := again.Config().ElementBytes; !found || got != size {
			t.Errorf("opened again: found %v, elements of %d bytes, not %d", found, got, size)
		}
		must(t, again.Check(t.Context()), again.Close())
		_, err = OpenBytes(path, BytesConfig{ElementBytes: 16})
		fails(t, "another length", err, "bytes per element")
	}
}
