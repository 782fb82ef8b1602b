package bench

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

// KVPaper is round trips of puts of new keys at a load under the paper's own protocols, counted
// in tables whose slots are taken at random. What needs more than one migration is not among
// them: there NE calls the server.
type KVPaper struct {
	Load     float64 `json:"load"`
	Printed  float64 `json:"printed"`  // NE Table 1, which leaves the server out
	Expected float64 `json:"expected"` // by NE Algorithms 1 and 2, if one migration is enough
	Counted  float64 `json:"counted"`
	Server   float64 `json:"server"` // share of puts that NE would have called the server for

	// The same with the transactions of NE 5.1, where the engine has some; else 0.
	CountedAtOnce float64 `json:"countedAtOnce"`
	ServerAtOnce  float64 `json:"serverAtOnce"`
}

// countPaper counts the paper's protocols. Collective.
func (c *KVCounts) countPaper(ctx context.Context, job rma.Job, seed uint64) error {
	ranks := uint64(job.Size())
	slots := (c.cfg.Slots + ranks - 1) / ranks
	q, err := job.NewQueue(1)
	if err != nil {
		return err
	}
	_, transactions := q.(rma.Transactor)
	if err := q.Close(); err != nil {
		return err
	}
	for i, load := range KVLoads() {
		is := KVPaper{Load: load, Printed: nessieTable1[i]}
		of, err := kv.CountPaper(ctx, job, kv.Paper, slots, load, seed)
		if err != nil {
			return fmt.Errorf("bench: round trips of the paper's protocol: %w", err)
		}
		is.Expected, is.Counted, is.Server = of.Accounted, of.RoundTrips, of.Chains
		if transactions {
			of, err = kv.CountPaper(ctx, job, kv.PaperTransactions, slots, load, seed)
			if err != nil {
				return fmt.Errorf("bench: round trips of the paper's transactions: %w", err)
			}
			is.CountedAtOnce, is.ServerAtOnce = of.RoundTrips, of.Chains
		}
		if job.Rank() == 0 {
			c.mu.Lock()
			c.paper[load] = append(c.paper[load], is)
			c.mu.Unlock()
		}
	}
	return nil
}

// meanPaper is the means of rounds, which differ in what was counted.
func meanPaper(rounds []KVPaper) KVPaper {
	mean, n := rounds[0], float64(len(rounds))
	for _, is := range rounds[1:] {
		mean.Counted += is.Counted
		mean.Server += is.Server
		mean.CountedAtOnce += is.CountedAtOnce
		mean.ServerAtOnce += is.ServerAtOnce
	}
	mean.Counted /= n
	mean.Server /= n
	mean.CountedAtOnce /= n
	mean.ServerAtOnce /= n
	return mean
}

// writePaper writes the table of the paper's protocols.
func (r *KVCountReport) writePaper(to *printer) {
	if len(r.Paper) == 0 {
		return
	}
	to.printf("\nPuts of new keys by the paper's own protocol, where one migration is enough; " +
		"\"server\" is the share\nof puts for which NE would have called it, \"at once\" is " +
		"NE 5.1: transactions over several words\n")
	t := tabwriter.NewWriter(to.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := printer{w: t, err: to.err}
	p.printf("load\tNE\texpected\tcounted\tserver\tat once\tserver\t\n")
	for _, is := range r.Paper {
		p.printf("%s\t%.1f\t%.2f\t%.2f\t%.2f\t", number(is.Load), is.Printed, is.Expected,
			is.Counted, is.Server)
		if is.CountedAtOnce > 0 {
			p.printf("%.2f\t%.2f\t\n", is.CountedAtOnce, is.ServerAtOnce)
		} else {
			p.printf("-\t-\t\n")
		}
	}
	if to.err = p.err; to.err == nil {
		to.err = t.Flush()
	}
}
