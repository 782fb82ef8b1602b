package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

// paperConfig is a map by one of the paper's protocols.
func paperConfig(p Protocol) Config {
	return Config{SlotsPerRank: 40, BytesPerRank: 1 << 13, MaxKey: 8, MaxValue: 8, Protocol: p}
}

// TestPaper makes the calls that the paper has on every engine, and those that it has not.
func TestPaper(t *testing.T) {
	for _, protocol := range []Protocol{Paper, PaperTransactions} {
		for _, e := range engines {
			err := withMap(e, 2, paperConfig(protocol), func(m *Map) error {
				err := error(nil)
				if m.job.Rank() == 0 {
					err = errors.Join(paperCalls(m), paperRefuses(m))
				}
				return errors.Join(err, m.job.Barrier(context.Background()))
			})
			if err != nil {
				t.Errorf("%s, protocol %d: %v", e.Name, protocol, err)
			}
		}
	}
}

// paperCalls puts, deletes and gets, and looks at what there is then.
func paperCalls(m *Map) error {
	want := map[string]string{}
	for i := range 60 {
		key, value := fmt.Sprint("k", i%20), fmt.Sprint(i)
		if i%7 == 3 {
			ok, err := m.Delete([]byte(key))
			if _, there := want[key]; ok != there || err != nil {
				return fmt.Errorf("deleting %q: %v, %w", key, ok, err)
			}
			delete(want, key)
			continue
		}
		if _, err := m.Put([]byte(key), []byte(value)); err != nil {
			return err
		}
		want[key] = value
	}
	got := map[string]string{}
	calls := make([]Call, 20)
	for i := range calls {
		calls[i] = Call{Kind: Get, Key: fmt.Append(nil, "k", i)}
	}
	err := m.Batch(calls)
	for _, c := range calls {
		if c.Done {
			got[string(c.Key)] = string(c.Value)
		}
	}
	n, lenErr := m.Len(context.Background())
	gets := m.Stats().Kinds[Get]
	if !maps.Equal(got, want) || n != uint64(len(want)) || gets.Calls != 20 ||
		gets.RoundTrips < 2*n || m.Stats().Queues.CompareAndSwaps == 0 || m.Slots() != 80 {
		return fmt.Errorf("%d keys %v, not %v; %+v", n, got, want, m.Stats())
	}
	return errors.Join(err, lenErr, m.Check(context.Background()))
}

// paperRefuses makes calls that the paper has not.
func paperRefuses(m *Map) error {
	_, _, absent := m.PutIfAbsent([]byte("a"), nil)
	_, _, compare := m.CompareAndPut([]byte("a"), nil, 0)
	walk := m.Range(context.Background(), func(_, _ []byte) bool { return true })
	for _, err := range []error{absent, compare, walk} {
		if err == nil || !strings.Contains(err.Error(), "protocol Paper has no") {
			return fmt.Errorf("a call that the paper has not: %w", err)
		}
	}
	for i := range 200 {
		_, err := m.Put(fmt.Append(nil, "n", i), nil)
		var full *FullError
		if errors.As(err, &full) {
			if full.Items || !strings.Contains(err.Error(), "no chain of migrations") {
				return fmt.Errorf("a map that is full: %w", err)
			}
			return m.Check(context.Background())
		}
		if err != nil {
			return err
		}
	}
	return errors.New("200 keys find room in 80 slots")
}

// TestPaperConfig: what the paper has not is refused.
func TestPaperConfig(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"leave Copies out":            func(c *Config) { c.Copies = true },
		"leave MaxSlotsPerRank out":   func(c *Config) { c.MaxSlotsPerRank = 80 },
		"BytesPerRank must be":        func(c *Config) { c.BytesPerRank = 64 },
		"Paper or PaperTransactions,": func(c *Config) { c.Protocol = 9 },
	} {
		cfg := paperConfig(Paper)
		change(&cfg)
		err := withMap(engines[0], 1, cfg, func(*Map) error { return nil })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said by %v", says, err)
		}
	}
}

// TestCountPaper: transactions save round trips, and what is counted is what the paper's
// algorithms need where few chains are, and else less, as those writes are left out.
func TestCountPaper(t *testing.T) {
	count := func(p Protocol, load float64) (c PaperCount) {
		err := engines[1].Run(2, func(job rma.Job) error {
			one, err := CountPaper(context.Background(), job, p, 1<<12, load, 1)
			if job.Rank() == 0 {
				c = one
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, load := range []float64{.1, .75} {
		paper, short := count(Paper, load), count(PaperTransactions, load)
		for _, c := range []PaperCount{paper, short} {
			near := math.Abs(c.RoundTrips-c.Accounted) < .3
			if c.Puts != 1<<13/50 || math.Abs(c.Load-load) > .03 || near != (load == .1) ||
				math.Abs(c.Chains-math.Pow(load, 4)) > .15 {
				t.Errorf("load %.2f: %+v", load, c)
			}
		}
		if 2*short.RoundTrips > paper.RoundTrips {
			t.Errorf("load %.2f: %+v is not half of %+v", load, short, paper)
		}
	}
	for load, p := range map[float64]Protocol{.5: Default, 1: Paper} {
		err := engines[0].Run(2, func(job rma.Job) error {
			_, err := CountPaper(context.Background(), job, p, 1<<12, load, 0)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "count") {
			t.Errorf("protocol %d, load %g: %v", p, load, err)
		}
	}
}
