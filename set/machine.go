package set

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
)

// oneQueued runs one operation through a queue.
func (t *table) oneQueued(item []uint64, insert bool) (Ref, Result, error) {
	s, err := t.session()
	if err != nil {
		return 0, 0, err
	}
	b := &s.single
	b.t, b.items, b.insert, b.counts = t, append(b.items[:0], item...), insert, counts{}
	b.results[0] = 0
	err = s.run(b, nil)
	ended := batch{t: t, insert: insert, counts: b.counts}
	ref, r := b.ref(), Result(b.results[0])
	b.t = nil
	t.sessions.Give(s, err != nil)
	return ref, r, ended.ended(err)
}

// session is a queue with step machines on it, for one call at a time.
type session struct {
	q      rma.Queue
	probes []probe
	slots  core.Slots
	held   heldSlots // free slots for the elements of the batch

	batch  *batch // in progress
	alone  bool   // it is one operation
	single batch  // of one item, kept so that a single call allocates nothing
}

// session returns a session with room for Depth operations in flight.
func (sp *space) session() (*session, error) {
	if s, ok, err := sp.sessions.Take(); ok || err != nil {
		return s, err
	}
	depth := sp.cfg.Depth
	// Two chunks of each machine may be in flight, or one and a request of
	// another kind.
	q, err := sp.job.NewQueue(depth * 2 * int(sp.pieces()))
	if err != nil {
		return nil, err
	}
	s := &session{q: q, probes: make([]probe, depth), slots: core.NewSlots(depth),
		single: batch{results: make([]end, 1), begins: sp.begins}}
	if sp.arenas != nil {
		s.single.refs = make([]Ref, 1)
	}
	alloc := func(buf *rma.Buf, words int) {
		if err == nil {
			*buf, err = q.Alloc(words)
		}
	}
	for i := range s.probes {
		p := &s.probes[i]
		p.held = &s.held
		chunk := int(min(sp.chunk, sp.tables[len(sp.tables)-1].buckets))
		alloc(&p.chunks[0].buf, chunk)
		alloc(&p.chunks[1].buf, chunk)
		if sp.arenas != nil {
			alloc(&p.there, sp.pieceWords())
			alloc(&p.here, sp.pieceWords())
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close gives back the queue.
func (s *session) Close() error { return s.q.Close() }

// run runs the items of a batch with the given indices, or all if at is nil. After an
// error the session is not to be used again.
func (s *session) run(b *batch, at []int) error {
	s.batch, s.held = b, heldSlots{arenas: b.t.arenas, needed: len(b.results)}
	s.alone = len(b.results) == 1 || len(at) == 1
	before := *s.q.Stats()
	var machines core.Machines = s
	if b.begins != nil && b.insert {
		machines = inTurns{s}
	}
	err := s.slots.Drive(context.Background(), s.q, len(b.results), at, len(s.probes), machines)
	if err != nil { // some machines have ended before it
		for machine := range s.probes {
			i := s.slots.Running(machine)
			if i >= 0 && s.probes[machine].result != 0 {
				s.Finish(machine, i)
			}
		}
	}
	s.held.release()
	b.noSlot += s.held.noSlot
	b.queues.Add(s.q.Stats().Since(before))
	s.batch = nil
	return err
}

// Start starts a machine.
func (s *session) Start(machine, i int) rma.Op {
	s.probes[machine].alone = s.alone
	s.probes[machine].start(s.batch, i)
	return &s.probes[machine]
}

// inTurns is a session in which equal strings take turns, so that no two store the same long one.
type inTurns struct{ *session }

func (s inTurns) Turn(i int) (hash uint64, ok bool) {
	return s.batch.t.hash(s.batch.item(i)), true
}

// Finish takes the answer of a machine.
func (s *session) Finish(machine, i int) {
	p, b := &s.probes[machine], s.batch
	b.count(p.result, p.before+p.examined, p.lost, p.size)
	if p.t != b.t {
		b.beyond++
	}
	if len(p.chunks[0].gets)+len(p.chunks[1].gets) == 0 {
		p.t = nil // so that an idle session keeps no table
	}
	b.results[i] = p.result
	if b.refs != nil {
		b.refs[i] = Ref(p.bucket & refMask)
	}
	if p.stored && p.result != inserted {
		s.held.takeBack(p.mine, len(p.element))
	}
}

// fetchMachines are the machines of a session as they get elements.
type fetchMachines struct {
	f   *fetch
	ses *session
}

func (m *fetchMachines) Start(machine, k int) rma.Op {
	p := &m.ses.probes[machine]
	p.mine, p.phase, p.held.arenas = m.f.refs[k], phaseStart, m.f.arenas
	return (*fetchOp)(p)
}

func (m *fetchMachines) Finish(machine, k int) { m.f.arrived(k, m.ses.probes[machine].there) }

// fetchOp is a probe as it gets the element in slot mine.
type fetchOp probe

// Step is one step of the protocol.
func (p *fetchOp) Step(q rma.Queue) (rma.Handle, error) {
	if p.phase == phaseStart {
		rank, off := p.held.arenas.locate(p.mine)
		p.handle, p.phase = q.Get(p.there, p.held.arenas.elements.window, rank, off), phaseCompare
		return p.handle, nil
	}
	if !q.Done(p.handle) {
		return p.handle, nil
	}
	_, err := q.Value(p.handle)
	return rma.NoHandle, err
}

// probe is find-or-put as a step machine (OP Fig. 1), for words and elements and
// for lookups, which do not insert. It examines buckets in order from home:
//
//	home            home+C          home+2C
//	| chunk 0       | chunk 1       | chunk 2 ...      at most limit buckets
//	  examined now    requested
//
// A bucket that was empty in the chunk is claimed by one compare-and-swap; when
// that loses, the word that won is examined in its place. Buckets never change
// once occupied, so everything before the bucket claimed is known not to match.
//
// For an element a bucket with the right fingerprint must be compared, and the element must
// be in an arena before a bucket refers to it.
type probe struct {
	t    *table // that is searched
	held *heldSlots

	hash    uint64
	element []uint64 // nil for words: a bucket with the same word matches
	key     uint64   // a bucket may hold what is searched for if it equals key
	mask    uint64   // in these bits
	home    uint64
	insert  bool // false: an empty bucket ends the search

	chunks [2]chunkRequest
	size   uint64 // C of this search
	number uint64 // of the chunk examined
	next   int    // bucket in it to examine
	alone  bool   // no other search is in flight
	sample bool   // report the load of the first chunk to auto
	taken  uint64 // occupied buckets in it
	phase  phase
	handle rma.Handle // of the compare-and-swap, or of the get or put of an element

	there  rma.Buf // an element fetched for comparison, or a piece of it
	here   rma.Buf // the element to be written into the arena, or a piece of it
	done   int     // words of the element that are compared, or requested to be stored
	mine   Ref     // its slot; 0 for words
	stored bool    // the element is there

	result   end
	bucket   uint64 // compared, or content of the one that ended the search
	examined uint64 // buckets examined
	before   uint64 // in tables before t
	lost     uint64 // compare-and-swaps lost
}

// phase is what a probe waits for.
type phase int

const (
	phaseStart   phase = iota
	phaseChunk         // the chunk to be examined
	phaseCompare       // the element that a bucket refers to
	phaseStore         // the element to be in its slot
	phaseSwap          // the compare-and-swap
)

// chunkRequest is one chunk, in flight or arrived: a get for each owner.
type chunkRequest struct {
	buf    rma.Buf
	length int // in buckets, up to the first that is lost
	gets   []chunkGet
	lost   error // what is after them is lost; nil: nothing is
	posted bool  // by this step, so that it is not submitted yet
}

// chunkGet is a get of a chunk, from a bucket of it on.
type chunkGet struct {
	handle rma.Handle
	first  int
}

// start prepares the machine for item i of a batch. Buffers are kept.
func (p *probe) start(b *batch, i int) {
	t := b.t
	if p.element = nil; b.hashes != nil {
		p.hash, p.key, p.mask = b.hashes[i], b.items[i], ^uint64(0)
	} else {
		item := b.item(i)
		p.hash = t.hash(item)
		p.key, p.mask = t.key(item, p.hash), t.mask
		if t.arenas != nil {
			p.element = item
		}
	}
	p.insert, p.mine, p.stored = b.insert, 0, false
	p.result, p.bucket, p.examined, p.before, p.lost = 0, 0, 0, 0, 0
	p.enter(t)
}

// enter has the search begin in a table.
func (p *probe) enter(t *table) {
	p.t, p.home, p.phase, p.size, p.sample = t, t.home(p.hash), phaseStart, t.chunk, false
	if t.auto != nil {
		p.size, p.sample = min(t.auto.chunk(p.alone), t.chunk), t.auto.sample()
	}
}

// Step is one step of the protocol: it takes what the machine waited for, and continues.
func (p *probe) Step(q rma.Queue) (rma.Handle, error) {
	p.chunks[0].posted, p.chunks[1].posted = false, false
	if p.phase > phaseChunk && !q.Done(p.handle) {
		return p.handle, nil
	}
	switch p.phase {
	case phaseStart:
		return p.begin(q)
	case phaseChunk:
		return p.search(q)
	case phaseCompare:
		return p.compare(q)
	case phaseStore:
		if _, err := q.Value(p.handle); err != nil {
			if gone := (*rma.RankError)(nil); errors.As(err, &gone) {
				return p.store(q) // another slot, perhaps of another rank, will do
			}
			return rma.NoHandle, err
		}
		if p.done < len(p.element) {
			return p.put(q)
		}
		p.stored = true
		return p.claim(q)
	}
	return p.endSwap(q)
}

// begin begins in a table. The search before this one may have requested chunks that it did not
// need: their buffers are free only when they have arrived.
func (p *probe) begin(q rma.Queue) (rma.Handle, error) {
	for i := range p.chunks {
		if h, err := p.chunks[i].collect(q); h != rma.NoHandle || err != nil {
			// mark: probe waits for a chunk of the search before
			return h, err
		}
	}
	p.startChunk(q, 0)
	return p.search(q)
}

// search examines buckets, from p.next of the present chunk on.
func (p *probe) search(q rma.Queue) (rma.Handle, error) {
	p.phase = phaseChunk
	for {
		c := &p.chunks[p.number%2]
		if h, err := c.collect(q); h != rma.NoHandle || err != nil {
			return h, err
		}
		if p.sample && p.number == 0 && p.next == 0 {
			p.taken = 0
			for _, bucket := range c.buf[:c.length] {
				p.taken += bucket >> 63
			}
		}
		for ; p.next < c.length; p.next++ {
			bucket := c.buf[p.next]
			if v := decide(bucket, p.key, p.mask, p.insert); v != other {
				return p.act(q, v, bucket)
			}
		}
		if c.lost != nil {
			return rma.NoHandle, c.lost
		}
		if (p.number+1)*p.size >= p.t.limit {
			// mark: probe finds no free bucket within its limit
			return p.finish(q, p.t.exhausted(p.insert), 0)
		}
		p.startChunk(q, p.number+1)
	}
}

// act acts on the content of bucket p.next, as read or as returned by a compare-and-swap that
// lost.
func (p *probe) act(q rma.Queue, v verdict, bucket uint64) (rma.Handle, error) {
	switch {
	case v == other:
		p.next++
		return p.search(q)
	case v == vacant:
		return p.store(q)
	case v == absent:
		return p.finish(q, notFound, 0)
	case v == passed:
		return p.finish(q, beyond, 0)
	case p.element == nil:
		return p.finish(q, found, bucket)
	}
	p.bucket, p.done = bucket, 0
	return p.get(q)
}

// piece is the part of a buffer that the next piece of the element takes. Only strings may have
// more than one.
func (p *probe) piece(buf rma.Buf) rma.Buf { return buf[:min(len(buf), len(p.element)-p.done)] }

// get gets the next piece of the element that a bucket refers to, as if it were as long as the one
// searched for.
func (p *probe) get(q rma.Queue) (rma.Handle, error) {
	if err := p.t.arenas.dangling(p.bucket); err != nil {
		return rma.NoHandle, err
	}
	w := p.t.arenas.elements.window
	rank, off := p.t.arenas.locate(Ref(p.bucket & refMask))
	if off+len(p.element) > w.Len() {
		// mark: probe comes to a shorter string at the end of an arena
		return p.act(q, other, p.bucket)
	}
	p.handle, p.phase = q.Get(p.piece(p.there), w, rank, off+p.done), phaseCompare
	return p.handle, nil
}

// compare finds out whether the element that arrived is the one searched for.
func (p *probe) compare(q rma.Queue) (rma.Handle, error) {
	if _, err := q.Value(p.handle); err != nil {
		return rma.NoHandle, err
	}
	piece := p.piece(p.there)
	if !slices.Equal(piece, rma.Buf(p.element[p.done:][:len(piece)])) {
		// mark: probe compares another element of equal fingerprint
		return p.act(q, other, p.bucket)
	}
	if p.done += len(piece); p.done < len(p.element) {
		return p.get(q)
	}
	return p.finish(q, found, p.bucket)
}

// store puts an element into a slot, once for the whole search. Then the bucket is claimed.
func (p *probe) store(q rma.Queue) (rma.Handle, error) {
	if p.element == nil || p.stored {
		return p.claim(q)
	}
	ref, ok, err := p.held.next(len(p.element))
	if err != nil {
		return rma.NoHandle, err
	}
	if !ok { // no arena has room
		return p.finish(q, full, 0)
	}
	p.mine, p.done = ref, 0
	return p.put(q)
}

// put puts the next piece of the element into its slot.
func (p *probe) put(q rma.Queue) (rma.Handle, error) {
	piece := p.piece(p.here)
	copy(piece, p.element[p.done:])
	rank, off := p.t.arenas.locate(p.mine)
	p.handle, p.phase = q.Put(piece, p.t.arenas.elements.window, rank, off+p.done), phaseStore
	p.done += len(piece)
	return p.handle, nil
}

// claim claims the bucket.
func (p *probe) claim(q rma.Queue) (rma.Handle, error) {
	rank, off := p.t.place((p.home + p.number*p.size + uint64(p.next)) % p.t.buckets)
	p.handle = q.CompareAndSwap(p.t.window, rank, off, 0, p.key|uint64(p.mine))
	p.phase = phaseSwap
	return p.handle, nil
}

// endSwap takes the result of a compare-and-swap.
func (p *probe) endSwap(q rma.Queue) (rma.Handle, error) {
	seen, err := q.Value(p.handle)
	switch {
	case err != nil:
		return rma.NoHandle, err
	case seen == 0:
		return p.finish(q, inserted, p.key|uint64(p.mine))
	}
	p.lost++
	q.Stats().Retries++
	// mark: probe loses a compare-and-swap
	return p.act(q, decide(seen, p.key, p.mask, p.insert), seen)
}

// startChunk makes chunk i the one examined. The next one is requested before chunk i is waited
// for (OP 3.3), except where C follows the load: then it is rarely needed.
func (p *probe) startChunk(q rma.Queue, i uint64) {
	p.number, p.next = i, 0
	ahead := p.t.auto == nil
	if i == 0 || !ahead {
		p.request(q, i)
	}
	if ahead && (i+1)*p.size < p.t.limit {
		p.request(q, i+1)
	}
}

// request requests chunk number i, split where it crosses into another owner's
// segment and around the end of the table.
func (p *probe) request(q rma.Queue, i uint64) {
	c := &p.chunks[i%2]
	begin := i * p.size
	c.length = int(min(p.size, p.t.limit-begin))
	c.gets, c.lost, c.posted = c.gets[:0], nil, true
	at := (p.home + begin) % p.t.buckets
	for done := 0; ; {
		rank, off := p.t.place(at)
		n := min(c.length-done, int(p.t.perRank)-off)
		c.gets = append(c.gets, chunkGet{q.Get(c.buf[done:done+n], p.t.window, rank, off), done})
		if done += n; done == c.length {
			return
		}
		// mark: probe requests a chunk in two pieces
		at = (at + uint64(n)) % p.t.buckets
	}
}

// collect takes the results of a chunk's gets, or returns the handle of one that is not done.
func (c *chunkRequest) collect(q rma.Queue) (rma.Handle, error) {
	for len(c.gets) > 0 {
		last := c.gets[len(c.gets)-1]
		if c.posted || !q.Done(last.handle) {
			return last.handle, nil
		}
		if _, err := q.Value(last.handle); ignoreLost(err) != nil {
			return rma.NoHandle, err
		} else if err != nil {
			c.length, c.lost = last.first, err // a search may end before it
		}
		c.gets = c.gets[:len(c.gets)-1]
	}
	return rma.NoHandle, nil
}

// finish ends the search in a table. The chunk after the one examined may still be in flight.
// Only the next search of this machine waits for it.
func (p *probe) finish(q rma.Queue, result end, bucket uint64) (rma.Handle, error) {
	p.examined = min(p.number*p.size+uint64(p.next)+1, p.t.limit)
	if result == beyond {
		switch next, err := p.t.next(p.insert); {
		case err == nil:
			p.before += p.examined
			p.enter(next)
			return p.begin(q)
		case err != errNoMemory:
			return rma.NoHandle, err
		}
		result = nowhere(p.insert)
	}
	if p.sample && (result == inserted || result == notFound) {
		p.t.auto.addSample(min(p.size, p.t.limit), p.taken)
	}
	p.result, p.bucket, p.phase = result, bucket, phaseStart
	return rma.NoHandle, nil
}

const (
	// maxAutoChunk is the largest C that Auto takes: 4 KiB, where tables of load 0.95 end.
	maxAutoChunk = 512

	// A rank samples the first chunk of one in autoInterval searches, and decides by the last
	// two blocks of autoBlock samples.
	autoInterval = 8
	autoBlock    = 64
)

// auto chooses C for the searches of one rank: the C for which round trips times the cost of one is
// least, as gets cost here. A search that waits alone pays for the time of its gets, one of many
// for how long these keep the others from theirs; so each of the two has a C. It estimates the load
// without messages: a search for something that is not in the set begins at every home with the
// same probability, so the share of occupied buckets in its first chunk is the load on average.
type auto struct {
	costs    rma.GetCosts // zero: not known
	plans    [2]*readsize.Plan
	chunks   [2]atomic.Uint64 // C: of many, and alone
	searches atomic.Uint64    // searches begun

	mu       sync.Mutex
	sampled  int     // chunks in this block
	buckets  uint64  // in these
	taken    uint64  // of these
	lastLoad float64 // the load in the block before, less than 0 for none
}

func newAuto() *auto {
	a := &auto{lastLoad: -1}
	for i := range a.chunks {
		a.chunks[i].Store(defaultChunk)
	}
	if err := a.price(rma.GetCosts{}); err != nil {
		panic(err) // LP's machine is one
	}
	return a
}

// price has the plans go by the costs of gets; those of LP's machine where they are zero.
func (a *auto) price(costs rma.GetCosts) error {
	a.costs = costs
	for i, m := range []readsize.Machine{core.InFlight(costs), core.Alone(costs)} {
		var err error
		a.plans[i], err = readsize.NewPlan(readsize.Config{Machine: m, SlotBytes: 8,
			MaxSlots: maxAutoChunk})
		if err != nil {
			return fmt.Errorf("set: gets that cost %+v: %w", costs, err)
		}
	}
	return nil
}

// chunk is the C of a search.
func (a *auto) chunk(alone bool) uint64 {
	if alone {
		return a.chunks[1].Load()
	}
	return a.chunks[0].Load()
}

// sample reports whether a search is one to be sampled.
func (a *auto) sample() bool { return a.searches.Add(1)%autoInterval == 0 }

// addSample adds the first chunk of a search that found nothing: its buckets, and how
// many of them were occupied.
func (a *auto) addSample(buckets, taken uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sampled++
	a.buckets += buckets
	a.taken += taken
	if a.sampled < autoBlock {
		return
	}
	load := float64(a.taken) / float64(a.buckets)
	if a.lastLoad < 0 {
		a.lastLoad = load
	}
	for i, plan := range a.plans {
		a.chunks[i].Store(uint64(plan.Chunk((load + a.lastLoad) / 2)))
	}
	a.lastLoad, a.sampled, a.buckets, a.taken = load, 0, 0, 0
}
