package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
)

// rankComesBack: the memory of a rank that has died and joined again is not where it was, and is
// read through queues.
func rankComesBack(*testing.T) error {
	cfg := Config{KeySize: 8, ValueSize: 8, BucketsPerRank: 64}
	return engines[0].Run(2, func(job rma.Job) error {
		back := &comeback{Job: job}
		c, err := New(context.Background(), back, cfg)
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			back.returns = 1
			number := uint64(1)
			for c.rankOf(hashKey([]uint64{number})) == 0 {
				number++
			}
			err = callsOfReturned(c, spread(number, 8))
		}
		return errors.Join(err, job.Barrier(context.Background()), c.Close())
	})
}

// callsOfReturned makes each call with a key of a rank that has come back.
func callsOfReturned(c *Cache, key []byte) error {
	value := make([]byte, 8)
	for name, call := range map[string]func() error{
		"Get":      func() error { _, err := c.Get(key, value); return err },
		"Put":      func() error { _, err := c.Put(key, value); return err },
		"Delete":   func() error { _, err := c.Delete(key); return err },
		"Locate":   func() error { _, _, _, err := c.Locate(key); return err },
		"GetBatch": func() error { return c.GetBatch(key, value, make([]bool, 1)) },
		"PutBatch": func() error { return c.PutBatch(key, value, make([]Result, 1)) },
	} {
		before := c.Stats().Queues.Gets
		err := call()
		if err == nil && c.Stats().Queues.Gets == before {
			err = errors.New("rank 1 has joined again, and its old memory is read")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// comeback is a job in which rank 1 has joined again as often as it says.
type comeback struct {
	rma.Job
	returns uint64
}

func (j *comeback) Rejoined() bool  { return false }
func (j *comeback) Returns() uint64 { return j.returns }

func (j *comeback) Incarnation(rank int) (number int, alive bool) {
	if rank == 1 {
		return int(j.returns), true
	}
	return 0, true
}
