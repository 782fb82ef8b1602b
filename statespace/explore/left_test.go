package explore

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// The last state that is left is one of the highest level, on whichever rank.
func TestLastLeft(t *testing.T) {
	for want, left := range map[place][3]int{ // how many of a rank's states are left
		{12, 3}: {0, 3, 0},
		{22, 3}: {1, 0, 3},
		{1, 2}:  {2, 1, 1},
	} {
		err := local.Run(3, func(job rma.Job) error {
			ctl, err := newControl(t.Context(), job, 1, 0)
			if err != nil {
				return err
			}
			log, rank := newLevelLog(), job.Rank()
			for level := range 3 {
				log.level(uint64(level))
				log.add(uint64(10*rank + level))
			}
			l := &liveness{sweeper: sweeper{work: newWorklist(3), search: &search{job: job,
				control: ctl, worker: &worker{lists: lists{log: log}}}}}
			for i := left[rank]; i < 3; i++ {
				l.work.Done(i)
			}
			got, err := l.lastLeft(t.Context())
			if err == nil && *got != want {
				t.Errorf("rank %d: %+v, want %+v", rank, *got, want)
			}
			return errors.Join(err, job.Barrier(t.Context()), ctl.close(), log.close())
		})
		if err != nil {
			t.Error(err)
		}
	}
}
