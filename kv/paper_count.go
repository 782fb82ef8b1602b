package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/farhash/farhash/kv/internal/nessie"
	"github.com/farhash/farhash/rma"
)

// PaperCount is the round trips of puts of new keys under one of the paper's protocols.
type PaperCount struct {
	Puts       uint64
	Load       float64 // that they have met, in the mean
	RoundTrips float64 // mean of those for which one migration was enough
	Chains     float64 // share of the others: NE would have called the server
	// Accounted is the mean by the paper's algorithms, at the load asked for, if one migration is
	// always enough: NE Table 1. The table itself prints less at low loads; TestTable1 of
	// package nessie has why.
	Accounted float64
}

// CountPaper counts round trips as NE 4 does: rank 0, alone, puts new keys into a table whose
// slots are taken at random, a fiftieth of slotsPerRank times ranks, around a load of 0.01 to
// 1. So full a table the protocols cannot fill by themselves: half of it at most. Each seed gives
// another table. Collective; the count is rank 0's.
func CountPaper(ctx context.Context, job rma.Job, p Protocol, slotsPerRank uint64, load float64,
	seed uint64) (c PaperCount, err error) {
	law := nessie.Algorithms
	switch p {
	case Paper:
	case PaperTransactions:
		law = nessie.AtOnce
	default:
		return c, fmt.Errorf("kv: CountPaper counts Paper and PaperTransactions, not %d", p)
	}
	t, err := nessie.New(ctx, job, nessie.Config{SlotsPerRank: slotsPerRank,
		ItemsPerRank: slotsPerRank*uint64(job.Size()) + 2, MaxKey: 8,
		Transactions: p == PaperTransactions})
	if err != nil {
		return c, err
	}
	if job.Rank() == 0 {
		var n nessie.Counted
		if n, err = t.Count(ctx, load, seed); err == nil {
			c = PaperCount{Puts: n.Writes, Load: n.Loads / float64(n.Writes),
				RoundTrips: float64(n.RoundTrips) / float64(max(1, n.Done)),
				Chains:     1 - float64(n.Done)/float64(n.Writes), Accounted: law.Law(load)}
		}
	}
	err = rma.AllSucceeded(ctx, job, "kv: counting", err)
	return c, errors.Join(err, t.Close())
}
