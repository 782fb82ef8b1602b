package mpidht

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/measure"
)

func TestMain(m *testing.M) { os.Exit(mark.Main(m, "mpidht: ", os.Stderr)) }

var (
	ctx = context.Background()

	readerWaits = mark.Named("mpidht: a reader finds a writer")
	writerWaits = mark.Named("mpidht: a writer finds the lock taken")
	failsTwice  = mark.Named("mpidht: a bucket fails its checksum twice")
)

var protocols = map[string]Protocol{"lock-free": LockFree, "fine": Fine, "coarse": Coarse}

// withTable runs fn with a table on every rank, and then sees that all locks are free.
func withTable(job rma.Job, cfg Config, fn func(t *Table) error) error {
	t, err := New(ctx, job, cfg)
	if err != nil {
		return err
	}
	err = errors.Join(fn(t), t.settle(ctx), job.Barrier(ctx))
	if err == nil && cfg.Protocol != LockFree {
		err = t.locksAreFree(job.Rank())
	}
	return errors.Join(err, job.Barrier(ctx), t.Close())
}

func (t *Table) locksAreFree(rank int) error {
	lock, err := t.q.Alloc(1)
	if err != nil {
		return err
	}
	for i := range t.buckets {
		at := t.first + int(i)*(t.lockWords+t.entryWords)
		if t.cfg.Protocol == Coarse {
			at = 0
		}
		if err := t.get(ctx, lock, t.window, rank, at); err != nil {
			return err
		}
		if lock[0] != 0 {
			return fmt.Errorf("the lock at %d of rank %d is %#x in the end", at, rank, lock[0])
		}
	}
	return nil
}

// TestStream compares a table with a map of Go, call by call, by each protocol and on each engine.
// Each rank has its own keys, and all have room.
func TestStream(t *testing.T) {
	for name, protocol := range protocols {
		cfg := Config{Protocol: protocol, KeyBytes: 9, ValueBytes: 21, Buckets: 300}
		for _, e := range lab.Engines() {
			for ranks := 1; ranks <= 3; ranks++ {
				err := e.Run(ranks, func(job rma.Job) error {
					return withTable(job, cfg, func(t *Table) error {
						return stream(t, job.Rank(), 600)
					})
				})
				if err != nil {
					t.Errorf("%s, %s, %d ranks: %v", name, e.Name, ranks, err)
				}
			}
		}
	}
}

func stream(t *Table, rank, calls int) error {
	rng := rand.New(rand.NewPCG(5, uint64(rank)))
	want := map[string][]byte{}
	for i := range calls {
		key := fmt.Appendf(nil, "%d-%07d", rank, rng.IntN(40))
		if rng.IntN(2) == 0 {
			value := fmt.Appendf(nil, "%021d", i)
			if err := t.Write(key, value); err != nil {
				return err
			}
			want[string(key)] = value
			continue
		}
		got := make([]byte, 21)
		found, err := t.Read(key, got)
		if err != nil {
			return err
		}
		if was, there := want[string(key)]; found != there || found && !bytes.Equal(got, was) {
			return fmt.Errorf("call %d: key %s has %q, %v, and not %q, %v", i, key, got, found, was,
				there)
		}
	}
	if is := t.Stats; is.Reads+is.Writes != uint64(calls) || is.Evicted+is.Failed != 0 {
		return fmt.Errorf("after %d calls: %+v", calls, is)
	}
	return nil
}

// bucketsMap is a table as MD 3.1 describes it: what each bucket has.
type bucketsMap struct {
	ranks, buckets uint64
	have           map[[2]uint64]pair
}

type pair struct{ key, value uint64 }

// places are the candidates of a key, each a rank and an index.
func (m *bucketsMap) places(key uint64) (all [][2]uint64) {
	hash := digest(0, []uint64{key})
	windowBytes := 1
	for n := uint64(256); n < m.buckets; n *= 256 {
		windowBytes++
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], hash)
	for i := range 9 - windowBytes {
		var window [8]byte
		copy(window[:], b[i:i+windowBytes])
		all = append(all, [2]uint64{hash % m.ranks,
			binary.LittleEndian.Uint64(window[:]) % m.buckets})
	}
	return all
}

// at is the bucket that a write of a key takes.
func (m *bucketsMap) at(key uint64) (place [2]uint64, evicts bool) {
	all := m.places(key)
	for _, place := range all {
		if p, taken := m.have[place]; !taken || p.key == key {
			return place, false
		}
	}
	return all[len(all)-1], true
}

func (m *bucketsMap) read(key uint64) (value uint64, found bool) {
	for _, place := range m.places(key) {
		p, taken := m.have[place]
		if !taken || p.key == key {
			return p.value, taken
		}
	}
	return 0, false
}

// TestAddresses: which bucket a key takes, which key it drives out and which keys are found is as
// in a plain map of buckets, whether windows of the hash have one byte or two. So where MD takes
// the last candidate, that one loses its key.
func TestAddresses(t *testing.T) {
	for name, protocol := range protocols {
		for _, buckets := range []uint64{2, 7, 256, 257, 300} {
			cfg := Config{Protocol: protocol, KeyBytes: 8, ValueBytes: 8, Buckets: buckets}
			err := lab.Engines()[1].Run(3, func(job rma.Job) error {
				return withTable(job, cfg, func(t *Table) error {
					if job.Rank() != 0 {
						return nil
					}
					return fillUp(t, &bucketsMap{3, buckets, map[[2]uint64]pair{}})
				})
			})
			if err != nil {
				t.Errorf("%s, %d buckets: %v", name, buckets, err)
			}
		}
	}
}

