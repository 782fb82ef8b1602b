package op

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// impl is an implementation that is measured; the manual of the package says what they are.
type impl string

const (
	scalar        impl = "scalar"
	casLoop       impl = "cas-loop"
	batch         impl = "batch"
	batchAVX512   impl = "batch-avx512"
	batchAVX2     impl = "batch-avx2"
	batchPortable impl = "batch-portable"
	syncMap       impl = "syncmap"
	xsyncMap      impl = "xsync"
	sharded       impl = "sharded"
	goMap         impl = "gomap"
	limitSwaps    impl = "limit"
	limitReads    impl = "limit-reads"
)

// kernels are what implementations ask of the set.
var kernels = map[impl]string{batchAVX512: "avx512", batchAVX2: "avx2", batchPortable: "portable"}

// runs reports whether the set has a kernel on this processor.
func runs(kernel string) bool {
	job := local.Single()
	defer job.Close()
	s, err := set.New(context.Background(), job,
		set.Config{Buckets: 1}.WithVariant(variant.Set{Kernel: kernel}))
	return err == nil && s.Close() == nil
}

// peer reports whether i is not part of this project and runs on a table of its own size.
func (i impl) peer() bool {
	return i == syncMap || i == xsyncMap || i == sharded || i == goMap
}

// bare reports whether i works on memory without a set.
func (i impl) bare() bool { return i == casLoop || i == limitSwaps || i == limitReads }

// workload is a mix of finds and inserts; mixed, read and write are the mixes of OP 4.2.
type workload string

const (
	fill  workload = "fill"  // inserts only
	mixed workload = "mixed" // 50% inserts
	read  workload = "read"  // 20% inserts
	write workload = "write" // 80% inserts
	find  workload = "find"  // no inserts while the clock runs
)

// finds is how many finds go with a number of inserts.
func (w workload) finds(inserts uint64) uint64 {
	switch w {
	case mixed, find:
		return inserts
	case read:
		return inserts * 4
	case write:
		return inserts / 4
	}
	return 0
}

const (
	// setBuckets is the size of the table where memory allows: 1 GiB.
	setBuckets   = 1 << 27
	defaultBatch = 1024
	// peerElements is how many words or elements the peers hold at the end.
	peerElements = 1 << 22

	// minElementBytes is the shortest element: it has room for a word of the stream.
	minElementBytes = 8
	// pieceBytes bounds the words or elements that a rank generates at a time.
	pieceBytes = 128 << 20
	// stepWords is about how many operations are done before the context is examined.
	stepWords = 1 << 16
	// findPieces is how often at least the load rises between finds.
	findPieces = 16
)

// Set is find-or-put by workload, beside other maps, and OP Fig. 3.
func Set() *experiment.Experiment {
	over := func(i impl) view.Column {
		return view.Column{Unit: "Mop/s", Over: record.K("impl", string(i)), Digits: 3}
	}
	return &experiment.Experiment{
		Name:  "set",
		Short: "OP 4.2 and Fig. 3: find-or-put by workload, beside other maps and the limit",
		Long: `Measures how many operations a second the set does, beside sync.Map, xsync.Map and a
map divided among mutexes, beside a bare loop of compare-and-swaps, and beside what the memory of
this machine allows. The peers run on a table of at most --peer-elements, since they need
several times the memory; a smaller table favours them.`,
		Takes:   "90 s",
		Example: "-n 1,2 --workload mixed,read,write --impl batch,limit",
		Runs:    3,
		Ranks:   []int{1},
		Views: []view.View{{Name: "Set", Title: "find-or-put, million operations a second",
			Columns: []view.Column{{Unit: "Mop/s", Digits: 2, Spread: true}, over(scalar),
				over(casLoop), over(limitSwaps), {Unit: "op-Mop/s", Head: "OP", Digits: 2}},
			Plots: []view.Plot{
				{Panel: "ranks", X: "workload", Y: "Mop/s", YName: "million operations per second"},
				{Title: "speedup", Panel: "workload", X: "ranks", Y: "Mop/s",
					YName: "speedup over 1 rank", Over: record.K("ranks", 1), Paper: "op-speedup",
					PaperName: "OP Table 1, mixed"},
			}}},
		New: newSetRunner,
	}
}

// setRunner measures samples: one implementation doing one workload once, on all ranks.
type setRunner struct {
	impls                    []impl
	workloads                []workload
	keys                     measure.Keys
	buckets, maxPeerElements experiment.Count
	from, to                 float64
	batch, chunk, chunks     int
	elementBytes             int
	strings, direct          bool

	mu   sync.Mutex
	peer any // the store being measured, for the ranks of this process
}

