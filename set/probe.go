package set

import "github.com/farhash/farhash/rma"

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
type probe struct {
	t     *table
	match matcher // nil for words: a bucket with the same word matches

	key    uint64 // a bucket may hold what is searched for if it equals key
	mask   uint64 // in these bits
	offer  uint64 // the word to put into an empty bucket
	home   uint64
	insert bool // false: an empty bucket ends the search

	chunks    [2]chunkRequest
	size      uint64 // C of this search
	requested uint64 // chunks requested
	number    uint64 // of the chunk examined
	next      int    // bucket in it to examine
	sample    bool   // report the load of the first chunk to auto
	taken     uint64 // occupied buckets in it
	phase     phase
	swap      rma.Handle

	result   Result
	bucket   uint64 // content of the bucket that ended the search
	examined uint64 // buckets examined
	lost     uint64 // compare-and-swaps lost
}

type phase int

const (
	phaseStart phase = iota
	phaseChunk
	phaseSwap
	phaseMatch
	phaseStore
)

// matcher is what elements add to the protocol: a bucket with the right
// fingerprint must be compared, and an element must lie in an arena before a
// bucket refers to it.
type matcher interface {
	// stepCompare returns NoHandle and the answer when the element in bucket has
	// been compared, or the handle to wait for.
	stepCompare(q rma.Queue, bucket uint64) (rma.Handle, bool, error)
	// stepStore returns NoHandle and the bucket word to offer once the element
	// is stored, or the handle to wait for.
	stepStore(q rma.Queue) (rma.Handle, uint64, error)
}

// chunkRequest is one chunk, in flight or arrived: a get for each owner.
type chunkRequest struct {
	buf     rma.Buf
	length  int
	handles []rma.Handle
	posted  bool // by this step, so that it is not submitted yet
}

// start readies the machine for a search. Buffers are kept.
func (p *probe) start(t *table, match matcher, hash, key, mask uint64, insert bool) {
	p.t, p.match, p.key, p.mask, p.insert = t, match, key, mask, insert
	p.offer = key
	p.home = t.home(hash)
	p.number, p.next, p.requested, p.phase = 0, 0, 0, phaseStart
	p.size, p.sample = t.chunk, false
	if t.auto != nil {
		p.size, p.sample = min(t.auto.chunk.Load(), t.chunk), t.auto.sample()
	}
	p.result, p.bucket, p.examined, p.lost = NotFound, 0, 0, 0
}

// Step is one step of the protocol.
func (p *probe) Step(q rma.Queue) (rma.Handle, error) {
	p.chunks[0].posted, p.chunks[1].posted = false, false
	if p.phase == phaseStart {
		if h, err := p.collectUnneeded(q); h != rma.NoHandle || err != nil {
			return h, err
		}
		p.startChunk(q, 0)
	}
	for {
		h, err := p.advance(q)
		if err != nil || h != rma.NoHandle || p.phase == phaseStart {
			return h, err
		}
	}
}

// collectUnneeded waits for the chunk that the search before this one requested and
// did not need: its buffer is free only when it has arrived.
func (p *probe) collectUnneeded(q rma.Queue) (rma.Handle, error) {
	for i := range p.chunks {
		if h, err := p.chunks[i].collect(q); h != rma.NoHandle || err != nil {
			unneededChunk.Hit()
			return h, err
		}
	}
	return rma.NoHandle, nil
}

// advance carries out the current phase. It returns a handle to wait for, or
// NoHandle when there is more to do at once or the search has ended.
func (p *probe) advance(q rma.Queue) (rma.Handle, error) {
	switch p.phase {
	case phaseChunk:
		c := &p.chunks[p.number%2]
		if h, err := c.collect(q); h != rma.NoHandle || err != nil {
			return h, err
		}
		if p.sample && p.number == 0 && p.next == 0 {
			p.taken = occupiedIn(c.buf[:c.length])
		}
		return p.examine(q)
	case phaseSwap:
		if !q.Done(p.swap) {
			return p.swap, nil
		}
		if tooEarly.On() && p.match != nil { // written at the same time
			if h, _, err := p.match.stepStore(q); h != rma.NoHandle || err != nil {
				return h, err
			}
		}
		seen, err := q.Value(p.swap)
		if err != nil {
			return rma.NoHandle, err
		}
		if seen == 0 {
			return p.finish(Inserted, p.offer)
		}
		return p.loseSwap(q, seen)
	case phaseMatch:
		return p.compare(q, p.bucket)
	default:
		return p.store(q)
	}
}

// loseSwap goes on after a compare-and-swap that lost to seen.
func (p *probe) loseSwap(q rma.Queue, seen uint64) (rma.Handle, error) {
	p.lost++
	q.Stats().Retries++
	if seen&p.mask == p.key {
		lostToEqual.Hit()
	} else {
		lostToOther.Hit()
	}
	switch {
	case ignoresWinner.On():
		return p.nextBucket()
	case trustsWinner.On():
		return p.finish(Found, seen)
	}
	return p.consider(q, seen)
}

