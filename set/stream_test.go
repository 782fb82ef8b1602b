package set

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/farhash/farhash/rma"
)

// shape is a set for a stream of operations.
type shape struct {
	engine engine
	ranks  int
	cfg    Config
	bytes  int  // of an element, 0 for words
	skewed bool // elements lie at odd addresses
	alike  bool // other engines must answer the same: no file is loaded that may not fit
	strict bool // batches work in order, so that every answer can be predicted
	moving bool // operations that make the table anew take part
}

// decodeShape reads a shape off the beginning of a stream.
func decodeShape(src *source, bytes int) shape {
	s := shape{engine: engine(src.next() % int(allEngines)), ranks: 1 + src.next()%4,
		bytes: bytes, skewed: src.next()%2 == 1, strict: src.next()%2 == 1, moving: true}
	s.cfg = Config{
		Buckets: uint64(8 * s.ranks * (1 + src.next()%6)),
		Chunk:   []int{0, 8, 16, 24, 40, 64}[src.next()%6],
		Chunks:  []int{0, 1, 2, 3}[src.next()%4],
		variant: eachHomes[src.next()%2],
		Depth:   []int{0, 2, 7}[src.next()%3],
	}
	s.on(s.engine)
	return s
}

// on takes an engine. What ships knows no order.
func (s *shape) on(e engine) {
	s.engine, s.cfg.Access = e, e.access()
	if s.strict = s.strict && !e.ships(); s.strict {
		s.inOrder()
	}
}

// inOrder makes batches work in the order of their words, on every engine.
func (s *shape) inOrder() { s.strict, s.cfg.Depth, s.cfg.variant.Kernel = true, 1, "portable" }

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
	refs   map[int]Ref // references of the elements, as far as they are known
	log    []byte      // every answer, to be compared with other engines

	dir     string       // of the file, empty while there is none
	saved   map[int]bool // what was saved last
	longest uint64       // the reach of the largest table that the set has had
}

const none = -1

// runStream decodes operations and runs them. It returns the answers.
func runStream(s shape, data []byte) (answers []byte, err error) {
	jobs, stop := startRanks(s.engine, s.ranks, uint64(len(data)))
	st := &stream{shape: s, jobs: jobs}
	defer func() { err = errors.Join(err, stop(), os.RemoveAll(st.dir)) }()
	if err := st.open(); err != nil {
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

// open makes an empty set.
func (st *stream) open() (err error) {
	st.stored, st.refs = map[int]bool{}, map[int]Ref{}
	st.longest = 0
	if st.ranks, err = subjectsOf(st.jobs, st.shape); err != nil {
		return err
	}
	return st.reread()
}

func (st *stream) operation(src *source) error {
	code := src.next()
	subject := st.ranks[src.next()%len(st.ranks)]
	switch code % 20 {
	case 0, 1, 2, 3, 4, 19:
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
		return st.iterate()
	}
	if !st.moving {
		return nil
	}
	switch code % 20 {
	case 15, 16:
		return st.collect(src.next() % 7)
	case 17:
		if src.next()%2 == 0 {
			return st.save()
		}
		return st.load()
	default:
		return st.reopen(uint64(8*(1+src.next()%40)), eachHomes[src.next()%2])
	}
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
	at := st.ranks[0].table().home(st.ranks[0].hash(id))
	for range min(st.reach(), uint64(len(st.shadow))) {
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

// reach is the number of buckets that a search examines where there are as many.
func (st *stream) reach() uint64 {
	chunk, chunks := st.cfg.Chunk, st.cfg.Chunks
	if chunk == 0 {
		chunk = defaultChunk
	}
	if chunks == 0 {
		chunks = defaultChunks
	}
	return uint64(chunk) * uint64(chunks)
}

func (st *stream) insert(s subject, ids []int, single bool) error {
	results, refs, err := s.findOrPut(ids, single)
	if err := fullErrorFits(results, err, s.table(), st.longest); err != nil {
		return err
	}
	for i, ref := range refs {
		if results[i] == Full {
			continue
		}
		if err := st.checkRef(ids[i], ref); err != nil {
			return err
		}
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

// checkRef compares the reference of an element with the one that it has had so far.
func (st *stream) checkRef(id int, ref Ref) error {
	if before, known := st.refs[id]; known && before != ref {
		return fmt.Errorf("the reference of element %d is %#x, not %#x", id, ref, before)
	}
	st.refs[id] = ref
	return nil
}

// fullErrorFits holds the error of an insertion against its results. The longest search
// of the set so far may have been one of so many buckets.
func fullErrorFits(results []Result, err error, t *table, longest uint64) error {
	if !slices.Contains(results, Full) {
		return err
	}
	var full *FullError
	if !errors.As(err, &full) {
		return fmt.Errorf("the answer is Full and the error %w", err)
	}
	if full.Used <= 0 || full.Used > 1 || full.Buckets != t.buckets || full.NoArena ||
		full.LongestProbe < t.limit || full.LongestProbe > longest || full.Enough <= full.Buckets {
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
			return fmt.Errorf("lookup of element %d: %v, not %v", id, results[i], want)
		}
		st.log = append(st.log, byte(results[i]))
	}
	return nil
}

// count compares the counts of a set with those of the stream.
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

// reread copies the table to the shadow. What is in it must be what was stored.
func (st *stream) reread() error {
	layout, err := st.read()
	if err != nil {
		return err
	}
	there := map[int]bool{}
	for _, id := range layout {
		if id != none && (there[id] || !st.stored[id]) {
			return fmt.Errorf("element %d is in the table and should not, or twice", id)
		}
		there[id] = id != none
	}
	for id := range st.stored {
		if !there[id] {
			return fmt.Errorf("element %d is not in the table", id)
		}
	}
	st.shadow = layout
	return nil
}

// read returns the element in each bucket.
func (st *stream) read() ([]int, error) {
	t := st.ranks[0].table()
	st.longest = max(st.longest, t.limit)
	buckets, err := t.readAll()
	if err != nil {
		return nil, err
	}
	layout := make([]int, len(buckets))
	for i, bucket := range buckets {
		layout[i] = none
		if bucket == 0 {
			continue
		}
		if layout[i], err = st.ranks[0].id(bucket); err != nil {
			return nil, err
		}
		if err := st.checkRef(layout[i], Ref(bucket&refMask)); err != nil {
			return nil, err
		}
	}
	return layout, nil
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
