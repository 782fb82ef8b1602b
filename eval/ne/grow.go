package ne

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Grow is the map beside an xsync.Map, both without a size.
func Grow() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "grow",
		Short: "the map beside an xsync.Map while they grow, in one process",
		Long: `A goroutine puts new keys of 8 bytes into a map that is empty and has no size: an
xsync.Map of words, a map (kv), or a map opened by name; a map also in batches. Then another map is
filled in the same way, and each put is timed: the longest is for how long a caller may wait.`,
		Takes: "1 min",
		Runs:  5,
		Views: []view.View{{Name: "Grow", Title: "million puts a second", Across: "records",
			Columns: []view.Column{{Unit: "Mput/s", Digits: 2}, {Unit: "Mput/s", Head: "/ xsync",
				Digits: 2, Over: record.K("store", string(xsyncMap))}},
			Plots: []view.Plot{{Panel: "loop", X: "records", Y: "Mput/s"}}},
			{Name: "Longest", Title: "the longest put, in ms", Across: "records",
				Columns: []view.Column{{Unit: "ms", Digits: 2}}}},
		New: newGrow,
	}
}

// grow measures stores that grow.
type grow struct {
	beside
	sizes []int
}

func newGrow(flags *pflag.FlagSet) experiment.Runner {
	g := &grow{beside: beside{operations: 1, goroutines: []int{1}}}
	all := []impl{xsyncMap, ours, named}
	experiment.ChoiceVar(flags, &g.stores, "store", all, all, "what is measured, a list of")
	flags.IntSliceVar(&g.sizes, "records", []int{250_000, 2_000_000}, "how many are put, a list")
	flags.IntVar(&g.valueBytes, "value-bytes", 100, "length of values")
	flags.IntVar(&g.batch, "batch", usualBatch, "calls of a batch")
	return g
}

// Check refuses what makes no sense.
func (g *grow) Check() (err error) {
	for _, n := range g.sizes {
		g.records = experiment.Count(n)
		err = errors.Join(err, g.beside.Check())
	}
	return err
}

// Round measures everything once.
func (g *grow) Round(ctx context.Context, _ rma.Job, _ uint64, emit experiment.Emit) (err error) {
	for _, n := range g.sizes {
		for _, store := range g.stores {
			for _, way := range []loops{single, batches} {
				if way == single || store != xsyncMap {
					err = cmp.Or(err, ctx.Err(), g.one(store, n, way, emit))
				}
			}
		}
	}
	return err
}

// one fills stores of one kind.
func (g *grow) one(store impl, n int, way loops, emit experiment.Emit) error {
	all := &draws{make([]byte, n*wordBytes), make([]uint8, n)} // all of them write
	for i := range n {
		measure.FillKey(all.keys[i*wordBytes:(i+1)*wordBytes], uint64(i))
	}
	keys := []record.Key{record.K("loop", string(way)), record.K("store", string(store)),
		record.K("records", n)}
	took, err := g.filled(store, all, n, way)
	if err != nil {
		return err
	}
	emit(record.Record{Name: "Grow", N: n, Keys: keys, Values: []record.Value{
		{Value: float64(n) / took.Seconds() / 1e6, Unit: "Mput/s"}}})
	if way == batches {
		return nil
	}
	longest, err := g.filled(store, all, 1, way)
	if err == nil {
		emit(record.Record{Name: "Longest", N: n, Keys: keys, Values: []record.Value{
			{Value: longest.Seconds() * 1e3, Unit: "ms"}}})
	}
	return err
}

// filled fills a store, so many records at a time, and returns the longest of these times.
func (g *grow) filled(store impl, all *draws, atOnce int, way loops) (longest time.Duration,
	err error) {
	// An xsync.Map would use memory again that the last one left, and a map would not.
	if err := measure.WarmMemory(len(all.percent) * bytesOfRecord(g.valueBytes)); err != nil {
		return 0, err
	}
	s, err := g.withoutSize(store)
	if err != nil {
		return 0, err
	}
	c := client{writes: 1, batch: 1, value: make([]byte, g.valueBytes)}
	if way == batches {
		c.batch = g.batch
	}
	for i := 0; i < len(all.percent) && err == nil; i += atOnce {
		c.draws = &draws{all.keys[i*wordBytes : (i+atOnce)*wordBytes], all.percent[i : i+atOnce]}
		begin := time.Now()
		err = s.run(&c)
		longest = max(longest, time.Since(begin))
	}
	return longest, errors.Join(err, s.close())
}

// withoutSize makes a store without records and without a size.
func (g *grow) withoutSize(store impl) (peer, error) {
	if store == xsyncMap {
		return xsyncPeer{xsync.NewMap[uint64, []byte]()}, nil
	}
	return g.empty(store)
}

// bytesOfRecord is about what a record takes in a store that grows, both tables of a move included.
func bytesOfRecord(valueBytes int) int { return 3 * (wordBytes + valueBytes) }
