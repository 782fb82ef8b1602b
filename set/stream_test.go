package set

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/farhash/farhash/rma"
)

// shape is a set for a stream of operations.
type shape struct {
	engine  engine
	ranks   int
	cfg     Config
	bytes   int  // of an element, 0 for words
	skewed  bool // elements lie at odd addresses
	strict  bool // batches work in order, so that every answer can be foretold
	growing bool // Grow takes part
}

// decodeShape reads a shape off the beginning of a stream.
func decodeShape(src *source, bytes int) shape {
	s := shape{engine: engine(src.next() % int(engines)), ranks: 1 + src.next()%4,
		bytes: bytes, skewed: src.next()%2 == 1, strict: src.next()%2 == 1, growing: true}
	s.cfg = Config{
		Buckets: uint64(8 * s.ranks * (1 + src.next()%6)),
		Chunk:   []int{0, 8, 16, 24, 40, 64}[src.next()%6],
		Chunks:  []int{0, 1, 2, 3}[src.next()%4],
		Home:    Home(src.next() % 2),
		Depth:   []int{0, 2, 7}[src.next()%3],
	}
	if s.strict {
		s.inOrder()
	}
	return s
}

// inOrder makes batches work in the order of their words, on every engine.
func (s *shape) inOrder() { s.strict, s.cfg.Depth, s.cfg.Kernel = true, 1, KernelPortable }

// source gives the numbers of a stream, zero when they have run out.
type source struct{ data []byte }

func (s *source) next() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// stream runs operations on a set of few elements, called 0 to 255, and holds
// every answer against a shadow of the table that is filled bucket by bucket as
// the protocol says.
type stream struct {
	shape
	jobs   []rma.Job
	ranks  []subject
	shadow []int // the element in each bucket, none
	stored map[int]bool
	log    []byte // every answer, to be compared with other engines
}

const none = -1

// runStream decodes operations and runs them. It returns the answers.
func runStream(s shape, data []byte) (answers []byte, err error) {
	jobs, stop := startRanks(s.engine, s.ranks, uint64(len(data)))
	st := &stream{shape: s, jobs: jobs, stored: map[int]bool{}}
	defer func() { err = errors.Join(err, stop()) }()
	if st.ranks, err = subjectsOf(jobs, s); err != nil {
		return nil, err
	}
	if err := st.reread(); err != nil {
		return nil, err
	}
	src := &source{data}
	for number := 0; len(src.data) > 0; number++ {
		if err := st.operation(src); err != nil {
			return nil, fmt.Errorf("operation %d on %+v: %w", number, s, err)
		}
	}
	if err := st.verify(); err != nil {
		return nil, fmt.Errorf("at the end, on %+v: %w", s, err)
	}
	return st.log, onAll(len(jobs), func(rank int) error { return st.ranks[rank].close() })
}

func (st *stream) operation(src *source) error {
	code := src.next()
	subject := st.ranks[src.next()%len(st.ranks)]
	switch code % 16 {
	case 0, 1, 2, 3, 4:
		return st.insert(subject, []int{src.next()}, true)
	case 5, 6, 7:
		return st.insert(subject, takeIDs(src), false)
	case 8, 9:
		return st.contains(subject, []int{src.next()}, true)
	case 10, 11:
		return st.contains(subject, takeIDs(src), false)
	case 12:
		return st.count()
	case 13:
		return st.verify()
	case 14:
		if st.growing {
			return st.grow(uint64(8 * (1 + src.next()%40)))
		}
	default:
		return st.iterate()
	}
	return nil
}

// takeIDs reads a batch, in which elements may occur twice.
func takeIDs(src *source) []int {
	ids := make([]int, src.next()%80)
	first, step := src.next(), src.next()%5
	for i := range ids {
		ids[i] = (first + i*step) % 256
	}
	return ids
}

// foretell searches the shadow: it returns the answer and the bucket.
func (st *stream) foretell(id int) (Result, uint64) {
	t := st.ranks[0].table()
	chunk, chunks := uint64(st.cfg.Chunk), uint64(st.cfg.Chunks)
	if chunk == 0 {
		chunk = DefaultChunk
	}
	if chunks == 0 {
		chunks = DefaultChunks
	}
	at := t.home(st.ranks[0].hash(id))
	for range min(chunk*chunks, uint64(len(st.shadow))) {
		switch st.shadow[at] {
		case none:
			return Inserted, at
		case id:
			return Found, at
		}
		at = (at + 1) % uint64(len(st.shadow))
	}
	return Full, 0
}

