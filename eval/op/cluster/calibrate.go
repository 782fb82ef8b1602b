package cluster

import (
	"context"
	"math"
)

const (
	fitBuckets    = 1 << 18
	fitOperations = 4000   // for a latency
	fitTotal      = 40_000 // operations of all ranks, for a rate
)

// Printed are the cells of OP Table 1 that four parameters are fitted to. All others are
// predicted.
type Printed struct {
	SmallNs, LargeNs  float64 // latency at load 0.5 with C=8 and with C=128
	FewMops, ManyMops float64 // throughput of 32 machines with 1 and with 16 processes each
}

const (
	fittedLoad  = 0.5
	fittedSmall = 8
	fittedLarge = 128
	fittedHosts = 32
	fittedFew   = 1
	fittedMany  = 16
)

// Fitted reports whether a parameter was fitted to the latency of a cell.
func Fitted(chunk int, load float64) bool {
	return (chunk == fittedSmall || chunk == fittedLarge) && math.Abs(load-fittedLoad) < 1e-6
}

// FittedRate reports whether a parameter was fitted to the throughput of a cell.
func FittedRate(hosts, procs int) bool {
	return hosts == fittedHosts && (procs == fittedFew || procs == fittedMany)
}

// Calibrate fits the four parameters of a cluster that OP Table 1 determines, each to one cell:
// WordNs, LatencyNs, DoublingNs and SharingNs. The others stay as they are.
func Calibrate(ctx context.Context, c Cluster, to Printed, seed uint64) (Cluster, error) {
	c.WordNs, c.DoublingNs, c.SharingNs = 0, 0, 0
	f := &fitter{ctx: ctx, c: c, seed: seed}
	f.fit(&f.c.WordNs, 1, to.LargeNs-to.SmallNs, f.slope)
	f.fit(&f.c.LatencyNs, 100, to.SmallNs, f.latency(fittedSmall))
	f.fit(&f.c.DoublingNs, 50, fittedHosts*fittedFew/to.FewMops*1e3, f.rate(fittedFew))
	f.fit(&f.c.SharingNs, 50, fittedHosts*fittedMany/to.ManyMops*1e3, f.rate(fittedMany))
	return f.c, f.err
}

// fitter fits parameters one after the other, until the first error.
type fitter struct {
	ctx  context.Context
	c    Cluster
	seed uint64
	err  error
}

// fit sets a parameter so that the measured time becomes the wanted one. It takes the
// time of an operation to be linear in the parameter, as it is where no card is full.
func (f *fitter) fit(parameter *float64, step, want float64, measure func() float64) {
	x := *parameter
	here := measure()
	*parameter = x + step
	there := measure()
	*parameter = max(0, x+(want-here)*step/(there-here))
}

// latency measures single operations with chunks of one size.
func (f *fitter) latency(chunk int) func() float64 {
	return func() float64 {
		if f.err != nil {
			return 0
		}
		all, err := Latencies(f.ctx, LatencyConfig{Cluster: f.c, Chunk: chunk, Seed: f.seed,
			Loads: []float64{fittedLoad}, Operations: fitOperations, Buckets: fitBuckets})
		if f.err = err; err != nil {
			return 0
		}
		return all[0].LatencyNs
	}
}

// slope is how much longer single operations take with the largest chunks.
func (f *fitter) slope() float64 { return f.latency(fittedLarge)() - f.latency(fittedSmall)() }

// rate measures how long an operation takes with so many processes on each machine.
func (f *fitter) rate(procs int) func() float64 {
	return func() float64 {
		if f.err != nil {
			return 0
		}
		r, err := Throughput(f.ctx, Config{Cluster: f.c, Hosts: fittedHosts, Procs: procs,
			Seed: f.seed, total: fitTotal})
		if f.err = err; err != nil {
			return 0
		}
		return r.LatencyNs
	}
}
