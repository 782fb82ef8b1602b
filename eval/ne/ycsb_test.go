package ne

import (
	"context"
	"errors"
	"testing"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
)

// Where each rank measures by itself whether to ship, one may and the other not. Then one has the
// items of all that it puts, and of what the other one ships to it.
func TestRoomWhereOneRankShips(t *testing.T) {
	flags := pflag.NewFlagSet("ycsb", pflag.ContinueOnError)
	y := newYCSB(flags).(*ycsb)
	err := flags.Parse([]string{"--records", "40000", "--ops", "500", "--workload", "a"})
	if err := errors.Join(err, y.Check()); err != nil {
		t.Fatal(err)
	}
	twoHosts := local.Options{Hosts: 2, Carries: true}
	err = local.RunWith(twoHosts, 2, func(job rma.Job) error {
		r := run{of: y, job: job, impl: []impl{oneSided, shipped}[job.Rank()], batch: usualBatch,
			piece: newPiece(y, usualBatch)}
		return r.measure(context.Background(), func(record.Record) {})
	})
	if err != nil {
		t.Fatal(err)
	}
}
