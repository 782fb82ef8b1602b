package cluster

import (
	"context"
	"errors"
	"math"

	"github.com/farhash/farhash/rma/sim"
)

// Cluster is what is known of a kind of machine and its network.
type Cluster struct {
	sim.Cost

	// WordNs is the time of a rank's processor for each word that a get has brought
	// from another host: copying and examining it.
	WordNs float64
	// DoublingNs is by how much the latency between two hosts grows each time that the
	// hosts double beyond two, as switches are added.
	DoublingNs float64
	// SharingNs is by how much that latency grows with every rank more on a host.
	SharingNs float64
}

// DAS5 is the cluster of OP 4. [Calibrate] has fitted LatencyNs, WordNs, DoublingNs and
// SharingNs. The rate of messages is an assumption: OP does not reach the limit, as 16
// processes of a machine still do more than 8, with 12 million messages a second. The
// manual of the package says why [sim.DAS5] alone is not enough.
func DAS5() Cluster {
	c := Cluster{Cost: sim.DAS5(), WordNs: 2.74, DoublingNs: 76, SharingNs: 54}
	c.LatencyNs = 836
	c.MessagesPerSecond = 25e6
	return c
}

// assumedWordNs is for clusters of which nothing is known.
const assumedWordNs = 1

// Preset returns a cluster by the name that [sim.Presets] lists. Of those that OP did
// not measure it is not known how the latency grows: it does not.
func Preset(name string) (Cluster, error) {
	if name == "das5" {
		return DAS5(), nil
	}
	cost, err := sim.Preset(name)
	return Cluster{Cost: cost, WordNs: assumedWordNs}, err
}

// check refuses a cluster that cannot be simulated with so many hosts and ranks of each.
func (c Cluster) check(hosts, procs int) error {
	if c.Cost == (sim.Cost{}) {
		return errors.New("the cluster has no Cost; take one that Preset gives")
	}
	for _, v := range []float64{c.WordNs, c.DoublingNs, c.SharingNs} {
		if !(v >= 0 && v <= 1e9) {
			return errors.New("WordNs, DoublingNs and SharingNs must be 0 to 1e9")
		}
	}
	nothing := func(*sim.Job) error { return nil }
	// The engine knows what it can do.
	return run(context.Background(), c.of(hosts, procs), 1, 1, 0, nothing)
}

// of is the cost of so many hosts with so many ranks each.
func (c Cluster) of(hosts, procs int) sim.Cost {
	cost := c.Cost
	cost.LatencyNs += c.SharingNs * float64(procs-1)
	if hosts > 2 {
		cost.LatencyNs += c.DoublingNs * math.Log2(float64(hosts)/2)
	}
	return cost
}
