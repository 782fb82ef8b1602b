package shm

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
)

// A process joins job after job by one name, whether it has closed the last one or not.
func TestJoinTwice(t *testing.T) {
	cfg := Config{Size: 3, Job: "twice", Dir: lab.TempFolder(t)}
	for _, open := range []bool{false, true} {
		mustTogether(t, cfg, func(job *member) error {
			for range 30 {
				next, err := Join(t.Context(), job.cfg)
				if err != nil {
					return err
				}
				err = next.Barrier(t.Context())
				if !open {
					err = errors.Join(err, next.Close())
				} else {
					defer next.Close()
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}
