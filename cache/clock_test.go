package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/farhash/farhash/rma/local"
)

// TestClockEnds: the clock of a cache goes on while the cache is open, and its goroutine ends when
// the cache is closed. The bubble fails if a goroutine is left in it.
func TestClockEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := local.Single()
		cfg := Config{KeySize: 8, ValueSize: 8, Buckets: 8, TTL: time.Hour}
		c, err := New(t.Context(), job, cfg)
		must(t, err)
		for range 3 {
			time.Sleep(time.Second)
			if age := time.Since(time.Unix(0, int64(c.now()))); age > tick {
				t.Errorf("the clock is %v late", age)
			}
		}
		must(t, c.Close(), job.Close())
	})
}