func newSetRunner(flags *pflag.FlagSet) experiment.Runner {
	r := &setRunner{keys: measure.Random}
	experiment.ChoiceVar(flags, &r.impls, "impl", []impl{scalar, casLoop, batch, batchAVX512,
		batchAVX2, batchPortable, syncMap, xsyncMap, sharded, goMap, limitSwaps, limitReads},
		[]impl{scalar, casLoop, batch, batchPortable, syncMap, xsyncMap, sharded, limitSwaps},
		"what is measured, a list of")
	experiment.ChoiceVar(flags, &r.workloads, "workload",
		[]workload{fill, mixed, read, write, find}, []workload{fill}, "what ranks do, a list of")
	flags.StringVar((*string)(&r.keys), "keys", string(r.keys), "words: random or sequential")
	flags.IntVar(&r.elementBytes, "element-bytes", 0, "length of the elements; 0: words")
	flags.BoolVar(&r.strings, "strings", false, "elements are in a set of strings of any length")
	experiment.CountVar(flags, &r.buckets, "buckets", setBuckets, "size of the table")
	experiment.CountVar(flags, &r.maxPeerElements, "peer-elements", peerElements,
		"most that peers hold")
	flags.Float64Var(&r.from, "from", 0, "load of the table before")
	flags.Float64Var(&r.to, "to", 0.5, "load of the table after")
	flags.IntVar(&r.batch, "batch", defaultBatch, "words or elements of one call")
	flags.IntVar(&r.chunk, "chunk", 0, "C, buckets of one get; 0: chosen by the set")
	flags.IntVar(&r.chunks, "chunks", 0, "M, gets before a search gives up; 0: chosen by the set")
	flags.BoolVar(&r.direct, "direct", true, "use memory directly where it is addressable")
	return r
}

// OneSided tells which path is measured.
func (r *setRunner) OneSided() bool { return !r.direct }

// Check refuses what makes no sense, and leaves out what cannot run here.
func (r *setRunner) Check() error {
	if !(r.from >= 0 && r.from < r.to && r.to <= 1) {
		return fmt.Errorf("loads must be 0 <= --from < --to <= 1, not %v to %v", r.from, r.to)
	}
	if r.strings && r.elementBytes == 0 {
		return errors.New("--strings needs --element-bytes")
	}
	if r.elementBytes != 0 {
		if err := experiment.InRange("element-bytes", r.elementBytes, minElementBytes,
			set.MaxElementBytes); err != nil {
			return err
		}
	}
	err := errors.Join(r.keys.Check(),
		experiment.InRange("buckets", r.buckets, minBuckets, maxBuckets),
		experiment.InRange("peer-elements", r.maxPeerElements, minBuckets, maxBuckets),
		experiment.InRange("batch", r.batch, 1, 1<<24),
		experiment.InRange("chunk", r.chunk, 0, 1<<16),
		experiment.InRange("chunks", r.chunks, 0, 1<<24))
	if err != nil {
		return err
	}
	if r.chunk%8 != 0 {
		return fmt.Errorf("--chunk must be a multiple of 8 buckets, not %d", r.chunk)
	}
	avail, err := memory.Now()
	for err == nil && r.buckets > minBuckets && r.tableBytes() > avail.Bytes/4 {
		r.buckets /= 2
	}
	_, processes, err := farhash.Launched()
	if err != nil {
		return err
	}
	r.impls = slices.DeleteFunc(r.impls, func(i impl) bool {
		if i.peer() {
			return processes // they cannot share it
		}
		kernel, named := kernels[i]
		return named && (!r.direct || r.elementBytes > 0 || !runs(kernel)) ||
			i.bare() && !r.direct || i == casLoop && r.elementBytes > 0
	})
	if len(r.impls) == 0 {
		return errors.New("none of --impl runs on this processor with this path and elements")
	}
	return nil
}

func (r *setRunner) tableBytes() uint64 {
	slot := uint64(r.elementBytes+7) / 8 * 8
	return uint64(r.buckets)*8 + uint64(r.to*float64(r.buckets))*slot
}

// Round measures every implementation with every workload once.
func (r *setRunner) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	// Every rank works with the table size of rank 0, should defaults differ.
	sizes, err := measure.Gather(ctx, job, uint64(r.buckets))
	if err != nil {
		return err
	}
	words := make([]uint64, min(pieceBytes/max(8, r.elementBytes),
		int(sizes[0])*10/job.Size()))
	for _, w := range r.workloads {
		for _, i := range r.impls {
			if i == goMap && job.Size() > 1 {
				continue // it is for one goroutine
			}
			s := sample{r: r, job: job, impl: i, workload: w, words: words, buckets: sizes[0]}
			rec, err := s.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s, workload %s: %w", i, w, err)
			}
			emit(rec)
		}
	}
	return nil
}

// sample measures one implementation with one workload on one rank.
type sample struct {
	r        *setRunner
	job      rma.Job
	impl     impl
	workload workload
	words    []uint64 // memory for words
	buckets  uint64

	stream *measure.Stream
	table  table
}

