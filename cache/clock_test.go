package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/farhash/farhash/rma/local"
)

// TestClock: a pair is found until its time has passed, also right after the process did not run.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := local.Single()
		cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 8, TTL: time.Second}
		c, err := New(t.Context(), job, cfg)
		must(t, err)
		key, value := make([]byte, 8), make([]byte, 8)
		for _, after := range []time.Duration{time.Second - 1, time.Second, time.Hour} {
			_, err := c.Put(key, value)
			must(t, err)
			time.Sleep(after)
			found, err := c.Get(key, value)
			must(t, err)
			if want := after < time.Second; found != want {
				t.Errorf("after %v a pair of 1 s is there: %v", after, found)
			}
		}
		must(t, c.Close(), job.Close())
	})
}