func (st *stream) insert(s subject, ids []int, single bool) error {
	results, err := s.findOrPut(ids, single)
	if err := fullErrorFits(results, err, s.table()); err != nil {
		return err
	}
	fresh := map[int]int{} // how often each element was inserted
	for i, id := range ids {
		want, bucket := st.foretell(id)
		if want == Inserted && (st.strict || single) {
			st.shadow[bucket] = id
		}
		switch {
		case st.strict || single:
			if results[i] != want {
				return fmt.Errorf("element %d: %v, not %v", id, results[i], want)
			}
		case st.stored[id] && results[i] != Found:
			return fmt.Errorf("stored element %d: %v", id, results[i])
		}
		if results[i] == Inserted {
			fresh[id]++
		}
		st.log = append(st.log, byte(results[i]))
	}
	for i, id := range ids {
		if !st.stored[id] && results[i] != Full && fresh[id] != 1 {
			return fmt.Errorf("new element %d was inserted %d times", id, fresh[id])
		}
	}
	for id := range fresh {
		st.stored[id] = true
	}
	if st.strict || single {
		return nil
	}
	return st.reread()
}

// fullErrorFits holds the error of an insertion against its results.
func fullErrorFits(results []Result, err error, t *table) error {
	if !slices.Contains(results, Full) {
		return err
	}
	var full *FullError
	if !errors.As(err, &full) {
		return fmt.Errorf("the answer is Full and the error %w", err)
	}
	if full.LoadFactor <= 0 || full.LoadFactor > 1 || full.Buckets != t.buckets || full.NoArena ||
		full.LongestProbe != t.limit || full.Enough <= full.Buckets {
		return fmt.Errorf("%+v of a table with %d buckets in reach of %d",
			*full, t.limit, t.buckets)
	}
	for _, part := range []string{"load factor", "longest probe", fmt.Sprint(full.Enough)} {
		if !strings.Contains(err.Error(), part) {
			return fmt.Errorf("no %q in %q", part, err)
		}
	}
	return nil
}

func (st *stream) contains(s subject, ids []int, single bool) error {
	results, err := s.contains(ids, single)
	if err != nil {
		return err
	}
	for i, id := range ids {
		want := NotFound
		if st.stored[id] {
			want = Found
		}
		if results[i] != want {
			return fmt.Errorf("look-up of element %d: %v, not %v", id, results[i], want)
		}
		st.log = append(st.log, byte(results[i]))
	}
	return nil
}

// count compares the numbers that a set tells of itself.
func (st *stream) count() error {
	inserted := uint64(0)
	for _, s := range st.ranks {
		n, load, err := s.size()
		if err != nil {
			return err
		}
		if n != uint64(len(st.stored)) {
			return unexpected("Len", n, len(st.stored))
		}
		if want := float64(n) / float64(len(st.shadow)); load != want {
			return unexpected("LoadFactor", load, want)
		}
		inserted += s.stats().Inserted
	}
	if inserted != uint64(len(st.stored)) {
		return unexpected("the sum of Inserted", inserted, len(st.stored))
	}
	return nil
}

// verify checks the table and compares it with the shadow, bucket by bucket.
func (st *stream) verify() error {
	err := checkRanks(st.jobs, func(rank int, ctx context.Context) error {
		return st.ranks[rank].check(ctx)
	})
	before := st.shadow
	if err := errors.Join(err, st.reread()); err != nil {
		return err
	}
	if !slices.Equal(st.shadow, before) {
		return fmt.Errorf("the table is %v, not %v", st.shadow, before)
	}
	return st.iterate()
}

// reread copies the table to the shadow.
func (st *stream) reread() error {
	buckets, err := st.ranks[0].table().readAll()
	if err != nil {
		return err
	}
	st.shadow = make([]int, len(buckets))
	for i, bucket := range buckets {
		st.shadow[i] = none
		if bucket == 0 {
			continue
		}
		if st.shadow[i], err = st.ranks[0].id(bucket); err != nil {
			return err
		}
	}
	return nil
}

// iterate walks over the parts of all ranks.
func (st *stream) iterate() error {
	var seen []int
	for _, s := range st.ranks {
		part, err := s.local()
		if err != nil {
			return err
		}
		seen = append(seen, part...)
	}
	want := slices.DeleteFunc(slices.Clone(st.shadow), func(id int) bool { return id == none })
	if !slices.Equal(seen, want) {
		return fmt.Errorf("iteration gives %v, not %v", seen, want)
	}
	return nil
}

// grow moves the set. It may be too large for the new table; nothing changes then.
func (st *stream) grow(buckets uint64) error {
	err := onAll(len(st.ranks), func(rank int) error { return st.ranks[rank].grow(buckets) })
	if err == nil {
		st.cfg.Buckets = buckets
		got := st.ranks[0].table().buckets
		if got < buckets || got >= buckets+uint64(8*st.shape.ranks) {
			return unexpected("the number of buckets", got, buckets)
		}
		return st.reread()
	}
	if !strings.Contains(err.Error(), "too few for what the set holds") {
		return err
	}
	return st.verify()
}
