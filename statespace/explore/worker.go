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
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// worker is the rank that expands states. One goroutine changes it, but for what gather changes:
// that may run in a goroutine of its own while successors are inserted.
type worker struct {
	*search
	buffers
	batch
	lists
	tally

	level      uint64         // the level that this rank is at
	parity     int            // of level
	generation uint64         // how many commands to save this rank has obeyed
	overflow   *OverflowError // why this rank stops, if a state does not fit
	saved      time.Time      // when the last checkpoint was written, or the search began
	moved      uint64         // cellTables when this rank, without work, looked last
	walks      walks
	named      *named // nil: actions are not counted
}

// batch is the states that a rank expands together, and their successors. Gather changes recent,
// found and one of successors; the rest changes while nothing is gathered.
type batch struct {
	todo    block    // the tasks of the states, which are a block or several
	states  []uint64 // the states, packed
	given   int      // how many states there are
	at      int      // the successors of the states before this one are in the set
	counted int      // the states before this one are counted as done

	gathered [2]successors // with two batches, one is inserted while the other is gathered
	recent   recent
	found    findings     // what the states have shown whose successors are gathered
	results  []set.Result // what the set says of the successors that are inserted
	names    []uint64     // the names of these successors
}

// lists are what a rank has in memory beside the set.
type lists struct {
	pool    pool
	now     frontier // the states that wait for the present level
	next    frontier // the states that wait for the level after it
	log     *levelLog
	longest int    // the most words that a batch of successors has had so far
	heap    uint64 // the most bytes of frontiers and log so far
}

// tally is what a rank has counted; publish tells it to the others.
type tally struct {
	created   [2]uint64 // states, by the parity of their level
	done      [2]uint64 // states, by the parity of their level
	arcs      uint64
	dead      uint64
	noted     []uint64 // the findings of states whose successors are in the set
	published []uint64 // the findings as the others read them
}

// successors are those of some of the states that are expanded.
type successors struct {
	batch      []uint64 // the successors that go into the set
	origin              // where these come from
	taken      []uint32 // the actions that led to all successors, if actions are counted
	end        int      // all are successors of states before this one
	arcs, dead uint64
	deadlocked int       // the first of the dead states
	fresh      []witness // of findings
	findings   []uint64  // after these states
	err        error
}

