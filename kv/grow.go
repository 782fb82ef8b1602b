package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// shareDivisor sets the limits of this package on shares: one slot or item in so many. A table
// moves because of removed keys only if they have at least this share of its slots.
const shareDivisor = 8

// fastSlots is up to how many slots a table that ranks fill together grows fourfold, not twofold:
// to move takes several times as long as to fill it, and its memory is small.
const fastSlots = 1 << 17

// nextSize is the size of the table that t moves to. Of the given number of slots of t that were
// examined, all or a sample, the given number are of removed keys. ok is false if the next table
// would be as full as this one.
func (m *Map) nextSize(t *table, slots, removed uint64) (size uint64, ok bool) {
	switch {
	case removed > slots/2: // more than half of the next table will be empty
		return t.shape.size(), true
	case 2*t.slots < m.cfg.MaxSlots && t.slots < fastSlots && m.filledTogether(t):
		return t.shape.size() + 2, true
	case t.slots < m.cfg.MaxSlots:
		return t.shape.size() + 1, true
	}
	return t.shape.size(), removed >= max(1, slots/shareDivisor)
}

// changeState changes the state, unless it has changed, and returns what it is then.
func (m *Map) changeState(ctx context.Context, old, to state) (state, error) {
	_, err := m.states.CompareAndSwap(ctx, 0, 0, uint64(old), uint64(to))
	if err != nil {
		return 0, fmt.Errorf("kv: %w", err)
	}
	return m.state(ctx)
}

// takeSlots makes sure that a table has memory, on this rank first.
func (m *Map) takeSlots(t *table) error {
	for i := range m.job.Size() {
		rank := (m.job.Rank() + i) % m.job.Size()
		if m.takeMemory == nil {
			break
		}
		err := m.takeMemory(rank, int(t.offset*t.stride), int(t.perRank*t.stride))
		if err != nil {
			return err
		}
	}
	return nil
}

// begin has the table of a state begin to move to one of a given size, when an area for it is free
// and has memory. It returns the state then; a FullError if there is no memory.
func (m *Map) begin(ctx context.Context, now state, size uint64) (state, error) {
	area, then, err := m.freeArea(ctx, now)
	if err != nil || then != now {
		return then, err
	}
	next := newShape(size, area)
	if err := m.takeSlots(m.table(now.gen()+1, next)); err != nil {
		return now, m.full(false, err)
	}
	return m.changeState(ctx, now, now.begun(next))
}

// beginNext is begin for the size that follows from the slots examined. A table that gets no memory
// to grow moves to one of its size, if that makes room.
func (m *Map) beginNext(ctx context.Context, now state, slots, removed uint64) (state, error) {
	from, _ := m.tables(now)
	size, ok := m.nextSize(from, slots, removed)
	if !ok {
		return now, m.full(false, nil)
	}
	then, err := m.begin(ctx, now, size)
	full := (*FullError)(nil)
	if errors.As(err, &full) && size > from.shape.size() && removed >= max(1, slots/shareDivisor) {
		// mark: a table that gets no memory to grow moves to one of its size
		return m.begin(ctx, now, from.shape.size())
	}
	return then, err
}

// satisfy does what calls need before they can be made, at once for all of them. It returns the
// indices of the calls to be made again; the others have the error.
func (s *session) satisfy(needs []need) []int {
	m, ctx := s.m, context.Background()
	again := []int{} // not nil, which is all
	end := func(call int, err error) {
		if s.calls[call].Err = err; err == nil {
			again = append(again, call)
		}
	}
	var now state
	var parts, waiting []int
	known, whole, new := false, false, 0
	for _, n := range needs {
		switch n.what {
		case needItem:
			end(n.call, s.findItem(ctx, n.class))
			continue
		case needRoom, needMove:
			if s.answering {
				end(n.call, s.m.whyDeclined(n))
				continue
			}
		case needThaw:
			end(n.call, s.thawArrived(ctx, n.table, n.slot, n.word, hashOf(s.calls[n.call].Key)))
			continue
		}
		then, err := now, error(nil)
		if !known {
			then, err = m.state(ctx)
		}
		if err == nil && n.what == needRoom && !then.moving() && then.gen() == n.table.gen {
			then, err = m.beginNext(ctx, then, n.table.slots, n.removed)
		}
		if err == nil {
			now, known = then, true
		}
		if err == nil && n.what == needState && now.gen() <= n.table.gen {
			c := &s.calls[n.call]
			c.decide(0, counter{})
			s.counts.Kinds[c.Kind].Calls++
			continue
		}
		if err != nil || !now.moving() || n.what != needMove && now.gen() != n.table.gen {
			end(n.call, err) // without an error it has moved
			continue
		}
		waiting = append(waiting, n.call)
		switch {
		case n.what == needPart:
			parts = append(parts, m.partAt(n.table, n.slot))
		case n.what == needMove && !n.all && m.isGradual(now):
			new++
		default:
			whole = true
		}
	}
	if len(waiting) > 0 {
		err := s.move(ctx, now, parts, new, whole)
		for _, call := range waiting {
			end(call, err)
		}
	}
	return again
}

