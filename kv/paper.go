package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/kv/internal/nessie"
)

// BusyError says that a call under protocol Paper was given up: other clients kept changing the
// key's slots, or have left there what is not finished. A put may have taken effect.
type BusyError = nessie.BusyError

// checkPaper refuses what the paper does not have.
func (c *Config) checkPaper() error {
	cfg := c.forPaper()
	switch {
	case c.Protocol < Default || c.Protocol > PaperTransactions:
		return fmt.Errorf("kv: Protocol must be Default, Paper or PaperTransactions, not %d",
			c.Protocol)
	case c.Protocol == Default:
		return nil
	case c.Copies:
		return errors.New("kv: protocol Paper has slots of one word; leave Copies out")
	case c.MaxSlotsPerRank != 0:
		return errors.New("kv: protocol Paper does not move its table; leave MaxSlotsPerRank out")
	case cfg.ItemsPerRank < 2:
		return fmt.Errorf("kv: BytesPerRank must be at least %d, two items of protocol Paper, "+
			"not %d", 2*cfg.ItemBytes(), c.BytesPerRank)
	}
	return nil
}

// forPaper is the configuration of the paper's table.
func (c *Config) forPaper() nessie.Config {
	cfg := nessie.Config{SlotsPerRank: c.SlotsPerRank, MaxKey: c.MaxKey, MaxValue: c.MaxValue,
		Transactions: c.Protocol == PaperTransactions}
	cfg.ItemsPerRank = c.BytesPerRank / uint64(cfg.ItemBytes())
	return cfg
}

// openPaper makes the paper's table. Collective.
func (m *Map) openPaper(ctx context.Context) (err error) {
	m.paper, err = nessie.New(ctx, m.job, m.cfg.forPaper())
	return err
}

// batchPaper makes some calls, or all for nil, one after the other.
func (m *Map) batchPaper(calls []Call, which []int) {
	n := len(which)
	if which == nil {
		n = len(calls)
	}
	for i := range n {
		at := i
		if which != nil {
			at = which[i]
		}
		calls[at].Err = m.callPaper(&calls[at])
	}
}

func (m *Map) callPaper(c *Call) (err error) {
	ctx := context.Background()
	c.Done, c.Version = false, 0
	switch c.Kind {
	case Get:
		c.Value, c.Done, err = m.paper.Read(ctx, c.Key, c.Value)
	case Put:
		err = m.paper.Write(ctx, c.Key, c.Value)
		c.Done = err == nil
	case Delete:
		c.Done, err = m.paper.Delete(ctx, c.Key)
	}
	var full *nessie.FullError
	if errors.As(err, &full) {
		return &FullError{Items: full.Items, Slots: full.Slots, Protocol: m.cfg.Protocol}
	}
	return err
}

// errNoRange: a walk may miss a key that moves meanwhile.
var errNoRange = errors.New("kv: protocol Paper has no Range, as its keys move; use Default")

// statsPaper are the paper's figures as ours.
func (m *Map) statsPaper() Stats {
	p := m.paper.Stats()
	s := Stats{Queues: p.Queues, Migrations: p.Migrations, Chains: p.Chains}
	m.shipped(&s)
	for kind, of := range map[Kind]nessie.Kind{Get: nessie.Read, Put: nessie.Write,
		Delete: nessie.Delete} {
		k := p.Kinds[of]
		s.Kinds[kind] = KindStats{Calls: k.Calls, RoundTrips: k.RoundTrips, Lost: k.Retries}
	}
	return s
}