// fillUp writes twice as many keys as there are buckets, and reads one after each write.
func fillUp(t *Table, m *bucketsMap) error {
	rng := rand.New(rand.NewPCG(m.buckets, 1))
	word := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	evicted, got := uint64(0), make([]byte, 8)
	for i := range 2 * m.ranks * m.buckets {
		key := rng.Uint64N(4 * m.buckets)
		if err := t.Write(word(key), word(i)); err != nil {
			return err
		}
		place, evicts := m.at(key)
		if m.have[place] = (pair{key, i}); evicts {
			evicted++
		}
		key = rng.Uint64N(4 * m.buckets)
		want, there := m.read(key)
		found, err := t.Read(word(key), got)
		if err != nil {
			return err
		}
		if found != there || found && !bytes.Equal(got, word(want)) {
			return fmt.Errorf("after write %d key %d has %x, %v, and not %x, %v", i, key, got,
				found, want, there)
		}
	}
	if t.Stats.Evicted != evicted {
		return fmt.Errorf("%d keys were driven out, and not %d", t.Stats.Evicted, evicted)
	}
	return nil
}

// TestLabContention: ranks that write and read the same two keys at once get values that somebody
// has written, though gets and puts are torn. With locks every key that was written is found.
func TestLabContention(t *testing.T) {
	readerWaits.Claim(t)
	writerWaits.Claim(t)
	failsTwice.Claim(t)
	for name, protocol := range protocols {
		for seed := range uint64(60) {
			opts := sim.Random(2+int(seed%2), seed)
			opts.TearNs, opts.MaxTimeNs = 3000, 1e9 // for wrong versions that wait for ever
			cfg := Config{Protocol: protocol, KeyBytes: 8, ValueBytes: 40, Buckets: 50}
			_, err := sim.Run(opts, func(job rma.Job) error {
				return withTable(job, cfg, func(t *Table) error {
					return contend(job, t, seed)
				})
			})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
		}
	}
}

func contend(job rma.Job, t *Table, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, uint64(job.Rank())))
	key, value, scratch := make([]byte, 8), make([]byte, 40), make([]byte, 40)
	written := [2]bool{}
	for i := range 25 {
		number := rng.Uint64N(2)
		measure.FillKey(key, number)
		if rng.IntN(2) == 0 {
			measure.FillValue(value, number, uint64(job.Rank())<<32|uint64(i))
			if err := t.Write(key, value); err != nil {
				return err
			}
			written[number] = true
			continue
		}
		found, err := t.Read(key, value)
		if err != nil {
			return err
		}
		if found && !measure.RightValue(value, number, scratch) {
			return fmt.Errorf("call %d: key %d has %x, which nobody has written", i, number, value)
		}
		if !found && written[number] && t.cfg.Protocol != LockFree {
			return fmt.Errorf("call %d: key %d has been written, and is not found", i, number)
		}
	}
	return nil
}

// TestInvalid: a bucket whose checksum is wrong fails a read at the second get, and every read
// after it. A write takes the bucket again: one of the key, and one of another key.
func TestInvalid(t *testing.T) {
	failsTwice.Claim(t)
	cfg := Config{Protocol: LockFree, KeyBytes: 8, ValueBytes: 8, Buckets: 5}
	err := lab.Engines()[1].Run(1, func(job rma.Job) error {
		return withTable(job, cfg, func(t *Table) error {
			key, value := []byte("the key."), []byte("a value.")
			if err := t.Write(key, value); err != nil {
				return err
			}
			first := t.candidate(digest(0, t.mine[1:2]), 0)
			for range 2 {
				if err := spoil(t, key, first); err != nil {
					return err
				}
				if err := t.Write(key, []byte("another.")); err != nil {
					return err
				}
				found, err := t.Read(key, value)
				if !found || err != nil || string(value) != "another." || t.Stats.Evicted != 0 {
					return fmt.Errorf("%q, found %v, error %v, %+v", value, found, err, t.Stats)
				}
			}
			rival := binary.LittleEndian.AppendUint64(nil, 1)
			for t.candidate(digest(0, []uint64{binary.LittleEndian.Uint64(rival)}), 0) != first {
				rival[1]++
			}
			err := errors.Join(spoil(t, key, first), t.Write(rival, value), t.getBucket(0, first))
			if err == nil && !t.sameKey() {
				err = errors.New("another key has not taken the invalid bucket")
			}
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// spoil changes the value in the bucket of a key, and reads the key three times.
func spoil(t *Table, key []byte, at int) error {
	t.mark[0] = 7
	if err := t.put(ctx, t.mark, t.window, 0, t.entry(at)+2); err != nil {
		return err
	}
	before := t.Stats
	for range 3 {
		if found, err := t.Read(key, make([]byte, 8)); found || err != nil {
			return fmt.Errorf("found %v, error %v", found, err)
		}
	}
	is := t.Stats
	if is.Mismatches-before.Mismatches != 2 || is.Marked-before.Marked != 1 ||
		is.Failed-before.Failed != 3 || is.Gets-before.Gets != 4 {
		return fmt.Errorf("three reads are counted as %+v, before %+v", is, before)
	}
	return nil
}

// TestConfig: what makes no sense is refused.
func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{KeyBytes: 0, ValueBytes: 8, Buckets: 1},
		{KeyBytes: 8, ValueBytes: 0, Buckets: 1}, {KeyBytes: 8, ValueBytes: 8}} {
		err := lab.Engines()[0].Run(1, func(job rma.Job) error {
			_, err := New(ctx, job, cfg)
			return err
		})
		if err == nil {
			t.Errorf("no error for %+v", cfg)
		}
	}
}