// whyDeclined is why a rank that answers a request does not make a call for which a table has to
// move.
func (m *Map) whyDeclined(n need) error {
	if n.what == needRoom {
		if _, ok := m.nextSize(n.table, n.table.slots, n.removed); !ok {
			return m.full(false, nil)
		}
	}
	return errCrowded
}

// move has some parts of a table move, and a share of it for each of some new keys, or the whole.
func (s *session) move(ctx context.Context, now state, parts []int, new int, whole bool) error {
	if whole {
		return s.finishMove(ctx, now)
	}
	if new > 0 {
		if err := s.moveSome(ctx, now, new*partsPerCall); err != nil {
			return err
		}
		s.pay(now.gen() + 1)
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	return s.moveParts(now, len(parts), func() (part int, ok bool) {
		if len(parts) == 0 {
			return 0, false
		}
		part, parts = parts[0], parts[1:]
		return part, true
	})
}

// A large table moves a little at each call that meets it, so that no call takes long. A new key
// comes into the next table before all slots have, if its call has had partsPerCall parts move
// before, and finds a slot near its home. So there is room for the slots that come later.
const (
	gradualSlots = 1 << 16 // smaller tables take a millisecond or two to move
	firstParts   = 64      // that move when a table begins to
	partsPerCall = 4
)

// isGradual reports whether the table of a state moves a little at each call.
func (m *Map) isGradual(now state) bool {
	return m.table(now.gen(), now.shape()).slots >= m.gradualSlots
}

// pay has the calls of a session put new keys into a table while slots still move there.
func (s *session) pay(gen uint64) {
	for i := range s.ops {
		s.ops[i].paid = gen
	}
}

// moveSome has up to n parts of a table move, and ends the move if these are the last ones.
func (s *session) moveSome(ctx context.Context, now state, n int) error {
	from, _ := s.m.tables(now)
	if s.m.partsLeft(from) > n {
		return s.helpMove(now, n)
	}
	return s.finishMove(ctx, now)
}

// finishMove has all slots of a table move, also those that other ranks work on, and ends the
// move in the state.
func (s *session) finishMove(ctx context.Context, now state) error {
	m := s.m
	from, _ := m.tables(now)
	if m.partsLeft(from) > 0 {
		s.ask(now)
	}
	for left := m.partsLeft(from); left > 0; left = m.partsLeft(from) {
		if err := s.helpMove(now, left); err != nil {
			return err
		}
	}
	_, err := m.changeState(ctx, now, now.ended())
	return err
}

// helpMove has up to n parts of a table move.
func (s *session) helpMove(now state, n int) error {
	left := n
	return s.moveParts(now, n, func() (part int, ok bool) {
		if left--; left < 0 {
			return 0, false
		}
		return s.m.moves.claim(now.gen())
	})
}

// crewFactor is up to how many times as many movers work on a table as calls of a batch are in
// flight, where that needs requests. A slot takes four round trips, one after the other, and a call
// of a batch may have to wait for all slots.
const crewFactor = 32

// moverNs is about what a step of a mover takes of a processor. While a get is in flight, getNs /
// moverNs movers can make a step; more would wait for the processor. Over TCP between two hosts on
// one machine 2,048 movers take 2 to 3 times as long as 64.
const moverNs = 5000

// crewFor is how many movers work on a table, at least as many as calls are in flight, where a get
// takes so long. 0 is not known, as where no requests are shipped.
func crewFor(inFlight uint64, getNs int64) uint64 {
	most := crewFactor * inFlight
	if getNs == 0 {
		return most
	}
	return max(inFlight, min(most, uint64(getNs/moverNs)))
}

// moveParts has up to n parts move, which claim returns until ok is false, unless the table has
// moved already.
func (s *session) moveParts(now state, n int, claim func() (part int, ok bool)) error {
	h, ok, err := s.m.hold(context.Background(), now)
	if err != nil {
		return err
	}
	if !ok {
		s.m.moves.drop(now.gen())
		return nil
	}
	if err := s.moveHeld(now, n, claim); err != nil {
		s.held = append(s.held, h) // what is in flight may still change slots
		return err
	}
	return h.release()
}

// moveHeld is moveParts while the areas are held.
func (s *session) moveHeld(now state, n int, claim func() (part int, ok bool)) error {
	m := s.m
	from, into := m.tables(now)
	w := division{m: m, from: from, into: into, left: map[int]int{}}
	direct := directMover{m: m, from: from, into: into, doneWord: movedWord(from.gen, into.shape)}
	w.claim = func() (part int, ok bool) { // parts that direct has left
		for part, ok = claim(); ok && m.batches.Any; part, ok = claim() {
			switch direct.movePart(part) {
			case someLeft:
				return part, true
			case tooLate:
				w.tooLate = true
				return 0, false
			}
			m.moves.finish(from.gen, part)
		}
		return part, ok
	}
	slots := min(uint64(n)*m.partLen(), from.slots)
	movers := uint64(len(s.ops))
	wanted := min(slots, crewFor(movers, m.getNs.Load()))
	if !m.batches.All && wanted > movers {
		if crew, err := m.newSession(int(wanted), into.pieces(m.cfg.Chunk)); err == nil {
			err = crew.moveLanes(&w, slots)
			s.moved.Add(*crew.q.Stats())
			return errors.Join(err, crew.Close(), m.confirmMoved(&w, now))
		} // else there is no room for it
	}
	if err := s.moveLanes(&w, slots); err != nil {
		return err
	}
	return m.confirmMoved(&w, now)
}

// division is parts of a table that are to move. They are divided into lanes, of as many slots as
// give work to all movers.
type division struct {
	m          *Map
	from, into *table
	claim      func() (part int, ok bool)
	lane       uint64      // slots of a lane, or fewer
	part       int         // of which lanes are taken
	at, end    uint64      // the slots in it that no lane has had
	left       map[int]int // lanes of a part that have not moved
	first      error
	tooLate    bool
}

// next has a mover begin with the next lane. It returns false if there is none.
func (w *division) next(v *mover, o *op) bool {
	if w.first != nil || w.tooLate {
		return false
	}
	if w.at == w.end {
		part, ok := w.claim()
		if !ok {
			return false
		}
		w.part, w.at, w.end = part, 0, w.m.slotsOf(w.from, part)
		w.left[part] += int((w.end + w.lane - 1) / w.lane)
	}
	n := min(w.lane, w.end-w.at)
	v.start(o, w.from, w.into, w.part, w.at, n)
	w.at += n
	return true
}

// ended records that a mover has ended: a part has moved when all its lanes have.
func (w *division) ended(v *mover) {
	v.op = nil
	w.tooLate, w.first = w.tooLate || v.tooLate, cmp.Or(w.first, v.dummy.Err)
	if v.tooLate || v.dummy.Err != nil {
		return
	}
	if w.left[v.part]--; w.left[v.part] == 0 {
		w.m.moves.finish(w.from.gen, v.part)
	}
}

// moveLanes has up to so many slots move, by the movers of a session.
func (s *session) moveLanes(w *division, slots uint64) error {
	if s.movers == nil {
		s.movers = make([]mover, len(s.ops))
	}
	w.lane = max(1, min(slots/uint64(len(s.movers)), s.m.partLen()))
	next := func(slot int) rma.Op {
		v := &s.movers[slot]
		if v.op != nil {
			w.ended(v)
		}
		if !w.next(v, &s.ops[slot]) {
			return nil
		}
		return v
	}
	if err := rma.RunAll(context.Background(), s.q, len(s.movers), next); err != nil {
		return err
	}
	return s.settle()
}

// settle waits for the requests of all machines that have ended.
func (s *session) settle() error {
	if err := s.q.Submit(); err != nil {
		return err
	}
	for i := range s.ops {
		o := &s.ops[i]
		for h := o.collect(s.q, &o.unawaited, false); h != rma.NoHandle; h = o.collect(s.q,
			&o.unawaited, false) {
			if err := s.q.Wait(context.Background(), h); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirmMoved returns the first error of movers. If one was too late it finds out why.
func (m *Map) confirmMoved(w *division, now state) error {
	if w.first != nil || !w.tooLate {
		return w.first
	}
	return m.confirmLate(now)
}

// confirmLate is called after a mover was too late, or found no room. It is an error if the table
// has not moved on, as then there was no room.
func (m *Map) confirmLate(was state) error {
	now, err := m.state(context.Background())
	if err != nil {
		return err
	}
	if now == was {
		return fmt.Errorf("kv: table %d has no room for what moves from table %d", was.gen()+1,
			was.gen())
	}
	m.moves.drop(was.gen())
	return nil
}

// maintain does what a batch has found that the table needs: it helps to move it, a part for each
// write that has found it moving or some for each call, or has it begin to move where keys are far
// from home. It drops errors: they occur again, and then fail a call that needs this.
func (s *session) maintain() {
	m, ctx := s.m, context.Background()
	now, err := m.state(ctx)
	if err != nil {
		return
	}
	met, gradual := 0, m.isGradual(now)
	if now.gen() == s.movingGen {
		met = s.met
	}
	switch {
	case s.answering:
		if now.moving() && met > 0 {
			_, _ = s.moveOwn(now, min(met, askedParts))
		}
	case now.moving() && met > 0:
		if gradual {
			met *= partsPerCall
		}
		_ = s.moveSome(ctx, now, met)
	case !now.moving() && s.farHash != 0:
		from, _ := m.tables(now)
		slots, taken, removed, err := s.sample(ctx, from)
		free := slots / shareDivisor
		if s.told {
			free *= 2
		}
		if err != nil || taken < slots-free {
			return
		}
		now, err = m.beginNext(ctx, now, taken, removed)
		switch {
		case err != nil || !now.moving():
		case gradual:
			_ = s.moveSome(ctx, now, firstParts)
		default:
			_ = s.finishMove(ctx, now)
		}
	}
}

// filledTogether reports whether ranks fill the slots of one another, by batches that are shipped,
// of a table that may grow. One that looks at the table only where its own keys are far from home
// then finds it full.
func (m *Map) filledTogether(t *table) bool {
	return !m.batches.All && t.slots < m.cfg.MaxSlots && m.together.Load()
}

// partCalls is how many calls of a batch are made before the table is looked at again. The calls of
// all ranks, and those that they answer, fill a small part of it.
func (m *Map) partCalls() int {
	const least, share = 64, 64
	t := m.latest.Load()
	if !m.filledTogether(t) {
		return callsOfLane
	}
	return int(max(least, min(callsOfLane, t.perRank/share)))
}

// crowdedHash stands in for the hash of a key far from home where nearly all slots of this rank are
// taken.
const crowdedHash = 1

// isCrowded reports whether nearly all slots of this rank are taken, of a table that ranks fill
// together.
func (m *Map) isCrowded() bool {
	t, own := m.latest.Load(), m.batches.Segments.Of(m.job.Rank())
	if own == nil || !m.filledTogether(t) {
		return false
	}
	_, off, n := t.place(uint64(m.job.Rank()) * t.perRank)
	slots, taken := 0, 0
	for at := 0; at < n; at += n/(sampleRuns*sampleSlots) | 1 { // odd, so not of homes alone
		slots++
		if atomic.LoadUint64(&own[off+at*m.stride])&occupied != 0 {
			taken++
		}
	}
	return taken >= slots-slots/shareDivisor
}

const (
	sampleRuns  = 8  // runs of slots in a sample
	sampleSlots = 32 // in each run
)

// sample reads runs of slots that are spread over a table, and counts those that are taken, and
// how many of these have removed keys. It begins where farHash has its home.
func (s *session) sample(ctx context.Context, t *table) (slots, taken, removedOnes uint64,
	err error) {
	m := s.m
	var flights [sampleRuns]rma.Handle
	for i := range flights {
		slot := (s.farHash%t.slots + uint64(i)*(t.slots/sampleRuns)) % t.slots
		rank, off, rest := t.place(slot)
		n, at := min(sampleSlots, rest), int(slots)*m.stride
		flights[i] = s.q.Get(s.chunk[at:at+n*m.stride], m.slots, rank, off)
		slots += uint64(n)
	}
	if err = core.Await(ctx, s.q, flights[:]...); err != nil {
		return 0, 0, 0, err
	}
	for i := range int(slots) {
		word := s.chunk[i*m.stride]
		if word&occupied != 0 {
			taken++
			removedOnes += word / removed & 1
		}
	}
	return slots, taken, removedOnes, nil
}

// sweep finds the items of this rank that no slot refers to and no call holds, and takes them back.
// Their marks were lost, as a rank died that had taken them out of the table. It also counts the
// slots that are taken, and how many of these have removed keys. Other calls may run at the same
// time.
func (m *Map) sweep(ctx context.Context) (found int, taken, removedOnes uint64, err error) {
	lost := m.arena.published()
	taken, removedOnes, _, err = m.count(ctx, func(s slotRead) {
		if it := itemOf(s.word); m.arena.owns(it) {
			lost.remove(it.number-m.arena.first, it.use)
		}
	})
	if err == nil {
		found = m.arena.recover(lost)
	}
	return found, taken, removedOnes, err
}

// findItem finds items that can be used again: items whose mark was lost, and items of removed
// keys, if there are enough for the table to move. That takes long, so that due limits how often it
// is done.
func (s *session) findItem(ctx context.Context, class int) error {
	m := s.m
	full := m.full(true, m.arena.whyNone())
	if has, err := m.arena.hasFree(class); has || err != nil {
		return err
	}
	dead, err := m.ended()
	if err != nil {
		return err
	}
	if some, err := m.arena.collect(class, 0); some || err != nil {
		return err
	}
	gone := m.counts().Kinds[Delete].Calls
	if !m.arena.due(dead, gone) {
		return full
	}
	found, taken, removedOnes, err := m.sweep(ctx)
	if err != nil || found > 0 {
		return err
	}
	if has, err := m.arena.hasFree(class); has || err != nil {
		return err
	}
	if removedOnes < max(1, taken/shareDivisor) {
		m.arena.sweptNothing(dead, gone, taken)
		return full
	}
	now, err := m.state(ctx)
	if err == nil && !now.moving() {
		now, err = m.begin(ctx, now, now.shape().size())
	}
	if slots := (*FullError)(nil); errors.As(err, &slots) { // for a table of the same size
		full.Memory = errors.Join(full.Memory, slots.Memory)
		return full
	}
	if err != nil || !now.moving() {
		return err
	}
	if s.answering { // who has sent the call has the table move
		return errCrowded
	}
	return s.finishMove(ctx, now)
}

// ended is how many ranks have died, or members of a shared map have ended whose items a sweep can
// find.
func (m *Map) ended() (int, error) {
	if m.shared != nil {
		return m.arena.adopt(m.adoptFrom)
	}
	return len(m.job.Failed()), nil
}

// progress is which parts of a table this rank knows to have moved.
type progress struct {
	mu     sync.Mutex
	gen    uint64
	done   []bool
	left   int // parts not done
	cursor int // the next one to be taken up
	// ownNext is the next one of this rank's parts, counted from its first, to be taken up where
	// ranks move their own.
	ownNext int
}

// begin prepares for a table of some parts, unless it is the present one, and returns how many
// parts are left. Each of the ranks begins at another part.
func (p *progress) begin(gen uint64, parts, rank, ranks int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen < gen {
		p.gen, p.done, p.left, p.cursor = gen, make([]bool, parts), parts, parts*rank/ranks
		p.ownNext = 0
	} else if p.gen > gen {
		return 0
	}
	return p.left
}

// claim returns a part to be moved, ok false if all are done. Others may be moving the same part.
func (p *progress) claim(gen uint64) (part int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen != gen || p.left == 0 {
		return 0, false
	}
	for ; ; p.cursor++ {
		if p.cursor >= len(p.done) {
			p.cursor = 0
		}
		if !p.done[p.cursor] {
			p.cursor++
			return p.cursor - 1, true
		}
	}
}

// finish records that a part is done.
func (p *progress) finish(gen uint64, part int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen == gen && p.left > 0 && !p.done[part] {
		p.done[part] = true
		p.left--
	}
}

// drop records that all of a table has moved.
func (p *progress) drop(gen uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen == gen {
		p.left = 0
	}
}

// maxPartSlots is how many slots a part of a table has, or fewer with short chunks.
const maxPartSlots = 64

// partLen is how many slots a part has.
func (m *Map) partLen() uint64 { return uint64(min(maxPartSlots, laterChunkFactor*m.cfg.Chunk)) }

// slotsOf is how many slots a part of a table has.
func (m *Map) slotsOf(t *table, part int) uint64 {
	return min(m.partLen(), t.perRank-uint64(part)%t.parts*m.partLen())
}

// partAt is the part that a slot belongs to.
func (m *Map) partAt(t *table, slot uint64) int {
	return int(slot/t.perRank*t.parts + slot%t.perRank/m.partLen())
}

// partsLeft is how many parts of a table are left to move, as far as this rank knows. No part has
// slots of two ranks.
func (m *Map) partsLeft(t *table) int {
	return m.moves.begin(t.gen, int(t.parts*m.ranks), m.job.Rank(), m.job.Size())
}
