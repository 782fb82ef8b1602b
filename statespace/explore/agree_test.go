package explore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
)

// Ranks whose options differ all get an error, which says which rank differs and in what.
func TestRanksDiffer(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		says  string
		bits  int // of the other rank's model
		other explore.Options
	}{
		{"another model than", 4, explore.Options{}},
		{"another model than", 5, explore.Options{ModelID: "another"}},
		{`another order (here "`, 5, explore.Options{Order: explore.AnyOrder}},
		{"another encoding", 5, explore.Options{Encoding: explore.EncodingElement}},
		{"another mem", 5, explore.Options{Mem: 1 << 30}},
		{"another mem whole", 5, explore.Options{MemWhole: true}},
		{"another trace", 5, explore.Options{Trace: []int{explore.Deadlock}}},
		{"another check (", 5, explore.Options{Check: true}},
		{"another checkpoint", 5, explore.Options{Checkpoint: dir + "/file"}},
		{"another resume", 5, explore.Options{Resume: dir + "/file"}},
		{`") and resume (here "`, 5,
			explore.Options{Order: explore.AnyOrder, Resume: dir + "/file"}},
	} {
		err := local.Run(3, func(job rma.Job) error {
			m, opts := doubling(5), explore.Options{}
			if job.Rank() == 1 {
				m, opts = doubling(c.bits), c.other
			}
			r, err := explore.Run(context.Background(), job, m, opts)
			if err == nil || !strings.Contains(err.Error(), "rank 1 has another ") ||
				!strings.Contains(err.Error(), c.says) {
				return fmt.Errorf("rank %d, %+v: %+v, error %v", job.Rank(), c.other, r, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
