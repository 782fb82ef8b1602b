package simulate

import "context"

const (
	fitBuckets    = 1 << 18
	fitOperations = 4000   // for a latency
	fitTotal      = 40_000 // operations of all ranks, for a rate
)

// Calibrate fits the four parameters of a cluster that OP Table 1 is to tell, each to
// one cell: WordNs, LatencyNs, DoublingNs and SharingNs. The others stay as they are.
func Calibrate(ctx context.Context, c Cluster, seed uint64) (Cluster, error) {
	c.WordNs, c.DoublingNs, c.SharingNs = 0, 0, 0
	f := &fitter{ctx: ctx, c: c, seed: seed}
	small, large := paperPoint(fittedSmall, fittedLoad), paperPoint(fittedLarge, fittedLoad)
	few, many := paperRate(fittedHosts, fittedFew), paperRate(fittedHosts, fittedMany)
	f.fit(&f.c.WordNs, 1, (large.Microseconds-small.Microseconds)*1e3, f.slope)
	f.fit(&f.c.LatencyNs, 100, small.Microseconds*1e3, f.latency(fittedSmall))
	f.fit(&f.c.DoublingNs, 50, fittedHosts*fittedFew/few.Mops*1e3, f.rate(fittedFew))
	f.fit(&f.c.SharingNs, 50, fittedHosts*fittedMany/many.Mops*1e3, f.rate(fittedMany))
	return f.c, f.err
}

// fitter fits parameters one after the other, until the first error.
type fitter struct {
	ctx  context.Context
	c    Cluster
	seed uint64
	err  error
}

// fit sets a parameter so that what is measured becomes what is wanted. It takes the
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
		return all[0].Nanoseconds
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
		return r.Nanoseconds
	}
}
