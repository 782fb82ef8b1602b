package md

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/redis"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/md/mpidht"
)

// workload is what ranks do with a cache.
type workload string

// The workloads of MD 5.2, in the order in which they are done.
const (
	writes workload = "write"
	reads  workload = "read"  // the keys that the same rank has written
	mixes  workload = "mixed" // 95% reads, 5% writes
)

func workloads() []workload { return []workload{writes, reads, mixes} }

// modeNames are the modes of the cache in the order of MD, and protocolNames the protocols of MD.
var (
	modeNames     = []string{"lock-free", "fine", "coarse"}
	protocolNames = []string{"md-lock-free", "md-fine", "md-coarse"}
)

// modes, protocols and accesses by name.
var (
	modes = map[string]cache.Mode{"lock-free": cache.LockFree, "fine": cache.Fine,
		"coarse": cache.Coarse}
	protocols = map[string]mpidht.Protocol{"md-lock-free": mpidht.LockFree,
		"md-fine": mpidht.Fine, "md-coarse": mpidht.Coarse}
	accesses = map[string]rma.Access{"auto": rma.Auto, "one-sided": rma.OneSided,
		"shipped": rma.Shipped}
)

const (
	// standardKeyBytes, standardValueBytes and standardKeys are as in MD 5.2.
	standardKeyBytes, standardValueBytes, standardKeys = 80, 104, 712_500

	rankShift = 40 // ranks have stamps of their own

	maxKeys       = 1 << 26
	maxOperations = 1 << 32
	maxBatch      = 1 << 20
	// minPartBytes is the shortest key, so that keys differ, and the shortest value, so that
	// it identifies its key.
	minPartBytes = 8
	// pieceBytes bounds the keys and values that a rank generates at a time.
	pieceBytes = 128 << 20
	// stepOperations is about how many operations are done before the context is examined.
	stepOperations = 1024
)

// Cache is MD 5.2: writes, reads and mixed operations in three modes of consistency.
func Cache() *experiment.Experiment {
	over := func(key, value string) view.Column {
		return view.Column{Unit: "kop/s", Over: record.K(key, value)}
	}
	return &experiment.Experiment{
		Name:  "cache",
		Short: "MD 5.2: writes, reads and both in three modes of consistency",
		Long: `Measures how many operations a second the cache does in its three modes, with the
workloads of MD 5.2. Every value that is read is compared with what was written for its key.
On several hosts --access says how batches reach them; on one host ranks work on memory directly.
The modes md-lock-free, md-fine and md-coarse are the protocols of MD (package mpidht), one
operation at a time.

--redis measures a server store as well, in turns with the cache (MD 3): ranks are its clients, and
batches are pipelines. It has all keys that were written; a cache may have lost some. "start" starts
redis-server, without persistence and on a socket in a temporary folder of this host. A server given
as HOST:PORT or unix:PATH must have no keys, and has none in the end. Rates are also compared by
core: a rank on one side, a second of the server's CPU time on the other.`,
		Takes:   "40 s",
		Example: "-n 4 --keys zipf --mode lock-free --workload read",
		Ranks:   []int{1, 2, 4},
		Runs:    3,
		Views: []view.View{{Name: "Cache", Title: "the cache, thousand operations a second",
			Columns: []view.Column{{Unit: "kop/s", Spread: true}, over("mode", "fine"),
				over("mode", "coarse"), over("access", "one-sided"), over("mode", "baseline"),
				over("mode", aServer), {Unit: "core-kop/s", Head: "a core"},
				{Unit: "core-kop/s", Head: "/ redis", Over: record.K("mode", aServer)},
				{Unit: "hits-%", Head: "hits", Digits: 2}, {Unit: "evicted", Whole: true},
				{Unit: "mismatches", Whole: true}},
			Plots: []view.Plot{{Panel: "workload", X: "ranks", Y: "kop/s", LogY: true}}}},
		New: newCacheRunner,
	}
}

// cacheRunner measures the cache in all cases.
type cacheRunner struct {
	modes, accesses  []string
	laws             []measure.LawName
	workloads        []workload
	batches          []int
	operations, keys experiment.Count
	buckets          experiment.Count
	keyBytes         int
	valueBytes       []int
	redis            string
	direct           bool

	draw map[measure.LawName]*measure.Law
}

