package cache

import (
	"sync/atomic"
	"time"
)

// clock is the time at which pairs are put and found, in nanoseconds since 1970: ranks, hosts and
// files share it.
type clock struct {
	ns atomic.Uint64 // where it stands; 0: it is the clock of the system
}

// now is the time; 0, at which no pair has expired, if none does.
func (c *Cache) now() uint64 {
	if c.clock == nil {
		return 0
	}
	if ns := c.clock.ns.Load(); ns != 0 {
		return ns
	}
	return uint64(time.Now().UnixNano())
}

// never is the expiry of a pair that stays.
const never = 0

// expired reports whether a pair with this expiry is gone.
func expired(expiry, now uint64) bool { return expiry-1 < now }
