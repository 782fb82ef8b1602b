package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
)

// IndexCounts counts the requests and bytes of lookups in tables of an index that are really
// built, for a table of LP: the command farhash bench index --table 1 and others.
//
// For each case the ranks build a table, and each looks up keys that are there, drawn
// evenly, through queues. Nothing is timed. Each round has other keys, as LP 5.1 has 10
// tables; counts are means of all rounds.
type IndexCounts struct {
	cfg IndexCountsConfig

	mu     sync.Mutex
	rounds uint64
	counts map[IndexCase][]index.Stats // of all ranks, one for each round
}

// IndexCase is what is counted: lookups in a table of records.
type IndexCase struct {
	Impl        IndexImpl
	Load        float64
	RecordBytes int // of which 4 are the key's
	Storage     index.Storage
	Skew        float64 // of the keys of records; 0: all differ
	Clusters    int     // that a worker knows
}

// IndexCountsConfig says what is counted. All ranks give the same.
type IndexCountsConfig struct {
	Table   IndexTable
	Records int // of all ranks; 0: DefaultIndexRecords
	Lookups int // of each rank in a case; 0: DefaultIndexCounted
	// Progress is told on rank 0 what has been counted, if not nil.
	Progress func(IndexCase, index.Stats)
}

const (
	// DefaultIndexRecords is how many an index has.
	DefaultIndexRecords = 1 << 20
	// DefaultIndexCounted is how many lookups are counted for a case.
	DefaultIndexCounted = 1 << 17
	// MaxIndexRecords is the most records, and the most lookups of a rank.
	MaxIndexRecords = 1 << 30

	minIndexRecords = 64
	indexKeyBytes   = 4 // LP 5.1
)

// NewIndexCounts checks and completes cfg.
func NewIndexCounts(cfg IndexCountsConfig) (*IndexCounts, error) {
	if cfg.Records == 0 {
		cfg.Records = DefaultIndexRecords
	}
	if cfg.Lookups == 0 {
		cfg.Lookups = DefaultIndexCounted
	}
	if len(cfg.Table.cases()) == 0 {
		return nil, fmt.Errorf("bench: there is no table %q to count, only %v", cfg.Table,
			IndexTables())
	}
	if err := checkIndexNumbers(cfg.Records, cfg.Lookups); err != nil {
		return nil, err
	}
	return &IndexCounts{cfg: cfg, counts: map[IndexCase][]index.Stats{}}, nil
}

func checkIndexNumbers(records, lookups int) error {
	if records < minIndexRecords || records > MaxIndexRecords {
		return fmt.Errorf("bench: records must be %d to %d, not %d", minIndexRecords,
			MaxIndexRecords, records)
	}
	if lookups < 1 || lookups > MaxIndexRecords {
		return fmt.Errorf("bench: lookups of a rank must be 1 to %d, not %d", MaxIndexRecords,
			lookups)
	}
	return nil
}

// Round counts all cases once. Collective. When it fails or ctx ends, what was counted
// remains.
func (c *IndexCounts) Round(ctx context.Context, job rma.Job) error {
	c.mu.Lock()
	rounds := c.rounds
	c.mu.Unlock()
	all, err := gather(ctx, job, rounds) // rank 0 knows
	if err != nil {
		return err
	}
	for _, cases := range byTable(c.cfg.Table.cases(), IndexCase.sameTable) {
		if err := c.table(ctx, job, all[0], cases); err != nil {
			return fmt.Errorf("bench: %s, %s, load %v: %w", c.cfg.Table, cases[0].Impl,
				cases[0].Load, err)
		}
	}
	if job.Rank() == 0 {
		c.mu.Lock()
		c.rounds++
		c.mu.Unlock()
	}
	return nil
}

// sameTable reports whether two cases differ in how they look keys up alone.
func (c IndexCase) sameTable(other IndexCase) bool {
	if !c.Impl.sameLayout(other.Impl) {
		return false
	}
	other.Impl, other.Clusters = c.Impl, c.Clusters
	return c == other
}

// lookups of a case know no clusters unless it says so: the laws know none either.
func (c *IndexCase) lookups() index.Lookups {
	if c.Clusters == 0 {
		return c.Impl.of().lookups(-1)
	}
	return c.Impl.of().lookups(c.Clusters)
}

