package cache

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the time at which pairs are put and found, in nanoseconds since 1970: ranks, hosts and
// files share it. To ask the system takes as long as a get, so a goroutine does that, every tick.
type clock struct {
	ns   atomic.Uint64
	stop context.CancelFunc
}

// tick is how often the clock is read: a pair may expire so much too early or too late.
const tick = 10 * time.Millisecond

// newClock starts a clock.
func newClock() *clock {
	ctx, stop := context.WithCancel(context.Background())
	k := &clock{stop: stop}
	read := func() { k.ns.Store(uint64(time.Now().UnixNano())) }
	read()
	go func() {
		for ticker := time.NewTicker(tick); ; read() {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				ticker.Stop()
				return
			}
		}
	}()
	return k
}

// now is the time; 0, at which no pair has expired, where none does.
func (c *Cache) now() uint64 {
	if c.clock == nil {
		return 0
	}
	return c.clock.ns.Load()
}

// never is the expiry of a pair that stays.
const never = 0

// expired reports whether a pair with this expiry is gone.
func expired(expiry, now uint64) bool { return expiry-1 < now }