// request requests chunk number i, split where it crosses into another owner's
// segment and around the end of the table.
func (p *probe) request(q rma.Queue, i uint64) {
	c := &p.chunks[i%2]
	begin := i * p.size
	c.length = int(min(p.size, p.t.limit-begin))
	c.handles, c.posted = c.handles[:0], true
	if endsAtEnd.On() {
		c.length = min(c.length, max(0, int(p.t.buckets)-int(p.home+begin)))
	}
	at := (p.home + begin) % p.t.buckets
	for done := 0; done < c.length; {
		rank, off := p.t.place(at)
		n := min(c.length-done, int(p.t.perRank)-off)
		c.handles = append(c.handles, q.Get(c.buf[done:done+n], p.t.window, rank, off))
		done += n
		at = (at + uint64(n)) % p.t.buckets
		if done < c.length && at == 0 {
			chunkWraps.Hit()
		} else if done < c.length {
			chunkSplits.Hit()
		}
	}
}

// startChunk makes chunk i the one examined. It requests chunk i and the next one before
// chunk i is waited for (OP 3.3). With Auto the next one is rarely needed and not requested.
func (p *probe) startChunk(q rma.Queue, i uint64) {
	p.number, p.next, p.phase = i, 0, phaseChunk
	last := i + 1
	if p.t.auto != nil {
		last = i
	}
	for ; p.requested <= last && p.requested*p.size < p.t.limit; p.requested++ {
		p.request(q, p.requested)
	}
}

// occupiedIn counts the occupied buckets.
func occupiedIn(buckets []uint64) uint64 {
	n := uint64(0)
	for _, bucket := range buckets {
		n += bucket >> 63
	}
	return n
}

// collect takes the results of a chunk's gets, or returns the handle of one that is not done.
func (c *chunkRequest) collect(q rma.Queue) (rma.Handle, error) {
	for len(c.handles) > 0 {
		last := c.handles[len(c.handles)-1]
		if c.posted || !q.Done(last) {
			return last, nil
		}
		if _, err := q.Value(last); err != nil {
			return rma.NoHandle, err
		}
		c.handles = c.handles[:len(c.handles)-1]
	}
	return rma.NoHandle, nil
}

// examine examines the present chunk from p.next on.
func (p *probe) examine(q rma.Queue) (rma.Handle, error) {
	c := &p.chunks[p.number%2]
	if trustsLine.On() {
		p.trustLine(c)
	}
	for p.next < c.length {
		bucket := c.buf[p.next]
		if decide(bucket, p.key, p.mask, p.insert) != other {
			return p.consider(q, bucket)
		}
		p.next++
	}
	if (p.number+1)*p.size >= p.t.limit {
		if p.insert {
			noFreeBucket.Hit()
		}
		return p.finish(exhausted(p.insert), 0)
	}
	p.startChunk(q, p.number+1)
	return rma.NoHandle, nil
}

// consider decides on the content of bucket p.next, as read or as returned by a
// compare-and-swap that lost.
func (p *probe) consider(q rma.Queue, bucket uint64) (rma.Handle, error) {
	switch decide(bucket, p.key, p.mask, p.insert) {
	case other:
		return p.nextBucket()
	case vacant:
		return p.store(q)
	case absent:
		return p.finish(NotFound, 0)
	}
	if p.match == nil || uncompared.On() {
		return p.finish(Found, bucket)
	}
	p.bucket, p.phase = bucket, phaseMatch
	return p.compare(q, bucket)
}

// nextBucket goes on to the next bucket of the chunk.
func (p *probe) nextBucket() (rma.Handle, error) {
	p.next++
	p.phase = phaseChunk
	return rma.NoHandle, nil
}

// compare finds out whether the element that a bucket refers to is the one searched for.
func (p *probe) compare(q rma.Queue, bucket uint64) (rma.Handle, error) {
	h, same, err := p.match.stepCompare(q, bucket)
	switch {
	case h != rma.NoHandle || err != nil:
		return h, err
	case same:
		return p.finish(Found, bucket)
	}
	fingerprintCollision.Hit()
	return p.nextBucket()
}

// store makes sure that the element lies in an arena, then claims the bucket.
func (p *probe) store(q rma.Queue) (rma.Handle, error) {
	if p.match != nil {
		p.phase = phaseStore
		h, offer, err := p.match.stepStore(q)
		if h != rma.NoHandle || err != nil {
			return h, err
		}
		if offer == 0 { // no arena has room
			return p.finish(Full, 0)
		}
		p.offer = offer
	}
	rank, off := p.t.place((p.home + p.number*p.size + uint64(p.next)) % p.t.buckets)
	p.swap = q.CompareAndSwap(p.t.window, rank, off, 0, p.offer)
	p.phase = phaseSwap
	return p.swap, nil
}

// finish ends the search. The chunk behind the one examined may still be in flight.
// Only the next search of this machine waits for it.
func (p *probe) finish(result Result, bucket uint64) (rma.Handle, error) {
	p.examined = min(p.number*p.size+uint64(p.next)+1, p.t.limit)
	if p.sample && (result == Inserted || result == NotFound) {
		p.t.auto.addSample(min(p.size, p.t.limit), p.taken)
	}
	p.result, p.bucket, p.phase = result, bucket, phaseStart
	return rma.NoHandle, nil
}