// table builds a table and counts what is looked up there.
func (c *IndexCounts) table(ctx context.Context, job rma.Job, seed uint64,
	cases []IndexCase) error {
	of := &cases[0]
	keys := indexKeys{keyBytes: indexKeyBytes, valueBytes: of.RecordBytes - indexKeyBytes,
		seed: seed, records: c.cfg.Records}
	if of.Skew > 0 {
		keys.skew(of.Skew)
	}
	x, err := index.Build(ctx, job, index.Config{KeySize: keys.keyBytes,
		ValueSize: keys.valueBytes, Layout: of.Impl.of().layout, Load: of.Load,
		Storage: of.Storage}, keys.stream(job.Rank(), job.Size()))
	if err != nil {
		return err
	}
	for _, of := range cases {
		l := indexLooker{ctx: ctx, index: x, keys: &keys, batch: DefaultBatch}
		if err = l.open(of.lookups()); err == nil {
			l.draw(job.Rank(), c.cfg.Lookups)
			err = errors.Join(l.run(), l.close())
		}
		if err == nil {
			err = c.keep(ctx, job, of, l.stats)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, x.Close())
}

// keep adds up what the ranks have counted. Collective.
func (c *IndexCounts) keep(ctx context.Context, job rma.Job, of IndexCase,
	mine index.Stats) error {
	for _, count := range []*uint64{&mine.Lookups, &mine.Matches, &mine.Rounds, &mine.Requests,
		&mine.Slots, &mine.Bytes, &mine.HeapRequests, &mine.HeapBytes} {
		all, err := gather(ctx, job, *count)
		if err != nil {
			return err
		}
		*count = sum(all)
	}
	if job.Rank() != 0 {
		return nil
	}
	c.mu.Lock()
	c.counts[of] = append(c.counts[of], mine)
	c.mu.Unlock()
	if c.cfg.Progress != nil {
		c.cfg.Progress(of, mine)
	}
	return nil
}

// indexLooker looks up a sample of keys on one rank, and holds what it finds against
// what is there.
type indexLooker struct {
	ctx   context.Context
	index *index.Index
	keys  *indexKeys
	batch int    // 1: one at a time
	seen  func() // told of every value that is found, if not nil

	reader *index.Reader
	sample []byte
	want   [2]uint64 // values, and the sum of their stamps
	stats  index.Stats
}

func (l *indexLooker) open(lookups index.Lookups) (err error) {
	l.reader, err = l.index.NewReader(lookups)
	return err
}

func (l *indexLooker) close() error { return l.reader.Close() }

// draw chooses the keys.
func (l *indexLooker) draw(rank, n int) {
	l.sample, l.want[0], l.want[1] = l.keys.sample(rank, n)
}

// run looks the keys up.
func (l *indexLooker) run() error {
	l.reader.ResetStats()
	var matches, stamps uint64
	found := func(_ int, v index.Value) {
		matches++
		stamps += stampOf(v)
		if l.seen != nil {
			l.seen()
		}
	}
	step := max(1, DefaultBatch/l.batch) * l.batch * l.keys.keyBytes
	for piece := range slices.Chunk(l.sample, step) {
		if err := l.piece(piece, found); err != nil {
			return err
		}
		if err := l.ctx.Err(); err != nil {
			return err
		}
	}
	l.stats = l.reader.Stats()
	if got := [2]uint64{matches, stamps}; got != l.want {
		return fmt.Errorf("lookups of %d keys found %d values, not the %d that they have: the "+
			"index is wrong", len(l.sample)/l.keys.keyBytes, matches, l.want[0])
	}
	return nil
}

// piece looks up keys between two looks at the context.
func (l *indexLooker) piece(keys []byte, found func(int, index.Value)) error {
	size := l.keys.keyBytes
	if l.batch > 1 {
		for batch := range slices.Chunk(keys, l.batch*size) {
			if err := l.reader.LookupBatch(batch, found); err != nil {
				return err
			}
		}
		return nil
	}
	for ; len(keys) > 0; keys = keys[size:] {
		for v, err := range l.reader.Lookup(keys[:size]) {
			if err != nil {
				return err
			}
			found(0, v)
		}
	}
	return nil
}