func newCacheRunner(flags *pflag.FlagSet) experiment.Runner {
	r := &cacheRunner{}
	r.workloadFlags(flags, 1<<18, modeNames)
	experiment.ChoiceVar(flags, &r.accesses, "access", []string{"auto", "one-sided", "shipped"},
		[]string{"auto"}, "how batches reach other hosts, a list of")
	flags.IntSliceVar(&r.batches, "batch", []int{1, 1024},
		"operations of one call, a list; 1: one at a time")
	experiment.CountVar(flags, &r.operations, "ops", 100_000,
		"operations of each rank and workload (MD: 500000)")
	flags.IntVar(&r.keyBytes, "key-bytes", standardKeyBytes, "length of keys")
	flags.IntSliceVar(&r.valueBytes, "value-bytes", []int{standardValueBytes},
		"length of values, a list")
	flags.StringVar(&r.redis, "redis", "", "measure Redis as well: start, HOST:PORT or unix:PATH")
	flags.BoolVar(&r.direct, "direct", true, "use memory directly where it is addressable")
	return r
}

// workloadFlags are the flags that say what ranks do with how large a cache.
func (r *cacheRunner) workloadFlags(flags *pflag.FlagSet, buckets experiment.Count,
	standard []string) {
	experiment.ChoiceVar(flags, &r.modes, "mode", slices.Concat(modeNames, protocolNames), standard,
		"modes of consistency, and protocols of the paper, a list of")
	experiment.ChoiceVar(flags, &r.laws, "keys", measure.Laws(), measure.Laws(),
		"how keys are drawn, a list of")
	experiment.ChoiceVar(flags, &r.workloads, "workload", workloads(), workloads(),
		"what ranks do, a list of")
	experiment.CountVar(flags, &r.keys, "key-space", standardKeys, "how many keys there are")
	experiment.CountVar(flags, &r.buckets, "buckets", buckets, "buckets of each rank")
}

// one has ranks do one operation of the standard sizes at a time.
func (r *cacheRunner) one() {
	r.batches, r.operations = []int{1}, 1 // what is generated at a time
	r.keyBytes, r.valueBytes = standardKeyBytes, []int{standardValueBytes}
}

// OneSided tells which path is measured.
func (r *cacheRunner) OneSided() bool { return !r.direct }

// Check refuses what makes no sense.
func (r *cacheRunner) Check() error {
	err := errors.Join(
		experiment.InRange("ops", r.operations, 1, maxOperations),
		experiment.InRange("key-space", r.keys, 1, maxKeys),
		experiment.InRange("buckets", r.buckets, 1, cache.MaxBuckets),
		experiment.InRange("key-bytes", r.keyBytes, minPartBytes, cache.MaxPairBytes-minPartBytes))
	if len(r.batches) == 0 || len(r.valueBytes) == 0 {
		err = errors.Join(err, errors.New("--batch and --value-bytes need a number"))
	}
	longest := 0
	for _, n := range r.valueBytes {
		longest = max(longest, n)
		err = errors.Join(err, experiment.InRange("value-bytes", n, minPartBytes,
			cache.MaxPairBytes-r.keyBytes))
	}
	if r.redis != "" && r.redis != redis.Own {
		_, _, bad := redis.Network(r.redis)
		err = errors.Join(err, bad)
	}
	for _, batch := range r.batches {
		err = errors.Join(err, experiment.InRange("batch", batch, 1,
			min(maxBatch, 8*pieceBytes/max(r.keyBytes+longest, 1))))
	}
	if err != nil {
		return err
	}
	r.draw = map[measure.LawName]*measure.Law{}
	for _, law := range r.laws {
		r.draw[law] = measure.NewLaw(law, int(r.keys))
	}
	return nil
}

// Round measures everything once.
func (r *cacheRunner) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	all := r.modes
	if r.redis != "" {
		all = append(slices.Clone(all), aServer)
	}
	for _, n := range r.valueBytes {
		p := newPiece(r, n)
		for _, law := range r.laws {
			for _, batch := range r.batches {
				for _, mode := range all {
					for _, access := range r.accessesOf(mode) {
						c := cacheCase{r: r, job: job, piece: p, law: law, batch: batch,
							mode: mode, access: access}
						if err := c.measure(ctx, emit); err != nil {
							return fmt.Errorf("%s, %s, %s keys, values of %d bytes: %w", mode,
								access, law, n, err)
						}
					}
				}
			}
		}
	}
	return nil
}

// accessesOf is how batches of a mode reach other hosts.
func (r *cacheRunner) accessesOf(mode string) []string {
	if mode == aServer || slices.Contains(protocolNames, mode) {
		return r.accesses[:1]
	}
	return r.accesses
}

// cacheCase measures the workloads with one cache on one rank.
type cacheCase struct {
	r            *cacheRunner
	job          rma.Job
	law          measure.LawName
	mode, access string
	batch        int
	piece        *piece
	store        store
	stamp        uint64 // the last one
	counted      counts // before this workload
	served       time.Duration
}