func newWorker(s *search) *worker {
	w := &worker{search: s, saved: s.started, buffers: buffersFor(ships(s.visited.access()),
		s.job.Size(), s.words)}
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
	w.found = newFindings(s.live)
	w.noted, w.published = make([]uint64, s.findings), make([]uint64, s.findings)
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
func ships(c rma.AccessChoice) bool { return c != (rma.AccessChoice{}) && c.MinBatch < math.MaxInt }

// loop expands states until all ranks are done or stop.
func (w *worker) loop(ctx, uncancelled context.Context) error {
	err := w.begin(ctx, uncancelled)
	if err != nil && w.opts.Resume != "" && ignoreLost(err) != nil {
		return err // of a checkpoint, and on every rank
	}
	pace := backoff.Backoff{Job: w.job}
	for err == nil {
		// Step 1: The rank does what all ranks do together: they write a checkpoint, or stop.
		if err = w.obey(ctx, uncancelled); err != nil {
			break
		}

		// Step 2: It takes the oldest block of its own list. Of the others it leaves some for
		// ranks without work, and takes at most half, because ranks may want the rest.
		b := w.now.pop()
		worked := b != nil
		if worked {
			if err = w.offer(uncancelled); err != nil {
				break
			}
			for more := min(w.blocks-1, len(w.now.blocks)/2); b != nil; more-- {
				w.todo = append(w.todo, b...)
				w.pool.put(b)
				if b = nil; more > 0 {
					b = w.now.pop()
				}
			}
		} else if worked, err = w.exchange.claim(uncancelled, &w.todo); worked && err == nil {
			// It has none, and takes what a rank has left. A block that waits holds its level
			// open, so this is the block's level.
			err = w.seeLevel(uncancelled)
		}

		// Step 3: It expands the states. If there are none, it sees whether the level is over.
		switch {
		case err != nil:
		case worked:
			err = w.expand(uncancelled)
		default:
			worked, err = w.wait(uncancelled)
		}

		// Step 4: It walks at random, if walks are due. If there was no work, it pauses.
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

// expand finds the successors of the states to be expanded, and inserts them batch by batch.
func (w *worker) expand(ctx context.Context) error {
	to, parity := &w.next, 1-w.parity // of new states
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

		// Step 1: A batch of successors is inserted. The next one is gathered at the same time
		// if there are two, else afterwards in the same memory.
		var ahead sync.WaitGroup
		end := now.end
		more := end < w.given
		if more && w.batches > 1 {
			ahead.Go(func() { w.gather(next, end) })
		}
		w.longest = max(w.longest, cap(now.batch))
		err := w.insert(ctx, now.batch, now.origin, to, parity)
		ahead.Wait()
		if err != nil {
			return err
		}

		// Step 2: The states count, because their successors are in the set. The ranks are told
		// what the states have shown first.
		w.at = end
		w.arcs += now.arcs
		if w.named != nil {
			w.named.arcs(now.taken)
		}
		copy(w.noted, now.findings)
		if w.dead == 0 && now.dead > 0 {
			now.fresh = append(now.fresh, witness{finding: Deadlock, name: w.name(now.deadlocked)})
		}
		w.dead += now.dead
		if len(now.fresh) > 0 {
			if err := w.announce(ctx, now.fresh); err != nil {
				return err
			}
		}

		// Step 3: Between two states, with nothing in flight, is the moment for a checkpoint.
		// States whose successors have only been gathered still wait.
		if err := w.checkpointDue(ctx); err != nil {
			return err
		}
		if more && w.batches == 1 {
			w.gather(next, end)
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

// gather has the model expand the states to be expanded, from one on, until the batch of successors
// is full or none is left. It may run beside everything but itself.
func (w *worker) gather(g *successors, from int) {
	*g = successors{batch: g.batch[:0], origin: origin{g.from[:0], g.actions[:0]},
		taken: g.taken[:0], fresh: g.fresh[:0], findings: g.findings, end: from}
	g.err = w.gatherInto(g)
}

func (w *worker) gatherInto(g *successors) (err error) {
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
		g.arcs += uint64((len(out) - given) / words)
		if len(out) == given { // a deadlock
			if g.dead++; g.dead == 1 {
				g.deadlocked = g.end
			}
		}
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
func (w *worker) take(g *successors, out []uint64, last uint64) error {
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

// name names state i of those that are being expanded.
func (w *worker) name(i int) uint64 {
	if w.fingerprints() {
		return fingerprint(w.states[i*w.words:][:w.words])
	}
	return w.todo[i]
}

// insert puts states into the set; what is new goes to a frontier. States that find no room are
// tried again, unless all ranks stop.
func (w *worker) insert(ctx context.Context, states []uint64, all origin, to *frontier,
	parity int) error {
	words, taskWords := w.words, w.taskWords
	for len(states) > 0 {
		n := min(len(states)/words, len(w.results))
		piece := states[:n*words]
		o, rest := all.cut(n)
		states, all = states[n*words:], rest
		for len(piece) > 0 {
			n := len(piece) / words
			results, names := w.results[:n], w.names[:n]
			err := w.visited.insert(piece, results, names)
			var full *set.FullError
			if err != nil && !errors.As(err, &full) {
				return err
			}
			tasks := names
			if w.fingerprints() {
				tasks = piece
			}
			left := 0 // states that found no room
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
					copy(piece[left*words:(left+1)*words], piece[i*words:])
					o.move(left, i)
					left++
				}
			}
			piece = piece[:left*words]
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
	}
	return nil
}
