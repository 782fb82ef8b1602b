package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
)

// oneQueued looks up a single key through a queue. The caller's code does not run while requests
// are in flight. more is false if it wants no more.
func (r *Reader) oneQueued(key []byte, yield func(Value, error) bool) (more bool, err error) {
	s, err := r.session()
	if err != nil {
		return true, err
	}
	o := &s.single
	o.key = append(o.key[:0], key...)
	o.list, o.values, o.ends = append(o.list[:0], o.key), o.values[:0], o.ends[:0]
	o.counts = Counts{}
	failed, err := s.run(&o.batch, nil)
	r.counters.Add(core.Stripe(), &o.counts)
	defer r.sessions.Give(s, err != nil) // it has the values
	from := 0
	for _, end := range o.ends {
		if !yield(o.values[from:end:end], nil) {
			return false, nil
		}
		from = end
	}
	return true, errors.Join(err, failed)
}

// Queued looks keys up through a queue. Errors of single lookups are returned after all have ended.
func (b *batch) Queued(at []int) error {
	s, err := b.r.session()
	if err != nil {
		return err
	}
	failed, err := s.run(b, at)
	b.r.sessions.Give(s, err != nil)
	return errors.Join(err, failed)
}

// session is a queue with step machines on it, for one call at a time: a worker of LP
// Algorithm 1.
type session struct {
	rma.Queue
	ops    []op
	pool   bufferPool
	slots  core.Slots
	batch  *batch // that is looked up
	sizes  []int  // of the reads of each lookup
	failed error  // the first one of its lookups
	single single
}

// single is a lookup of one key. The session keeps it, so that one allocates nothing.
type single struct {
	batch
	key    []byte
	values []byte
	ends   []int // of the values
}

func (o *single) add(_ int, v Value) bool {
	o.values = append(o.values, v...)
	o.ends = append(o.ends, len(o.values))
	return true
}

// session returns one that nobody uses.
func (r *Reader) session() (*session, error) {
	if s, ok, err := r.sessions.Take(); ok || err != nil {
		return s, err
	}
	t, depth := r.t, r.cfg.Depth
	s := &session{ops: make([]op, depth), slots: core.NewSlots(depth), pool: t.newBufferPool()}
	q, err := r.t.job.NewQueue(2*depth + s.pool.more)
	if err != nil {
		return nil, err
	}
	s.pool.q = q
	s.single.batch = batch{r: r, found: s.single.add}
	s.Queue = q
	for i := range s.ops {
		o := &s.ops[i]
		o.r, o.t, o.pool = r, t, &s.pool
		o.in, err = q.Alloc((r.maxSlots*t.slotBytes+7)/8 + 1)
		if err == nil && !t.inline() {
			o.buf, err = q.Alloc(t.fetchRoom())
		}
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
	}
	return s, nil
}

// run looks keys up. failed is the first error of a lookup.
func (s *session) run(b *batch, at []int) (failed, err error) {
	s.batch, s.failed, s.sizes = b, nil, b.r.many
	if b.len() == 1 || len(at) == 1 {
		s.sizes = b.r.alone
	}
	err = s.slots.Drive(context.Background(), s.Queue, b.len(), at, len(s.ops), s)
	failed = s.failed
	s.batch, s.failed = nil, nil
	return failed, err
}

// Start prepares a machine for a key.
func (s *session) Start(machine, i int) rma.Op {
	o := &s.ops[machine]
	o.sizes = s.sizes
	o.start(i, s.batch)
	return o
}

// Finish takes the first error of a machine.
func (s *session) Finish(machine, _ int) {
	if s.failed == nil {
		s.failed = s.ops[machine].err
	}
}

// choose finds the sizes of reads: for a lookup that waits alone by the time of its gets, for one
// of many by how long its gets keep the others from theirs.
func (r *Reader) choose() (err error) {
	t, costs := r.t, r.cfg.Costs
	if costs == (rma.GetCosts{}) {
		costs = t.costs
	}
	if costs == (rma.GetCosts{}) {
		next := (t.job.Rank() + 1) % t.job.Size()
		if costs, err = core.MeasureGets(context.Background(), t.job, t.window, next); err != nil {
			return fmt.Errorf("index: measuring gets: %w", err)
		}
	}
	load := float64(t.Records) / (float64(t.Homes) * float64(t.ranks))
	load = min(max(load, 0.01), readsize.MaxLoad)
	c := readsize.Config{SlotBytes: t.slotBytes, MaxSlots: maxReadBytes / t.slotBytes}
	c.Machine = core.Alone(costs)
	r.alone, err = c.Ordered(load)
	c.Machine = core.InFlight(costs)
	many, err2 := c.Ordered(load)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("index: gets that cost %+v: %w", costs, err)
	}
	r.many = many
	r.maxSlots = max(slices.Max(r.alone), slices.Max(r.many), longReadBytes/t.slotBytes)
	return nil
}

