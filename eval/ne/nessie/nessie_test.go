package nessie

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

func TestMain(m *testing.M) { os.Exit(mark.Main(m, "nessie: ", os.Stderr)) }

var ctx = context.Background()

// withTable runs fn with a table on every rank.
func withTable(e lab.Engine, ranks int, cfg Config, fn func(t *Table) error) error {
	return e.Run(ranks, func(job rma.Job) error {
		t, err := New(ctx, job, cfg)
		if err != nil {
			return err
		}
		return errors.Join(fn(t), t.Close())
	})
}

// number is a key.
func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// TestStream compares a table with a map of Go, call by call. Each rank has its own keys, and
// all share the slots, so that they move each other's.
func TestStream(t *testing.T) {
	for _, m := range []*mark.Mark{reused, twice, chained} {
		m.Claim(t)
	}
	for _, transactions := range []bool{false, true} {
		cfg := Config{SlotsPerRank: 30, ItemsPerRank: 40, MaxKey: 20, MaxValue: 70,
			Transactions: transactions}
		for _, e := range lab.Engines() {
			for ranks := 1; ranks <= 3; ranks++ {
				err := withTable(e, ranks, cfg, func(t *Table) error {
					if err := stream(t, 800); err != nil {
						return err
					}
					if err := t.job.Barrier(ctx); err != nil {
						return err
					}
					return errors.Join(t.Check(ctx), t.job.Barrier(ctx))
				})
				if err != nil {
					t.Errorf("%s, %d ranks, transactions %v: %v", e.Name, ranks, transactions, err)
				}
			}
		}
	}
}

// stream makes random calls and checks every answer.
func stream(t *Table, calls int) error {
	rng := rand.New(rand.NewPCG(3, uint64(t.job.Rank())))
	want := map[string]string{}
	for i := range calls {
		key := fmt.Sprintf("%d-%0*d", t.job.Rank(), 1+rng.IntN(2)*10, rng.IntN(6))
		value := fmt.Sprintf("%0*d", 1+rng.IntN(70), i)
		if err := streamCall(t, rng.IntN(3), want, key, value); err != nil {
			return fmt.Errorf("call %d, key %q: %w", i, key, err)
		}
	}
	return nil
}

func streamCall(t *Table, kind int, want map[string]string, key, value string) error {
	was, there := want[key]
	switch Kind(kind) {
	case Read:
		got, ok, err := t.Read(ctx, []byte(key), []byte("x"))
		if err == nil && (ok != there || string(got) != "x"+was) {
			err = fmt.Errorf("read %q, %v and not %q, %v", got, ok, was, there)
		}
		return err
	case Write:
		err := t.Write(ctx, []byte(key), []byte(value))
		var full *FullError
		if errors.As(err, &full) && !full.Items { // the other ranks' keys are in the way
			return nil
		}
		want[key] = value
		return err
	default:
		taken, err := t.Delete(ctx, []byte(key))
		if err == nil && there && !taken {
			err = errors.New("the key is not found")
		}
		delete(want, key)
		return err
	}
}

