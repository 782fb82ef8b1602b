package explore_test

import (
	"testing"

	"github.com/farhash/farhash/rma"
)

// Ranks of two hosts find what ranks of one find, whether batches are shipped or not.
func TestTwoHosts(t *testing.T) {
	const bits = 13
	for _, s := range settings(3) {
		if s.hidden {
			continue
		}
		for _, access := range []rma.Access{rma.OneSided, rma.Shipped} {
			s.hosts, s.opts.Access, s.opts.Check = 2, access, true
			r := mustCount(t, s, doubling(bits), wantDoubling(bits, s.opts.Order))
			if r.Access.Access != access {
				t.Errorf("%v: the set was reached %v", s, r.Access)
			}
		}
	}
}
