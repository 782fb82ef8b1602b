// Package twohosts has tests run on two hosts that package netns makes on one machine. Where it
// may not, the test is skipped and says so. [FreeAddress] is for jobs of one host.
package twohosts

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/netns"
)

// Pair is two hosts, 0 and 1.
type Pair struct{ *netns.Pair }

// New makes two hosts that live as long as the test.
func New(t testing.TB) *Pair {
	t.Helper()
	p, err := netns.New()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(p.Close)
	return &Pair{p}
}

// Cut cuts the cable. What is sent then is lost, without an error.
func (p *Pair) Cut(t testing.TB) {
	t.Helper()
	if err := p.Pair.Cut(); err != nil {
		t.Fatal(err)
	}
}