// op is a lookup as a step machine, in rounds: it posts gets of slots, as many as the reader says,
// and of all records in the heap whose signatures fit; and when all have come it examines them.
type op struct {
	query
	wanted
	r      *Reader
	counts *Counts // of the batch
	err    error

	sizes []int // of reads in slots; the last one is repeated
	at    int   // the next slot
	bound int   // the slot from which on there is nothing to find
	exact bool  // slots up to the bound are all needed
	over  bool  // no more slots are to be asked for
	asked int   // gets of slots so far

	flights []rma.Handle
	in      rma.Buf
	piece   piece
	fetches []fetch     // of the heap
	buf     rma.Buf     // for one of them; nil while one has it
	pool    *bufferPool // has more
}

// piece is slots that a get in flight brings.
type piece struct{ first, n, words, skip int }

// start begins a lookup.
func (o *op) start(number int, b *batch) {
	key := b.key(number)
	o.counts, o.err, o.asked = &b.counts, nil, 0
	o.counts.Lookups++
	o.piece = piece{}
	o.drop(0) // what an error has left
	o.wanted = wanted{number, key, b.found}
	o.over = !o.begin(key, hashKey(key))
	if !o.over && o.r.near(o.rank) != nil {
		o.err, o.over = o.walk(&o.wanted), true
		return
	}
	if o.at, o.bound, o.exact = int(o.home), o.t.Slots, false; o.r.guides != nil {
		o.at, o.bound, o.exact = o.r.guides[o.rank].between(int(o.home), o.t.Slots)
	}
	o.over = o.over || o.at >= o.bound
}

// Step takes what has come and posts what is needed next. Errors of the engine end the
// lookup and are kept in err, so that the others of a batch go on.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	if h := o.settle(q); h != rma.NoHandle {
		return h, nil
	}
	if o.err == nil {
		o.examine()
	}
	if o.err == nil && !o.enough {
		o.ask(q)
	}
	if n := len(o.flights); n > 0 {
		o.counts.Rounds++
		return o.flights[n-1], nil
	}
	o.counts.Matches += uint64(o.matches)
	return rma.NoHandle, nil
}

// settle takes results, and returns a handle to wait for while there is one.
func (o *op) settle(q rma.Queue) rma.Handle {
	for len(o.flights) > 0 {
		last := o.flights[len(o.flights)-1]
		if !q.Done(last) {
			return last
		}
		o.flights = o.flights[:len(o.flights)-1]
		if _, err := q.Value(last); err != nil && o.err == nil {
			o.err = rankError(o.rank, err)
		}
	}
	return rma.NoHandle
}

// examine examines what has come.
func (o *op) examine() {
	if p := o.piece; p.n > 0 {
		slots := core.BytesOf(o.in[:p.words])[p.skip:]
		o.over = o.scan(&o.wanted, slots, p.first, p.n) || o.over
		if o.piece = (piece{}); o.broken {
			o.err = errBroken
		}
	}
	o.examineRecords()
}

// examineRecords examines the records that have come. A fetch stays if a part of its last record
// has yet to come.
func (o *op) examineRecords() {
	for i := 0; i < len(o.fetches); {
		f := &o.fetches[i]
		f.want = 0
		for _, ref := range f.refs {
			at := ref - f.from
			if end := at + o.t.form.wordsAt(f.buf[at]); end > f.have {
				f.refs[0], f.refs, f.want = ref, f.refs[:1], end
				break
			} else if !o.enough {
				o.record(&o.wanted, f.buf[at:end])
			}
		}
		if f.want > 0 {
			i++
			continue
		}
		last := len(o.fetches) - 1
		o.fetches[i], o.fetches[last] = o.fetches[last], o.fetches[i]
		o.drop(last)
	}
}

// ask posts the next round.
func (o *op) ask(q rma.Queue) {
	if o.askRecords(q); o.err != nil {
		return
	}
	if !o.over && len(o.refs) <= maxRefs {
		o.askSlots(q)
	}
}

// askSlots posts a get of the next slots.
func (o *op) askSlots(q rma.Queue) {
	n := o.bound - o.at
	if !o.exact {
		n = min(n, o.r.size(o))
	}
	n = min(n, o.r.maxSlots)
	at, words, skip := o.t.span(o.at, n)
	o.flights = append(o.flights, q.Get(o.in[:words], o.t.window, o.rank, at))
	o.piece = piece{first: o.at, n: n, words: words, skip: skip}
	o.asked++
	o.counts.Requests++
	o.counts.Slots += uint64(n)
	o.counts.Bytes += uint64(words) * 8
	o.at += n
	o.over = o.at == o.bound
}