func (s *sample) share(n uint64) uint64 { return measure.Part(n, s.job.Rank(), s.job.Size()) }

func (s *sample) measure(ctx context.Context) (record.Record, error) {
	r := s.r
	if s.impl.peer() {
		for float64(s.buckets)*r.to > float64(r.maxPeerElements) && s.buckets > minBuckets {
			s.buckets /= 2
		}
	}
	before := uint64(r.from * float64(s.buckets))
	all := uint64(r.to * float64(s.buckets))
	mine := s.share(all - before)
	finds := s.workload.finds(mine)
	s.stream = measure.NewStream(r.keys, s.job.Rank(), s.job.Size(),
		all/uint64(s.job.Size())+1)
	s.stream.InsertsFirst = s.impl == limitSwaps || s.impl == limitReads
	runtime.GC() // what the last sample left is not this one's to collect
	if err := s.open(ctx, all); err != nil {
		return record.Record{}, err
	}
	elapsed, err := s.phases(ctx, s.share(before), mine, finds)
	var rec record.Record
	if err == nil {
		if s.workload != find {
			finds += mine
		}
		rec, err = s.sumUp(ctx, all, finds, elapsed)
	}
	return rec, errors.Join(err, s.table.close())
}

// phases fills the table to where the workload begins and does the workload. It returns the
// time of the latter.
func (s *sample) phases(ctx context.Context, before, inserts, finds uint64) (
	elapsed time.Duration, err error) {
	if err := s.prefill(ctx, before); err != nil {
		return 0, err
	}
	operations, err := measure.Gather(ctx, s.job, inserts+finds)
	if err != nil {
		return 0, err
	}
	// The ranks meet as often as the one with most operations needs.
	pieces := int((slices.Max(operations) + uint64(len(s.words)) - 1) / uint64(len(s.words)))
	if s.workload == find {
		pieces = max(pieces, findPieces)
	}
	s.stream.Plan(inserts, finds)
	for i := range pieces {
		if s.workload == find {
			if err := s.prefill(ctx, measure.Part(inserts, i, pieces)); err != nil {
				return 0, err
			}
			s.stream.Plan(0, measure.Part(finds, i, pieces))
		}
		n, first := s.stream.Fill(s.words)
		s.table.ready(s.words[:n], first)
		if err := s.job.Barrier(ctx); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := s.timed(ctx, n); err != nil {
			return 0, err
		}
		elapsed += time.Since(start)
	}
	return elapsed, nil
}

func (s *sample) prefill(ctx context.Context, words uint64) error {
	s.stream.Plan(words, 0)
	for {
		n, _ := s.stream.Fill(s.words[:min(len(s.words), stepWords)])
		if n == 0 {
			return nil
		}
		if err := errors.Join(ctx.Err(), s.table.prefill(s.words[:n])); err != nil {
			return err
		}
	}
}

func (s *sample) timed(ctx context.Context, operations int) error {
	step := max(1, stepWords/s.r.batch) * s.r.batch
	if s.stream.InsertsFirst {
		step = max(1, operations)
	}
	for begin := 0; begin < operations; begin += step {
		if err := s.table.run(begin, min(begin+step, operations)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sumUp gathers the ranks' times and checks how many words were inserted.
func (s *sample) sumUp(ctx context.Context, elements, operations uint64,
	elapsed time.Duration) (record.Record, error) {
	if err := s.job.Barrier(ctx); err != nil { // cas-loop counts what all have inserted
		return record.Record{}, err
	}
	all, err := measure.GatherWords(ctx, s.job,
		[]uint64{uint64(elapsed), s.table.inserted(), operations})
	if err != nil {
		return record.Record{}, err
	}
	slowest, inserted, done := uint64(1), uint64(0), uint64(0)
	for _, of := range all {
		slowest = max(slowest, of[0])
		inserted += of[1]
		done += of[2]
	}
	if inserted != elements {
		return record.Record{}, fmt.Errorf("%d words were inserted, and %d distinct ones given "+
			"to insert: the table is wrong", inserted, elements)
	}
	buckets := experiment.Count(s.buckets)
	rec := record.Record{Name: "Set", N: int(done), Keys: []record.Key{
		record.K("elementBytes", s.r.elementBytes), record.K("from", s.r.from),
		record.K("to", s.r.to), record.K("workload", string(s.workload)),
		record.K("impl", string(s.impl))}, Values: []record.Value{
		{Value: float64(done) / float64(slowest) * 1e3, Unit: "Mop/s"},
		{Value: float64(slowest) / float64(done), Unit: "ns/op"},
		{Value: float64(buckets), Unit: "buckets"}}}
	if s.workload == mixed && s.impl == batch {
		rec.Values = append(rec.Values, printedRates(1, s.job.Size())...)
	}
	return rec, nil
}
