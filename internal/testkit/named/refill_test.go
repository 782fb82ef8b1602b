//go:build linux

package named

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
)

const (
	refillKeys = 600 // that workers change
	refillKept = 50  // elements that all insert, again and again
)

func init() {
	programs["refill"] = refill
	programs["elements"+again] = func(w *worker) error {
		s, err := openFew(w.path)
		if err != nil {
			return err
		}
		return insertAgain(w, s.FindOrPut, s.Close)
	}
	programs["strings"+again] = func(w *worker) error {
		s, err := openFewStrings(w.path)
		if err != nil {
			return err
		}
		return insertAgain(w, s.FindOrPut, s.Close)
	}
}

// again is the end of the names of programs that insert the same elements.
const again = "-same"

func openSmall(path string) (*kv.Map, error) {
	return kv.Open(path, kv.Config{Slots: 1 << 10, Bytes: 1000 * 64, MaxKey: 16, MaxValue: 16})
}

// refill overwrites, deletes and puts keys at random.
func refill(w *worker) error {
	m, err := openSmall(w.path)
	if err != nil {
		return err
	}
	full := (*kv.FullError)(nil)
	for more := true; more; {
		key := numbers(0, rand.Uint64N(refillKeys))
		if rand.IntN(3) == 0 {
			_, err = m.Delete(key)
		} else {
			_, err = m.Put(key, numbers(w.number, w.done))
		}
		if err != nil && !errors.As(err, &full) {
			return err
		}
		if more, err = w.acknowledge(); err != nil {
			return err
		}
	}
	return m.Close()
}

// fill deletes what a map has, and puts new keys until it is full. It returns how many that were.
func fill(t *testing.T, m *kv.Map) (n uint64) {
	t.Helper()
	for p, err := range m.All(t.Context()) {
		if err == nil {
			_, err = m.Delete(p.Key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for full := (*kv.FullError)(nil); ; n++ {
		_, err := m.Put(numbers(1, n), numbers(n, n))
		if errors.As(err, &full) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A map of a fixed size that is full takes as many keys after processes were killed that worked on
// it, in one that has come since, and in one that has had it open all the time.
func TestRefill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	refillMap(t, 20)
}

func refillMap(t *testing.T, kills int) {
	path := newPath(t)
	old, err := openSmall(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	want := fill(t, old)
	compare := func(who string, m *kv.Map) {
		t.Helper()
		got := fill(t, m)
		if err := m.Check(t.Context()); got != want || err != nil {
			t.Fatalf("%s: %d keys fit, and %d before, %v", who, got, want, err)
		}
	}
	for n := range kills {
		var both []*process
		for i := range 2 {
			both = append(both, start(t, "refill", path, uint64(n*2+i)))
		}
		for _, p := range both {
			p.await(uint64(100 + rand.IntN(3000)))
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond) // it is killed anywhere
			p.kill()
		}
		if n%5 > 0 {
			continue
		}
		if rand.IntN(2) == 0 {
			compare("an old one", old)
		}
		young, err := openSmall(path)
		if err != nil {
			t.Fatal(err)
		}
		compare(fmt.Sprint("a new one after ", n), young)
		if err := young.Close(); err != nil {
			t.Fatal(err)
		}
	}
	compare("the old one", old)
}

func openFew(path string) (*set.Bytes, error) {
	return set.OpenBytes(path, set.BytesConfig{ElementBytes: 512, Capacity: 1 << 16,
		Config: set.Config{Buckets: 1 << 17}})
}

func openFewStrings(path string) (*set.Bytes, error) {
	return set.OpenBytes(path, set.BytesConfig{Config: set.Config{MaxBytes: 256 << 20}})
}

// insertAgain inserts elements that most others have inserted as well.
func insertAgain(w *worker, put func(element []byte) (set.Result, error),
	end func() error) error {
	for more := true; more; {
		element := make([]byte, 512)
		copy(element, numbers(w.number/refillKept, w.done))
		r, err := put(element)
		if err != nil || r == set.Full {
			return fmt.Errorf("%v, %w", r, err)
		}
		if more, err = w.acknowledge(); err != nil {
			return err
		}
		if w.done%refillKept == 0 {
			w.done = 0
		}
	}
	return end()
}

// Processes that are killed while they insert a few elements do not use up the memory of others.
func TestSlotsOfKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, kind := range []string{"elements", "strings"} {
		t.Run(kind, func(t *testing.T) { slotsOfKilled(t, kind, 60) })
	}
}

func slotsOfKilled(t *testing.T, kind string, kills int) {
	path := newPath(t)
	var bytes uint64
	for n := range kills {
		p := start(t, kind+again, path, uint64(n))
		p.await(uint64(1 + rand.IntN(40)))
		p.kill()
		info, err := file.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			bytes = info.Bytes
		}
		// A process takes a run of 32 KiB, and there are 2 MiB at first.
		if n > 4 && info.Bytes > bytes {
			t.Fatalf("%d processes have taken %d bytes, and 5 have taken %d", n+1, info.Bytes,
				bytes)
		}
	}
}