// size is how many slots the next read has.
func (r *Reader) size(o *op) int {
	last := len(o.sizes) - 1
	n := o.sizes[min(o.asked, last)]
	if o.asked > last {
		n <<= min(o.asked-last, 16) // a search that long is through many records of one key
	}
	return min(n, r.maxSlots)
}

// askRecords posts gets of the records whose signatures fit, of all at once as far as
// there are buffers, and of the rest of long ones.
func (o *op) askRecords(q rma.Queue) {
	for i := range o.fetches {
		f := &o.fetches[i]
		o.get(q, f.buf[f.have:f.want], f.from+f.have)
		f.have = f.want
	}
	taken := 0
	for taken < len(o.refs) && o.err == nil {
		buf := o.buf
		if o.buf = nil; buf == nil {
			if buf, o.err = o.pool.take(); buf == nil {
				break
			}
		}
		taken += o.askRun(q, buf, o.refs[taken:])
	}
	o.refs = o.refs[:copy(o.refs, o.refs[taken:])]
}

// askRun posts a get of the first of some records and what follows it in the heap, and returns
// how many these are.
func (o *op) askRun(q rma.Queue, buf rma.Buf, refs []ref) int {
	t, n := o.t, 1
	from := refs[0].word
	for end := from + t.heapFirst; n < len(refs); n++ {
		next := refs[n].word
		follows := next > refs[n-1].word && (refs[n].adjoins || next <= end)
		if !follows || next-from+t.form.maxWords() > len(buf) {
			break
		}
		end = next + t.heapFirst
	}
	if n < minRun {
		n = 1
	}
	end := min(refs[n-1].word+t.heapFirst, t.HeapWords)
	if n < len(refs) && refs[n].adjoins {
		end = refs[n].word // where the last of these ends
	}
	if len(o.fetches) < cap(o.fetches) {
		o.fetches = o.fetches[:len(o.fetches)+1] // with the room for refs that it had
	} else {
		o.fetches = append(o.fetches, fetch{})
	}
	f := &o.fetches[len(o.fetches)-1]
	*f = fetch{buf: buf, from: from, have: end - from, refs: f.refs[:0]}
	for _, ref := range refs[:n] {
		f.refs = append(f.refs, ref.word)
	}
	o.get(q, buf[:f.have], from)
	return n
}

func (o *op) get(q rma.Queue, buf rma.Buf, ref int) {
	o.flights = append(o.flights, q.Get(buf, o.t.window, o.rank, o.t.heapAt+ref))
	o.counts.HeapRequests++
	o.counts.HeapBytes += uint64(len(buf)) * 8
}

// fetch is a get of the heap: a record, or several that follow each other, as the records of
// one key mostly do.
type fetch struct {
	buf  rma.Buf
	from int   // word of the heap at which the buffer begins
	have int   // words of the buffer that have been asked for
	want int   // words that the last record ends after, when that is known; 0: not yet
	refs []int // where records begin, in rising order
}

const (
	// fetchWords is the least room of a buffer for records.
	fetchWords = 128
	// maxPoolBytes and maxPoolBuffers limit the buffers beyond one for each lookup.
	maxPoolBytes   = 4 << 20
	maxPoolBuffers = 512
	// minRun is how many records in a row come with one get. A second one alone is
	// mostly of another key, whose signature agrees by chance, and is counted as LP does.
	minRun = 3
	// maxRefs is how many records may wait to be asked for before a search continues.
	maxRefs = 64
)

// fetchRoom is the words of a buffer: for a few records, if they are not long.
func (t *table) fetchRoom() int { return max(2*t.form.maxWords(), fetchWords) }

// bufferPool has the buffers that lookups of a session take when they find more records than one
// buffer has room for. They are made when they are needed.
type bufferPool struct {
	q     rma.Queue
	words int
	free  []rma.Buf
	more  int // that may still be made
}

func (t *table) newBufferPool() bufferPool {
	if t.inline() {
		return bufferPool{}
	}
	words := t.fetchRoom()
	return bufferPool{words: words, more: min(maxPoolBuffers, maxPoolBytes/(words*8))}
}

// take returns a buffer, nil if all are in use.
func (p *bufferPool) take() (rma.Buf, error) {
	if n := len(p.free); n > 0 {
		buf := p.free[n-1]
		p.free = p.free[:n-1]
		return buf, nil
	}
	if p.more == 0 {
		return nil, nil
	}
	p.more--
	return p.q.Alloc(p.words)
}

// drop gives back what fetches hold, from one on. A lookup always has a buffer to continue
// while others have all of the pool.
func (o *op) drop(from int) {
	for _, f := range o.fetches[from:] {
		if o.buf == nil {
			o.buf = f.buf
		} else {
			o.pool.free = append(o.pool.free, f.buf)
		}
	}
	o.fetches = o.fetches[:from]
}