// measure does what is asked for, and the writes before in any case.
func (c *cacheCase) measure(ctx context.Context, emit experiment.Emit) (err error) {
	runtime.GC() // what the last cache left is not this one's to collect
	if c.store, err = c.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.store.close(ctx)) }()
	c.counted = counts{}
	c.stamp = uint64(c.job.Rank()) << rankShift
	for _, w := range workloads() {
		if w != writes && !slices.Contains(c.r.workloads, w) {
			continue
		}
		rec, err := c.workload(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
		if slices.Contains(c.r.workloads, w) {
			emit(rec)
		}
	}
	return nil
}

// workload does one of them.
func (c *cacheCase) workload(ctx context.Context, w workload) (record.Record, error) {
	s := newStream(c.r.draw[c.law], w, 0, c.job.Rank(), uint64(c.r.operations),
		&c.stamp)
	var elapsed time.Duration
	var wrong uint64
	c.served = 0
	for s.reads+s.puts > 0 { // as often on every rank
		c.piece.fill(s, c.batch)
		spent, err := c.timed(ctx)
		if err != nil {
			return record.Record{}, err
		}
		elapsed += spent
		wrong += c.piece.wrong()
	}
	return c.sumUp(ctx, w, elapsed, wrong)
}

// timed does the operations of the piece. Ranks begin together, and those that are done wait
// for the others: what follows is not to disturb them.
func (c *cacheCase) timed(ctx context.Context) (time.Duration, error) {
	served, err := c.store.served()
	if err == nil {
		err = c.job.Barrier(ctx)
	}
	if err != nil {
		return 0, err
	}
	step := max(1, stepOperations/c.batch) * c.batch
	start := time.Now()
	for begin := 0; begin < c.piece.n; begin += step {
		if err := c.store.run(c.piece, begin, min(begin+step, c.piece.n)); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	elapsed := time.Since(start)
	if err := c.job.Barrier(ctx); err != nil {
		return 0, err
	}
	after, err := c.store.served()
	c.served += after - served
	return elapsed, err
}

// sumUp gathers what the ranks have seen, for rank 0.
func (c *cacheCase) sumUp(ctx context.Context, w workload, elapsed time.Duration,
	wrong uint64) (rec record.Record, err error) {
	now, was := c.store.counts(), c.counted
	c.counted = now
	is := now.minus(was)
	all, err := measure.GatherWords(ctx, c.job, []uint64{uint64(elapsed), wrong, is.reads,
		is.writes, is.hits, is.evicted, is.mismatches, uint64(c.served)})
	if err != nil || c.job.Rank() != 0 {
		return rec, err
	}
	slowest, sums := uint64(1), make([]uint64, len(all[0]))
	for _, of := range all {
		slowest = max(slowest, of[0])
		for i, n := range of {
			sums[i] += n
		}
	}
	wrongs, reads, writes, hits, evicted, mismatches := sums[1], sums[2], sums[3], sums[4], sums[5],
		sums[6]
	n := uint64(c.r.operations) * uint64(c.job.Size())
	if done := reads + writes; done != n {
		return rec, fmt.Errorf("the cache has done %d operations of %d: it is wrong", done, n)
	}
	if wrongs > 0 {
		return rec, fmt.Errorf("%d values were read that nobody has written for their key: the "+
			"cache is broken", wrongs)
	}
	rec = record.Record{Name: "Cache", N: int(n), Keys: []record.Key{
		record.K("mode", c.mode), record.K("keys", string(c.law)),
		record.K("workload", string(w)), record.K("batch", c.batch)}, Values: []record.Value{
		{Value: float64(n) / float64(slowest) * 1e6, Unit: "kop/s"},
		{Value: float64(slowest) / float64(n), Unit: "ns/op"},
		{Value: float64(evicted), Unit: "evicted"},
		{Value: float64(mismatches), Unit: "mismatches"}}}
	if c.mode != aServer && (len(c.r.accesses) > 1 || c.access != "auto") {
		rec.Keys = append(rec.Keys, record.K("access", c.access))
	}
	if len(c.r.valueBytes) > 1 {
		rec.Keys = append(rec.Keys, record.K("value", c.piece.valueBytes))
	}
	if c.r.redis != "" {
		core := rec.Values[0].Value / float64(c.job.Size())
		if c.mode == aServer {
			core = float64(n) / float64(max(sums[7], 1)) * 1e6
		}
		rec.Values = append(rec.Values, record.Value{Value: core, Unit: "core-kop/s"})
	}
	if reads > 0 {
		rec.Values = append(rec.Values, record.Value{
			Value: 100 * float64(hits) / float64(reads), Unit: "hits-%"})
	}
	return rec, nil
}
