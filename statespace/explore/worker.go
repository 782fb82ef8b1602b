package explore

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/ship"
)

// worker is the rank that expands states.
type worker struct {
	*search
	pool       pool
	now, next  frontier // of the present level and of the one after it
	level      uint64
	parity     int
	generation uint64 // commands to save obeyed so far
	overflow   *OverflowError
	log        *levelLog
	saved      time.Time // of the last checkpoint, or the start

	todo    block // tasks that are being expanded: of a block, or of several
	given   int   // how many they are
	at      int   // the successors of those before this one are in the set
	counted int   // and those before this one counted as done

	buffers
	states   []uint64 // of todo
	recent   recent
	gathered [2]gathered // one is inserted, while the other is gathered if there are two
	results  []set.Result
	names    []uint64

	created   [2]uint64
	done      [2]uint64
	arcs      uint64
	dead      uint64
	found     findings // of the states gathered
	shown     []uint64 // findings of those whose successors are in the set
	published []uint64 // findings as the others read them
	longest   int      // words of a batch so far
	heap      uint64   // most bytes of frontier and log so far
	moved     uint64   // cellTables when this rank, without work, looked last
	walks     walks
	named     *named // nil: actions are not counted
}

func newWorker(s *search) *worker {
	w := &worker{search: s, saved: s.started, buffers: buffersFor(ships(s.visited.access()),
		s.job.Size(), s.words),
		found: newFindings(s.live), shown: make([]uint64, s.findings),
		published: make([]uint64, s.findings)}
	tasks := max(w.blocks, s.exchange.blocks) * blockTasks
	w.todo = make(block, 0, tasks*s.taskWords)
	w.states = make([]uint64, tasks*s.words)
	w.recent = newRecent(w.remembered, s.initial[:s.words])
	for i := range w.gathered[:w.batches] {
		w.gathered[i].batch = make([]uint64, 0, (w.full+s.spare)*s.words)
		w.gathered[i].findings = make([]uint64, s.findings)
	}
	w.results = make([]set.Result, insertBatches*w.full)
	w.names = make([]uint64, insertBatches*w.full)
	w.walks = s.newWalks()
	w.nameActions()
	w.pool.taskWords = s.taskWords
	w.now.pool, w.next.pool = &w.pool, &w.pool
	if s.logs() {
		w.log = newLevelLog()
	}
	return w
}

// ships reports whether batches of some length are shipped.
func ships(c ship.Choice) bool { return c != (ship.Choice{}) && c.MinBatch < math.MaxInt }

// loop expands states until all ranks are done or stop.
func (w *worker) loop(ctx, uncancelled context.Context) error {
	err := w.begin(ctx, uncancelled)
	if err != nil && w.opts.Resume != "" && ignoreLost(err) != nil {
		return err // of a checkpoint, and on every rank
	}
	pace := backoff.Backoff{Job: w.job}
	for err == nil {
		var worked bool
		if err = w.obey(ctx, uncancelled); err != nil {
			break
		}
		worked, err = w.work(uncancelled)
		if err == nil && !worked {
			worked, err = w.wait(uncancelled)
		}
		if err == nil {
			err = w.walk(uncancelled)
		}
		if worked {
			pace.Reset()
		} else if err == nil && pace.Pause() {
			err = w.idle(uncancelled)
		}
	}
	if errors.Is(err, errStopped) {
		return w.publish(uncancelled)
	}
	return w.fail(uncancelled, err)
}

// begin has rank 0 insert the initial states, or continues with a checkpoint.
func (w *worker) begin(ctx, uncancelled context.Context) error {
	if w.opts.Resume != "" {
		return w.resume(ctx, uncancelled)
	}
	if w.job.Rank() == 0 {
		err := w.insert(uncancelled, slices.Clone(w.initial), origin{}, &w.now, 0)
		if err != nil {
			return err
		}
		if err := w.publish(uncancelled); err != nil {
			return err
		}
	}
	return w.job.Barrier(uncancelled)
}

// work expands blocks, from this rank's list or from an exchange.
func (w *worker) work(ctx context.Context) (bool, error) {
	b := w.now.pop()
	if b == nil {
		ok, err := w.exchange.claim(ctx, &w.todo)
		if err != nil || !ok {
			return false, err
		}
		// A block that waits holds its level open, so this is the block's level.
		if err := w.seeLevel(ctx); err != nil {
			return false, err
		}
		return true, w.expand(ctx)
	}
	if err := w.offer(ctx); err != nil {
		return false, err
	}
	w.begun(b)
	for n := min(w.blocks-1, len(w.now.blocks)/2); n > 0; n-- { // others may want the rest
		w.begun(w.now.pop())
	}
	return true, w.expand(ctx)
}