// TestFull: a table that cannot move its keys any more says so, and loses nothing.
func TestFull(t *testing.T) {
	for _, items := range []bool{false, true} {
		cfg := Config{SlotsPerRank: 200, ItemsPerRank: 300, MaxKey: 8, MaxValue: 8}
		if items {
			cfg.ItemsPerRank = 20
		}
		err := withTable(lab.Engines()[0], 1, cfg, func(t *Table) error {
			for n := range uint64(300) {
				err := t.Write(ctx, number(n), number(n))
				var full *FullError
				switch {
				case err == nil:
					continue
				case !errors.As(err, &full) || full.Items != items || n < 18:
					return fmt.Errorf("write %d: error %v", n, err)
				}
				for i := range n {
					value, ok, err := t.Read(ctx, number(i), nil)
					if !ok || err != nil || !bytes.Equal(value, number(i)) {
						return fmt.Errorf("key %d has %x, %v, error %v", i, value, ok, err)
					}
				}
				keys, err := t.Len(ctx)
				if keys != n {
					return fmt.Errorf("%d keys after %d writes", keys, n)
				}
				return errors.Join(err, t.Check(ctx))
			}
			return errors.New("300 keys found room")
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestHidden: the item of a writer that has not finished hides its key, and the reader gives
// up after a while; a delete sets the key free.
func TestHidden(t *testing.T) {
	unpublished.Claim(t)
	cfg := Config{SlotsPerRank: 8, ItemsPerRank: 8, MaxKey: 8, MaxValue: 8, Attempts: 5}
	err := withTable(lab.Engines()[1], 1, cfg, func(t *Table) error {
		key := number(1)
		if err := t.Write(ctx, key, key); err != nil {
			return err
		}
		p, _ := t.slotsOf(key)
		word, err := t.slotWord(p)
		if err != nil {
			return err
		}
		rank, off := t.arena.locate(itemOf(word))
		if err := t.cells.Store(ctx, rank, off+flagWord, 0); err != nil {
			return err
		}
		_, _, err = t.Read(ctx, key, nil)
		var busy *BusyError
		if !errors.As(err, &busy) || !bytes.Equal(busy.Key, key) {
			return fmt.Errorf("a hidden key: error %v", err)
		}
		if err := t.Check(ctx); err == nil || !strings.Contains(err.Error(), "not valid") {
			return fmt.Errorf("Check of a hidden key: error %v", err)
		}
		if _, err = t.Delete(ctx, key); err != nil {
			return err
		}
		_, ok, err := t.Read(ctx, key, nil)
		if ok {
			return errors.New("the key is there")
		}
		return errors.Join(err, t.Check(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// slotWord reads a slot.
func (t *Table) slotWord(slot uint64) (word uint64, err error) {
	err = t.walk(ctx, func(_ *walker, at, w uint64) error {
		if at == slot {
			word = w
		}
		return nil
	})
	return word, err
}

// TestPause: pauses are twice as long each time, up to a limit, and differ.
func TestPause(t *testing.T) {
	_, err := sim.Run(sim.Options{Ranks: 1}, func(job rma.Job) error {
		tab, err := New(ctx, job, Config{SlotsPerRank: 8, ItemsPerRank: 8, MaxKey: 8})
		if err != nil {
			return err
		}
		s, err := tab.newSession()
		if err != nil {
			return err
		}
		different := map[int64]bool{}
		for attempt := range 100 {
			before := job.(*sim.Job).NowNs()
			s.pause(attempt)
			ns := job.(*sim.Job).NowNs() - before
			most := int64(min(1000<<min(attempt, 20), 1<<20))
			if ns < most/2 || ns > most+1 {
				return fmt.Errorf("pause %d is %d ns, not %d to %d", attempt, ns, most/2, most)
			}
			different[ns] = true
		}
		if len(different) < 90 {
			return fmt.Errorf("100 pauses of %d lengths", len(different))
		}
		return errors.Join(s.Close(), tab.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConfig: what cannot be is refused.
func TestConfig(t *testing.T) {
	good := Config{SlotsPerRank: 8, ItemsPerRank: 8, MaxKey: 8, MaxValue: 8}
	for says, change := range map[string]func(c *Config){
		"at least 2 slots":  func(c *Config) { c.SlotsPerRank = 1 },
		"2 to 4294967296":   func(c *Config) { c.ItemsPerRank = 1 },
		"Attempts must be":  func(c *Config) { c.Attempts = -1 },
		"need 2 slots on":   func(c *Config) { c.SlotsPerRank, c.Transactions = 1, true },
		"a key of 9 bytes,": func(c *Config) {},
	} {
		err := lab.Engines()[0].Run(1, func(job rma.Job) error {
			cfg := good
			change(&cfg)
			tab, err := New(ctx, job, cfg)
			if err != nil {
				return err
			}
			return errors.Join(tab.Write(ctx, make([]byte, 9), nil), tab.Close())
		})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said by %v", says, err)
		}
	}
}

// TestNoTransactions: all ranks get the same error where one is in another process.
func TestNoTransactions(t *testing.T) {
	var processes [2]sync.Map
	for _, e := range lab.Engines() {
		err := e.Run(3, func(job rma.Job) error {
			w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 2})
			if err != nil {
				return err
			}
			_, err = shareSlots(ctx, job, w, 6, &processes[job.Rank()/2])
			if !errors.Is(err, ErrNoTransactions) {
				return fmt.Errorf("rank %d: error %v", job.Rank(), err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestTransactionsTakeTurns: goroutines move what is in one slot to another, and each sees that
// the sum stays.
func TestTransactionsTakeTurns(t *testing.T) {
	const goroutines, transfers = 4, 20_000
	m := &sharedSlots{words: make([]uint64, 3)}
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			tx := transaction{changes: []change{swap(0, 0, 1), swap(2, 0, ^uint64(0))}}
			for done := 0; done < transfers; {
				m.carryOut(&tx)
				first, second := tx.changes[0].seen, tx.changes[1].seen
				if first+second != 0 {
					t.Errorf("a transaction sees %d and %d", first, second)
					return
				}
				if tx.agreed {
					done++
				}
				tx.changes[0] = swap(0, first, first+1)
				tx.changes[1] = swap(2, second, second-1)
			}
		})
	}
	all.Wait()
	if m.words[0] != goroutines*transfers && !t.Failed() {
		t.Errorf("%d transfers leave %d", goroutines*transfers, m.words)
	}
}
