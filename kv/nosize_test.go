package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
)

// A map that nobody has given the longest key and value takes the longest that there are, and has
// buffers only for those that are used.
func TestNoLongest(t *testing.T) {
	cfg := Config{Slots: 64, Bytes: 1 << 21, Chunk: 4, Depth: 4}
	eachCase(t, func(t *testing.T, e engine, copies bool) {
		cfg := cfg
		cfg.Copies = copies
		err := withMap(e, 2, cfg, func(m *Map) error {
			if m.cfg.MaxKey != MaxSize || m.cfg.MaxValue != MaxSize {
				return fmt.Errorf("the longest are %d and %d", m.cfg.MaxKey, m.cfg.MaxValue)
			}
			err := errors.Join(keepsSizes(m), m.job.Barrier(context.Background()))
			return errors.Join(err, m.Check(context.Background()),
				m.job.Barrier(context.Background()))
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// keepsSizes puts pairs of all sizes, again and again, and gets them.
func keepsSizes(m *Map) error {
	s, err := m.session()
	if err != nil {
		return err
	}
	if n := len(s.ops[0].here) + len(s.ops[0].there); n > 2*firstItemRoom {
		return fmt.Errorf("a machine has %d words for items before there are any", n)
	}
	m.pool.Give(s, false)
	if err := m.job.Barrier(context.Background()); err != nil {
		return err
	}
	for i, size := range []int{0, 1, 500, 5000, MaxSize, 3, 20_000, 0} {
		key := sized("key", i, size)[:max(1, size)]
		key[0] = byte(m.job.Rank())
		for round := range 5 {
			want := sized("value", round, size)[:size]
			put, get := Call{Kind: Put, Key: key, Value: want}, Call{Kind: Get, Key: key}
			err := m.call(&put)
			if err == nil {
				err = m.call(&get)
			}
			if err != nil || !get.Done || !bytes.Equal(get.Value, want) {
				return fmt.Errorf("a value of %d bytes, put %d: %d bytes are there: %w", size,
					round, len(get.Value), err)
			}
		}
	}
	for _, c := range []Call{{Key: make([]byte, MaxSize+1)},
		{Kind: Put, Key: []byte{1}, Value: make([]byte, MaxSize+1)}} {
		if m.one(&c, false) == nil {
			return errors.New("a key or a value that is too long is taken")
		}
	}
	return nil
}

// reserving are engines whose windows take memory in parts.
var reserving = []engine{engines[0], engines[1], carriers[0], carriers[1]}

// A map that nobody has given a size takes what is put into it, and keeps all of it.
func TestNoSize(t *testing.T) {
	n := replay.Often(60_000, 200_000)
	if testing.Short() || memory.RaceEnabled {
		n = 20_000
	}
	for _, e := range reserving {
		for _, ranks := range []int{1, 3} {
			t.Run(fmt.Sprint(e.Name, "/", ranks), func(t *testing.T) {
				err := withMap(e, ranks, Config{}, func(m *Map) error {
					if !rma.Reserves(m.job) {
						return nil // a default map takes much memory at once here
					}
					return takesAll(m, n)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// atOnce is a job that does not say whether windows take memory in parts.
type atOnce struct{ rma.Job }

// Where memory is taken at once a map without a size has all of it, and uses it alike.
func TestNoSizeAtOnce(t *testing.T) {
	for _, e := range engines[:2] {
		err := e.Run(2, func(job rma.Job) error {
			m, err := New(context.Background(), atOnce{job}, Config{MaxBytes: 32 << 20})
			if err != nil {
				return err
			}
			if m.takeMemory != nil || m.arena.committed.Load() != m.arena.units {
				err = errors.New("memory is taken in parts")
			}
			return errors.Join(err, takesAll(m, 50_000), m.Close())
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// takesAll puts the share of this rank of n small pairs and of some large ones, in batches and
// alone, and gets what another rank has put.
func takesAll(m *Map, n int) error {
	ctx := context.Background()
	ranks, rank := m.job.Size(), m.job.Rank()
	first := m.Slots()
	err := m.job.Barrier(ctx)
	if err != nil {
		return err
	}
	err = eachPair(n, rank, ranks, func(calls []Call) error {
		for i := range calls {
			calls[i].Kind = Put
		}
		return m.Batch(calls)
	})
	if err = errors.Join(err, m.job.Barrier(ctx)); err != nil {
		return err
	}
	err = eachPair(n, (rank+1)%ranks, ranks, func(calls []Call) error {
		gets := make([]Call, len(calls))
		for i := range gets {
			gets[i].Key = calls[i].Key
		}
		err := m.Batch(gets)
		for i, c := range gets {
			if err == nil && (!c.Done || !bytes.Equal(c.Value, calls[i].Value)) {
				err = fmt.Errorf("key %x: done %v, %d bytes", c.Key, c.Done, len(c.Value))
			}
		}
		return err
	})
	if keys, lenErr := m.Len(ctx); err == nil && (lenErr != nil || keys != uint64(n)) {
		err = errors.Join(lenErr, fmt.Errorf("%d keys, not %d", keys, n))
	}
	if m.Slots() <= first || first > firstSlots+8*uint64(ranks) {
		err = errors.Join(err, fmt.Errorf("%d slots have become %d", first, m.Slots()))
	}
	return errors.Join(err, m.Check(ctx), m.job.Barrier(ctx))
}

// eachPair calls fn with batches of the share of a rank of n pairs. Every 5000th is large.
func eachPair(n, rank, ranks int, fn func(calls []Call) error) error {
	for next := rank; next < n; {
		var calls []Call
		for ; next < n && len(calls) < 1000; next += ranks {
			c := Call{Key: fmt.Appendf(nil, "key %d", next), Value: fmt.Appendf(nil, "%d", next)}
			if next%5000 < ranks {
				c.Value = sized("value", next, MaxSize)
			}
			calls = append(calls, c)
		}
		if err := fn(calls); err != nil {
			return err
		}
	}
	return nil
}

// scarce is the memory of a map: so many steps of items, and so many tables after the first.
type scarce struct {
	mu     sync.Mutex
	items  int // steps of a rank
	tables int
	slots  map[[2]int]int // words that have memory, by rank and offset
}

var errScarce = errors.New("scarce")

// rule has a map take its memory here. items are the steps that this rank has taken.
func (s *scarce) rule(m *Map, items *int) {
	m.takeMemory = func(rank, off, words int) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if words > s.slots[[2]int{rank, off}] {
			if t := m.latest.Load(); int(t.gen) > s.tables {
				return fmt.Errorf("%d words of slots: %w", words, errScarce)
			}
			s.slots[[2]int{rank, off}] = words
		}
		return nil
	}
	m.arena.commit = func(off, words int) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if *items == s.items {
			return fmt.Errorf("%d words of items: %w", words, errScarce)
		}
		*items++
		return nil
	}
}

// check makes sure that a map uses no memory that it has not got.
func (s *scarce) check(m *Map, items int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := m.arena.divided.Load(); n > uint64(items)*stepUnits || n > m.arena.committed.Load() {
		return fmt.Errorf("%d units are divided after %d steps", n, items)
	}
	t := m.latest.Load()
	for rank := range m.job.Size() {
		has := s.slots[[2]int{rank, int(t.offset * t.stride)}]
		if t.gen > 1 && uint64(has) < t.perRank*t.stride {
			return fmt.Errorf("table %d has %d slots, and %d words of rank %d", t.gen, t.perRank,
				has, rank)
		}
	}
	return nil
}

// TestScarceMemory fills maps that get no memory for slots or for items, or only some. They say so,
// keep what they have, and go on when there is memory again.
func TestScarceMemory(t *testing.T) {
	for _, e := range []engine{engines[0], engines[1], carriers[0]} {
		for _, ranks := range []int{1, 3} {
			for _, items := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", e.Name, ranks, items), func(t *testing.T) {
					s := &scarce{items: 1, tables: 1 << 10, slots: map[[2]int]int{}}
					if !items {
						s.items, s.tables = 1<<10, 1
					}
					cfg := Config{Slots: 8, MaxBytes: uint64(ranks) << 24, Chunk: 4}
					err := withMap(e, ranks, cfg, func(m *Map) error {
						return s.fill(m, items)
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// fill fills a map until there is no memory, three times, and gives it more each time. Rank 0 puts
// alone.
func (s *scarce) fill(m *Map, items bool) (err error) {
	ctx, taken := context.Background(), 1
	if m.arena.commit == nil {
		return nil // all memory is taken at once here
	}
	if ok := m.arena.extend(0); !ok || m.arena.committed.Load() != stepUnits {
		return fmt.Errorf("the first step of items has %d units", m.arena.committed.Load())
	}
	s.rule(m, &taken)
	if err := m.job.Barrier(ctx); err != nil || m.job.Rank() > 0 {
		return errors.Join(err, m.job.Barrier(ctx), s.check(m, taken), m.job.Barrier(ctx))
	}
	size := 1
	if items {
		size = 5000
	}
	keys := 0
	for round := 0; round < 3 && err == nil; round++ {
		before := keys
		for err == nil {
			if err = s.check(m, taken); err == nil {
				_, err = m.Put(sized("key", keys, 8), sized("value", keys, size))
			}
			keys++
		}
		keys--
		full := (*FullError)(nil)
		if !errors.As(err, &full) || full.Items != items || !errors.Is(err, errScarce) ||
			full.MaxBytes != m.cfg.MaxBytes {
			return fmt.Errorf("without memory the error is %w", err)
		}
		if keys == before {
			return errors.New("with more memory than before no more keys are taken")
		}
		for i := 0; i <= keys; i++ {
			value, _, there, err := m.Get(sized("key", i, 8), nil)
			if err != nil || there != (i < keys) || there && !bytes.Equal(value,
				sized("value", i, size)) {
				return fmt.Errorf("of %d keys %d is there %v: %w", keys, i, there, err)
			}
		}
		s.mu.Lock()
		s.items, s.tables, err = s.items+1, s.tables+1, nil
		s.mu.Unlock()
	}
	if _, err := m.Delete(sized("key", 0, 8)); err != nil {
		return err
	}
	err = m.Check(ctx)
	return errors.Join(err, m.job.Barrier(ctx), s.check(m, taken), m.job.Barrier(ctx))
}

// TestChurnWithoutMemory: a table that gets no memory to grow moves to one of its size as soon as
// that makes room.
func TestChurnWithoutMemory(t *testing.T) {
	sameSize.Claim(t)
	cfg := Config{Slots: 64, MaxBytes: 1 << 22, Chunk: 4}
	err := withMap(engines[0], 1, cfg, func(m *Map) error {
		if m.takeMemory == nil {
			return nil
		}
		half := int(m.cfg.MaxSlots / m.ranks)
		m.takeMemory = func(_, off, words int) error {
			if words > 64 {
				return fmt.Errorf("%d words at %d of %d: %w", words, off, half, errScarce)
			}
			return nil
		}
		for i := range 2000 {
			if _, err := m.Put(sized("key", i, 8), nil); err != nil {
				return fmt.Errorf("put %d: %w", i, err)
			}
			if _, err := m.Delete(sized("key", i-40, 8)); err != nil {
				return err
			}
		}
		if m.Slots() != 64 {
			return fmt.Errorf("%d slots", m.Slots())
		}
		return m.Check(context.Background())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOverwritesTakeNoMemory: values that are put again and again use the same items, and one step
// of memory is enough for them.
func TestOverwritesTakeNoMemory(t *testing.T) {
	markedFirst.Claim(t)
	for _, e := range reserving {
		err := withMap(e, 2, Config{}, func(m *Map) error {
			ctx := context.Background()
			const keys = 20 // the ranks put all of them in turn, and mark each other's items
			for i := range 3 * stepUnits / 8 {
				if i%keys == 0 {
					if err := m.job.Barrier(ctx); err != nil {
						return err
					}
				}
				if i/keys%2 != m.job.Rank() {
					continue
				}
				key := fmt.Appendf(nil, "key %d", i%keys)
				if _, err := m.Put(key, sized("value", i, 300)); err != nil {
					return err
				}
			}
			if n := m.arena.committed.Load(); m.arena.commit != nil && n != stepUnits {
				return fmt.Errorf("%d units have memory", n)
			}
			return errors.Join(m.job.Barrier(ctx), m.Check(ctx), m.job.Barrier(ctx))
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestSizes: the sizes that are not given follow from those that are, and stay within MaxBytes.
func TestSizes(t *testing.T) {
	const most = 1 << 62
	for _, c := range []struct {
		given, want Config
		refused     string
	}{
		{given: Config{MaxBytes: 1 << 30},
			want: Config{Slots: 1 << 13, MaxSlots: 1 << 24, Bytes: 3 << 28, MaxBytes: 1 << 30}},
		{given: Config{MaxBytes: 112 << 20, Copies: true},
			want: Config{Slots: 1 << 13, MaxSlots: 1 << 20, Bytes: 48 << 20, MaxBytes: 112 << 20}},
		{given: Config{MaxBytes: most},
			want: Config{Slots: 1 << 13, MaxSlots: 1 << 40, Bytes: 1 << 38, MaxBytes: most}},
		{given: Config{MaxBytes: 1 << 20, Slots: 1 << 8},
			want: Config{Slots: 1 << 8, MaxSlots: 1 << 14, Bytes: 3 << 18, MaxBytes: 1 << 20}},
		{given: Config{MaxBytes: 1 << 20, Slots: 1 << 15},
			want: Config{Slots: 1 << 15, MaxSlots: 1 << 15, Bytes: 1 << 19, MaxBytes: 1 << 20}},
		{given: Config{MaxBytes: 1 << 20, MaxSlots: 1 << 10},
			want: Config{Slots: 1 << 10, MaxSlots: 1 << 10, Bytes: 63 << 14, MaxBytes: 1 << 20}},
		{given: Config{MaxBytes: 1 << 20, Bytes: 1 << 19},
			want: Config{Slots: 1 << 13, MaxSlots: 1 << 15, Bytes: 1 << 19, MaxBytes: 1 << 20}},
		{given: Config{Bytes: 48 << 10},
			want: Config{Slots: 1 << 10, MaxSlots: 1 << 10, Bytes: 48 << 10, MaxBytes: 64 << 10}},
		{given: Config{Bytes: 1 << 20, Slots: 64},
			want: Config{Slots: 64, MaxSlots: 64, Bytes: 1 << 20}},
		{given: Config{MaxBytes: 1}, refused: "MaxBytes must be at least 192, for 8 slots and 64"},
		{given: Config{MaxBytes: 1 << 20, MaxKey: 1, MaxValue: MaxSize, MaxSlots: 1 << 16},
			refused: "MaxBytes must be at least 1146880, for 65536 slots and 98304 bytes"},
		{given: Config{MaxBytes: 1 << 20, Slots: 1 << 16}, refused: "not 1048576"},
		{given: Config{MaxBytes: 1 << 20, Bytes: 1 << 20}, refused: "at least 1048704"},
		{given: Config{Bytes: 1 << 20, Slots: 64, MaxSlots: 63}, refused: "MaxSlots must be 0, or"},
		{given: Config{Bytes: 1 << 20, Slots: 1<<40 + 1}, refused: "Slots must be 0 to 2^40"},
		{given: Config{Bytes: 1<<38 + 1}, refused: "Bytes must be at most 2^38"},
		{given: Config{Bytes: 64, Slots: 8, MaxKey: 50}, refused: "at least 128, a largest item"},
		{given: Config{Bytes: 1 << 20, MaxKey: -1}, refused: "MaxKey and MaxValue must be 0 to"},
		{given: Config{Bytes: 1 << 20, MaxValue: MaxSize + 1}, refused: "0 to 65536"},
	} {
		got := c.given
		err := got.complete(1)
		if c.refused != "" || err != nil {
			if err == nil || c.refused == "" || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%+v gives the error %v, not %q", c.given, err, c.refused)
			}
			continue
		}
		if got.Slots != c.want.Slots || got.MaxSlots != c.want.MaxSlots ||
			got.Bytes != c.want.Bytes || got.MaxBytes != c.want.MaxBytes {
			t.Errorf("%+v gives %+v, not %+v", c.given, got, c.want)
		}
	}
}

// TestSizesAgain: a file has the sizes that were filled in, and whoever opens it completes them
// again.
func TestSizesAgain(t *testing.T) {
	for _, given := range []Config{{MaxBytes: 19618830745}, {MaxBytes: 1<<20 + 39, Slots: 100},
		{MaxBytes: 1<<22 + 39, Bytes: 1<<20 + 1}, {MaxBytes: 1 << 20, MaxSlots: 1001},
		{Bytes: 1<<20 + 1}, {Bytes: 1<<20 + 1, Slots: 9}} {
		for ranks := uint64(1); ranks <= 3; ranks++ {
			once := given
			if err := once.complete(ranks); err != nil {
				t.Errorf("%+v: %v", given, err)
			}
			again := once
			if err := again.complete(ranks); err != nil || again != once {
				t.Errorf("%+v gives %+v and then %+v, %v", given, once, again, err)
			}
		}
	}
}