// begun has the tasks of a block expanded next.
func (w *worker) begun(b block) {
	w.todo = append(w.todo, b...)
	w.pool.put(b)
}

// offer leaves blocks for others when there are more than enough.
func (w *worker) offer(ctx context.Context) error {
	for w.job.Size() > 1 && len(w.now.blocks) >= 2 {
		slot, ok, err := w.exchange.wanted(ctx)
		if err != nil || !ok {
			return err
		}
		n := min(w.exchange.blocks, len(w.now.blocks)/2)
		if err := w.exchange.offer(ctx, slot, w.now.blocks[:n]...); err != nil {
			return err
		}
		for range n {
			w.pool.put(w.now.pop())
		}
	}
	return nil
}

// gathered is the successors of some of the states to be expanded.
type gathered struct {
	batch      []uint64 // those that go into the set
	origin              // of each
	taken      []uint32 // the actions that led to all, where they are counted
	end        int      // they are of states before this one
	arcs, dead uint64
	deadlocked int       // the first of dead
	fresh      []witness // of findings
	findings   []uint64  // after these states
	err        error
}

// expand finds the successors of the states to be expanded, and inserts them batch by batch.
func (w *worker) expand(ctx context.Context) error {
	to, parity := &w.next, 1-w.parity
	if w.opts.Order == AnyOrder {
		to, parity = &w.now, w.parity
	}
	w.given = len(w.todo) / w.taskWords
	if err := w.visited.load(ctx, w.todo, w.states[:w.given*w.words]); err != nil {
		return err
	}
	now, next := &w.gathered[0], &w.gathered[w.batches-1]
	for w.gather(now, 0); w.at < w.given; now, next = next, now {
		if now.err != nil {
			return now.err
		}
		if err := w.settleAndGather(ctx, now, next, to, parity); err != nil {
			return err
		}
	}
	w.countDone()
	// After a failure they stay: the others may be about to write a checkpoint.
	w.todo, w.given, w.at, w.counted = w.todo[:0], 0, 0, 0
	if err := w.publish(ctx); err != nil || w.opts.MaxStates == 0 {
		return err
	}
	states, err := w.control.states(ctx)
	if err != nil || states < w.opts.MaxStates {
		return err
	}
	return w.stopAll(ctx, stopLimit)
}

// settleAndGather inserts the successors of some states, and gathers the next ones: at the
// same time if there are two batches, else afterwards in the same one.
func (w *worker) settleAndGather(ctx context.Context, now, next *gathered, to *frontier,
	parity int) error {
	end := now.end
	if end == w.given {
		return w.settle(ctx, now, to, parity)
	}
	if w.batches == 1 {
		err := w.settle(ctx, now, to, parity)
		if err == nil {
			w.gather(next, end)
		}
		return err
	}
	var ahead sync.WaitGroup
	ahead.Go(func() { w.gather(next, end) })
	err := w.settle(ctx, now, to, parity)
	ahead.Wait()
	return err
}

// settle inserts successors. Then, between two states, with nothing in flight, is the moment for a
// checkpoint: states whose successors have only been gathered still wait.
func (w *worker) settle(ctx context.Context, g *gathered, to *frontier, parity int) error {
	w.longest = max(w.longest, cap(g.batch))
	if err := w.insert(ctx, g.batch, g.origin, to, parity); err != nil {
		return err
	}
	w.at = g.end
	w.arcs += g.arcs
	if w.named != nil {
		w.named.arcs(g.taken)
	}
	copy(w.shown, g.findings)
	if w.dead == 0 && g.dead > 0 {
		g.fresh = append(g.fresh, witness{finding: Deadlock,
			name: w.name(g.deadlocked)})
	}
	w.dead += g.dead
	if len(g.fresh) > 0 {
		if err := w.announce(ctx, g.fresh); err != nil {
			return err
		}
	}
	return w.checkpointDue(ctx)
}

// gather has the model expand the states to be expanded, from one on, until the batch of successors
// is full or none is left. It may run beside everything but itself.
func (w *worker) gather(g *gathered, from int) {
	*g = gathered{batch: g.batch[:0], origin: origin{g.from[:0], g.actions[:0]},
		taken: g.taken[:0], fresh: g.fresh[:0], findings: g.findings, end: from}
	g.err = w.gatherInto(g)
}

func (w *worker) gatherInto(g *gathered) (err error) {
	defer w.recoverPanic(&err)
	for words := w.words; g.end < w.given && len(g.batch) < w.full*words; g.end++ {
		// Capped: a model that appends to a state must not reach the next one.
		state := w.states[g.end*words : (g.end+1)*words : (g.end+1)*words]
		given, last := len(g.batch), uint64(0)
		if given > 0 {
			last = g.batch[given-1]
		}
		out, err := w.expander.Expand(state, g.batch)
		if err != nil {
			return err
		}
		if words == 1 && len(out) >= given && given > 0 && out[given-1] == last &&
			unsafe.SliceData(out) == unsafe.SliceData(g.batch) {
			g.batch = out // as nearly always
		} else if err := w.take(g, out, last); err != nil {
			return err
		}
		g.count((len(out) - given) / words)
		if w.expander.Found() != w.found.n {
			g.fresh = w.found.look(g.fresh, w.name(g.end))
		}
		if w.named == nil {
			g.batch = w.recent.drop(g.batch, given)
		} else if err := w.dropNamed(g, given); err != nil {
			return err
		}
		if w.log != nil && w.fingerprints() {
			for name := w.name(g.end); len(g.from) < len(g.batch)/words; {
				g.from = append(g.from, name)
			}
		}
	}
	if i := w.tooWide(g.batch); i >= 0 {
		return w.broken(breachWide, "%#x, and StateBits is %d", g.batch[i], w.bits)
	}
	if i := w.found.fell(); i >= 0 {
		return w.broken(breachFindings, "finding %d is %d after %d", i, w.found.live[i],
			w.found.last[i])
	}
	copy(g.findings, w.found.live)
	return nil
}

// take makes what Expand has returned the batch, whose last word was last.
func (w *worker) take(g *gathered, out []uint64, last uint64) error {
	given := len(g.batch)
	switch {
	case len(out) < given:
		return w.broken(breachShorter, "%s of %d; append to out and return all of it",
			plural.Of(len(out), "word"), given)
	case w.words > 1 && (len(out)-given)%w.words != 0:
		return w.broken(breachPart, "it appended %s; a state has %d",
			plural.Of(len(out)-given, "word"), w.words)
	case given > 0 && out[given-1] != last,
		unsafe.SliceData(out) != unsafe.SliceData(g.batch) && !slices.Equal(out[:given], g.batch):
		return w.broken(breachChanged, "out does not begin any more with what it had; append to "+
			"out and return all of it")
	case unsafe.SliceData(out) != unsafe.SliceData(g.batch):
		// The memory may be the model's, which may use it again.
		g.batch = append(g.batch, out[given:]...)
	default:
		g.batch = out
	}
	return nil
}

// count counts the successors of a state. One without any is a deadlock.
func (g *gathered) count(successors int) {
	g.arcs += uint64(successors)
	if successors == 0 {
		if g.dead == 0 {
			g.deadlocked = g.end
		}
		g.dead++
	}
}

// name names state i of those that are being expanded.
func (w *worker) name(i int) uint64 {
	if w.fingerprints() {
		return fingerprint(w.states[i*w.words:][:w.words])
	}
	return w.todo[i]
}

// insert puts states into the set; what is new goes to a frontier.
func (w *worker) insert(ctx context.Context, states []uint64, o origin, to *frontier,
	parity int) error {
	for len(states) > 0 {
		n := min(len(states)/w.words, len(w.results))
		first, rest := o.cut(n)
		if err := w.insertPiece(ctx, states[:n*w.words], first, to, parity); err != nil {
			return err
		}
		states, o = states[n*w.words:], rest
	}
	return nil
}

// insertPiece inserts at most insertBatches batches of states.
func (w *worker) insertPiece(ctx context.Context, states []uint64, o origin, to *frontier,
	parity int) error {
	words, taskWords := w.words, w.taskWords
	for len(states) > 0 {
		n := len(states) / words
		results, names := w.results[:n], w.names[:n]
		err := w.visited.insert(states, results, names)
		var full *set.FullError
		if err != nil && !errors.As(err, &full) {
			return err
		}
		tasks := names
		if w.fingerprints() {
			tasks = states
		}
		left := 0 // states that found no room are tried again
		for i, r := range results {
			switch r {
			case set.Inserted:
				to.push(tasks[i*taskWords : (i+1)*taskWords])
				if len(o.from) > 0 {
					w.log.follow(o.from[i])
				}
				if len(o.actions) > 0 {
					w.named.count(o.actions[i]).States++
				}
				w.log.add(names[i])
				w.created[parity]++
			case set.Full:
				copy(states[left*words:(left+1)*words], states[i*words:])
				o.move(left, i)
				left++
			}
		}
		states = states[:left*words]
		if err := w.accountHeap(ctx); err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if full.Memory != nil && full.Memory != set.ErrMayGrow {
			w.refused = full.Memory
		}
		if err := w.endFull(ctx); err != nil {
			return err
		}
	}
	return nil
}
