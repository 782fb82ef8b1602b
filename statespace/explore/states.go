package explore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// States are the states that a complete search has stored, for Options.After. Each has some words,
// which begin at 0. A rank changes the words of the states that it has logged, in sweeps, by what
// the words of their successors are.
type States struct {
	sweeper
	numbering
	wordWindow
	swept    *Swept
	arcs     *arcs
	again    bool // the sweep visits states again when the words of successors change
	followed bool // whether ranks have tried to tell each other what they change

	at     Visit    // the visit that a visitor is given
	places []uint64 // the numbers of the states at hand
	own    []uint64 // the words of the states at hand
	next   []uint64 // the words of successors
}

// numbering gives the names of states numbers.
type numbering struct {
	numbers *set.Bytes // the names, whose references are the numbers; nil if names are numbers
	mine    *levelLog  // the numbers of the states in the log
	first   []uint64   // the numbers of the initial states
	found   []set.Result
}

// wordWindow has the words of the states, at their numbers.
type wordWindow struct {
	width    int        // words of a state
	shift    int        // bits of a number that say on which rank its words are
	window   rma.Window // the words, as they were published if ranks have copies
	segments [][]uint64 // the memory of window by rank; nil if it is not addressable
	remote   bool       // some rank cannot address all segments
	changes  *changes   // what ranks change, and copies; nil if they do not tell each other

	q       rma.Queue    // gets and puts of what is not addressable; nil if all is
	buf     rma.Buf      // the words of each flight
	flights []rma.Handle // the gets, or the puts, that are in flight
	into    []int        // of gets: where the words of each flight go, in states
}

// Swept is what happened in Options.After.
type Swept struct {
	Reason  Reason // why it was not done: Interrupted, MemoryFull, RankLost or Resumed
	Detail  string // more about it, in a sentence
	Sweeps  int
	Elapsed time.Duration
}

// A Visitor works on states, one after the other.
type Visitor interface {
	// Open reports whether a state with these words is to be visited.
	Open(words []uint64) bool
	// Visit changes the words of a state. It returns some of 62 bits, for the result of the sweep.
	Visit(at *Visit) (changed uint64)
}

// Visit is a state at hand. None of the memory is the visitor's to keep.
type Visit struct {
	State []uint64 // packed
	Words []uint64 // of the state; the visitor may change them
	Next  []uint64 // packed successors, as Expand appends them
	Marks []uint64 // what a Marker says of each; nil if the expander is none
	// NextWords are the words of the successors. Those that another rank changes at this moment
	// may be as they were or as they become.
	NextWords []uint64
}

// What a rank says of a sweep beside the bits of its visitor.
const sweepStopped = 1 << 63

// answerAfter calls Options.After once the search is complete. Collective.
func (s *search) answerAfter(ctx, uncancelled context.Context, res *Result) error {
	if s.opts.After == nil || !res.Complete {
		return nil
	}
	begun := time.Now()
	res.Swept = &Swept{}
	all := &States{sweeper: sweeper{search: s}, swept: res.Swept}
	var err error
	if s.opts.Resume != "" {
		err = all.unanswered(Resumed, "a checkpoint does not say in which order its states were "+
			"found; search from the beginning")
	} else {
		err = s.opts.After(ctx, all)
	}
	if s.missing(err) {
		_ = all.unanswered(RankLost, "not all was answered yet")
	}
	if all.swept.Reason != "" {
		err = nil
	}
	err = errors.Join(err, ignoreLost(all.close()))
	res.Swept.Elapsed = time.Since(begun)
	return err
}

// unanswered ends Options.After, on all ranks alike.
func (s *States) unanswered(why Reason, detail string) error {
	s.swept.Reason, s.swept.Detail = why, detail
	return fmt.Errorf("explore: %s: %s", why, detail)
}

func (s *States) close() error {
	var err error
	if s.q != nil {
		err = s.q.Close()
	}
	if s.window != nil {
		err = errors.Join(err, s.window.Close())
	}
	if s.numbers != nil {
		err = errors.Join(err, s.numbers.Close())
	}
	return errors.Join(err, s.changes.close(), s.mine.close(), s.arcs.close())
}

// Open gives each state so many words. It is called once. Collective.
func (s *States) Open(ctx context.Context, width int) error {
	ctx = context.WithoutCancel(ctx)
	s.width, s.shift = width, bits.Len(uint(s.job.Size()-1))
	failure := s.begin()
	s.marker, _ = s.Expander.(Marker)
	if err := s.number(ctx, failure); err != nil {
		return err
	}
	most := uint64(0) // words of a segment
	for i := range s.mine.n {
		_, off := s.place(s.mine.task(i))
		most = max(most, uint64(off+width))
	}
	all, err := s.share(ctx, most, nil)
	if err != nil {
		return err
	}
	s.window, err = s.job.NewWindow(ctx, rma.Spec{Name: "explore: words of states",
		Words: int(slices.Max(all))})
	if err != nil {
		return err
	}
	remote := uint64(0)
	for rank := range s.job.Size() {
		s.segments = append(s.segments, s.window.Words(rank))
		if s.segments[rank] == nil {
			remote = 1
		}
	}
	if remote > 0 {
		if s.q, failure = s.job.NewQueue(readDepth); failure == nil {
			s.buf, failure = s.q.Alloc(readDepth * width)
		}
	}
	all, err = s.share(ctx, remote, failure)
	s.remote = slices.Contains(all, 1)
	return err
}

// readDepth is how many gets or puts of words are in flight together.
const readDepth = 256

// number gives the states numbers, if there is memory.
func (s *States) number(ctx context.Context, failure error) error {
	need, states, err := s.taken(ctx, s.worker.log.bytes(), failure)
	if err != nil {
		return err
	}
	buckets := max(minBuckets, uint64(float64(states)/liveLoad))
	need += states * uint64(s.width) * 8
	if s.encoding != EncodingElement {
		need += tableBytes(buckets, 1)
	}
	if need > s.budget.states {
		return s.unanswered(MemoryFull, s.tooLittle("", need))
	}
	s.arcs = newArcs((s.budget.states - need) / uint64(s.job.Size()))
	if s.encoding != EncodingElement {
		s.numbers, err = set.NewBytes(ctx, s.job, set.BytesConfig{ElementBytes: 8,
			Config: set.Config{Buckets: buckets, Access: s.opts.Access}})
		if err != nil {
			return err
		}
	}
	failure = s.numberMine()
	if _, err := s.share(ctx, 0, failure); err != nil {
		return err
	}
	s.first = make([]uint64, len(s.search.initial)/s.words)
	_, err = s.share(ctx, 0, s.numbersOf(s.search.initial, s.first))
	return err
}

// numberMine numbers the states of the log.
func (s *States) numberMine() error {
	s.mine = newLevelLog()
	for _, chunk := range s.worker.log.chunks {
		for names := range slices.Chunk(chunk, s.full) {
			s.names = append(s.names[:0], names...)
			if s.numbers != nil {
				if _, err := s.lookUp(s.names); err != nil {
					return err
				}
			}
			for _, number := range s.names {
				s.mine.add(number)
			}
		}
	}
	return nil
}

// lookUp replaces names by numbers. It reports whether one is new.
func (n *numbering) lookUp(names []uint64) (fresh bool, err error) {
	n.found = grown(n.found, len(names))
	err = n.numbers.FindOrPutPacked(bytesOf(slices.Clone(names)), n.found, refsOf(names))
	return slices.Contains(n.found, set.Inserted), err
}

// errOtherSuccessors means that the model has other successors than before.
var errOtherSuccessors = errors.New("explore: a state has a successor that was not found in the " +
	"search; make Expand of the model give the same successors whenever it is given the same state")

// numbered replaces the names of states by their numbers.
func (n *numbering) numbered(names []uint64) error {
	if n.numbers == nil || len(names) == 0 {
		return nil
	}
	fresh, err := n.lookUp(names)
	if err == nil && fresh {
		err = errOtherSuccessors
	}
	return err
}

// numbersOf stores the numbers of states.
func (s *States) numbersOf(states, numbers []uint64) error {
	if err := s.visited.names(states, numbers); err != nil {
		return err
	}
	return s.numbered(numbers)
}

// place is where the words of a state are.
func (w *wordWindow) place(number uint64) (rank, off int) {
	return int(number & (1<<w.shift - 1)), int(number>>w.shift) * w.width
}

// read reads the words of states.
func (w *wordWindow) read(ctx context.Context, numbers, words []uint64) error {
	width := w.width
	for i, number := range numbers {
		if known := w.changes.copied(number); known != nil {
			copy(words[i*width:], known)
			continue
		}
		rank, off := w.place(number)
		if segment := w.segments[rank]; segment != nil {
			for k := range width {
				words[i*width+k] = atomic.LoadUint64(&segment[off+k])
			}
			continue
		}
		n := len(w.flights)
		w.flights = append(w.flights, w.q.Get(w.buf[n*width:][:width], w.window, rank, off))
		if w.into = append(w.into, i); n+1 == readDepth {
			if err := w.land(ctx, words); err != nil {
				return err
			}
		}
	}
	if len(w.into) == 0 {
		return nil
	}
	return w.land(ctx, words)
}

// land waits for all that is in flight. Words that were read go where words has their states.
func (w *wordWindow) land(ctx context.Context, words []uint64) error {
	if len(w.flights) == 0 {
		return nil
	}
	err := core.Await(ctx, w.q, w.flights...)
	for n, i := range w.into {
		copy(words[i*w.width:][:w.width], w.buf[n*w.width:])
	}
	w.flights, w.into = w.flights[:0], w.into[:0]
	return err
}

// write writes the words of a state of the log, if they have changed.
func (w *wordWindow) write(ctx context.Context, number uint64, words []uint64) error {
	rank, off := w.place(number)
	segment := w.segments[rank]
	if known := w.changes.copied(number); known != nil {
		if slices.Equal(known, words) {
			return nil
		}
		copy(known, words)
		w.changes.note(number)
		return nil
	}
	if segment != nil && equalShared(segment[off:], words) {
		return nil
	}
	w.changes.note(number)
	return w.store(ctx, number, words)
}

// store writes the words of a state into the window.
func (w *wordWindow) store(ctx context.Context, number uint64, words []uint64) error {
	rank, off := w.place(number)
	segment := w.segments[rank]
	if segment != nil {
		for k, word := range words {
			atomic.StoreUint64(&segment[off+k], word)
		}
		return nil
	}
	n := len(w.flights)
	from := w.buf[n*w.width:][:w.width]
	copy(from, words)
	w.flights = append(w.flights, w.q.Put(from, w.window, rank, off))
	if n+1 == readDepth {
		return w.land(ctx, nil)
	}
	return nil
}

// equalShared reports whether shared memory begins with some words.
func equalShared(shared, words []uint64) bool {
	for k, word := range words {
		if atomic.LoadUint64(&shared[k]) != word {
			return false
		}
	}
	return true
}

// Sweep visits each open state once, on the rank that has logged it. It returns the bits that
// visits have returned on any rank, and the words that the initial states have after the sweep. A
// sweep goes through the logs upwards if the one before it went downwards, because what a visitor
// knows about a state may follow from its successors. Collective.
func (s *States) Sweep(ctx context.Context, v Visitor) (changed uint64, initial []uint64,
	err error) {
	return s.sweepFor(ctx, v, false, false)
}

// SweepWords is Sweep for visitors that do without State and Next. Both are nil if the arcs of the
// state are remembered from a Sweep. A visit must return bits only if it has changed words. Then,
// if all arcs of the rank are remembered, the rank visits the states again that lead to this one.
// A sweep repeats the one before it if the visitor is the same, and only visits have changed words
// since. It visits the states alone that have a successor which another rank has changed. If a
// further sweep would visit nothing, this one returns no bits.
func (s *States) SweepWords(ctx context.Context, v Visitor, repeats bool) (changed uint64,
	initial []uint64, err error) {
	return s.sweepFor(ctx, v, true, repeats)
}

func (s *States) sweepFor(ctx context.Context, v Visitor, words, repeats bool) (changed uint64,
	initial []uint64, err error) {
	uncancelled := context.WithoutCancel(ctx)
	if words {
		if err := s.follow(uncancelled); err != nil {
			return 0, nil, err
		}
	}
	changed, failure := s.sweep(ctx, uncancelled, v, words, repeats)
	s.swept.Sweeps++
	return s.summed(uncancelled, changed, failure)
}

// summed ends a sweep: ranks tell each other which states they have changed, and each gets the bits
// of all ranks and the words of the initial states.
func (s *States) summed(ctx context.Context, changed uint64, failure error) (sum uint64,
	initial []uint64, err error) {
	told := uint64(0)
	if failure == nil {
		told, failure = s.tell(ctx)
	}
	all, lists, err := s.sharePair(ctx, changed, told, failure)
	if err != nil {
		return 0, nil, err
	}
	for _, word := range all {
		sum |= word
	}
	if sum&sweepStopped != 0 {
		return 0, nil, s.unanswered(Interrupted, "not all was answered yet")
	}
	initial = make([]uint64, len(s.first)*s.width)
	if failure = s.hear(ctx, lists); failure == nil {
		failure = s.read(ctx, s.first, initial)
	}
	_, err = s.share(ctx, 0, failure) // nobody changes what was read before
	return sum, initial, err
}

// sweep is this rank's part.
func (s *States) sweep(ctx, uncancelled context.Context, v Visitor, words, repeats bool) (
	changed uint64, err error) {
	s.again = words && s.arcs.before != nil
	s.work.Reset(!s.again || !repeats || s.changes == nil, s.again)
	for {
		border := 0 // states before it have their arcs remembered
		if words {
			border = s.arcs.states()
		}
		s.index = s.work.Next(s.index[:0], s.blocks*blockTasks, border)
		if len(s.index) == 0 {
			break
		}
		if ctx.Err() != nil {
			return sweepStopped, nil
		}
		some, err := s.visit(uncancelled, v, s.index[0] < border)
		if changed |= some; err != nil {
			return 0, err
		}
	}
	if s.again && s.job.Size() == 1 {
		return 0, nil
	}
	return changed, nil
}

// visit visits the states at hand, whose arcs are remembered or not.
func (s *States) visit(ctx context.Context, v Visitor, remembered bool) (changed uint64,
	err error) {
	// Those are kept that are open.
	s.places = s.places[:0]
	for _, i := range s.index {
		s.places = append(s.places, s.mine.task(i))
	}
	s.own = grown(s.own, len(s.places)*s.width)
	if err := s.read(ctx, s.places, s.own); err != nil {
		return 0, err
	}
	n := 0
	for i, number := range s.places {
		words := s.own[i*s.width:][:s.width]
		if !v.Open(words) {
			s.work.Done(s.index[i])
			continue
		}
		s.index[n], s.places[n] = s.index[i], number
		copy(s.own[n*s.width:], words)
		n++
	}
	s.index, s.places = s.index[:n], s.places[:n]
	if !remembered {
		if err := s.load(ctx); err != nil {
			return 0, err
		}
	}
	// Some are visited together: as many as have a batch of successors.
	for from := 0; from < len(s.places); from += len(s.ends) {
		if err := s.successors(from, remembered); err != nil {
			return 0, err
		}
		if s.distant() {
			for k := range s.ends {
				s.work.Done(s.index[from+k])
			}
			s.next = grown(s.next, len(s.names)*s.width)
			if err := s.read(ctx, s.names, s.next); err != nil {
				return 0, err
			}
		}
		some, err := s.visitSome(ctx, v, from, remembered)
		if changed |= some; err != nil {
			return 0, err
		}
	}
	return changed, nil
}

// visitSome visits states at hand, from one on, whose successors are known.
func (s *States) visitSome(ctx context.Context, v Visitor, from int, remembered bool) (
	changed uint64, err error) {
	defer s.recoverPanic(&err)
	begin, n := 0, s.words
	for k, end := range s.ends {
		i := from + k
		words := s.own[i*s.width:][:s.width:s.width]
		s.at = Visit{Words: words}
		if !remembered {
			s.at.State, s.at.Next = s.states[i*n:][:n:n], s.out[begin*n:end*n]
		}
		if s.marker != nil {
			s.at.Marks = s.marks[begin:end]
		}
		if s.distant() {
			s.at.NextWords = s.next[begin*s.width : end*s.width]
		} else { // what this rank has just changed counts
			s.work.Done(s.index[i])
			s.next = grown(s.next, (end-begin)*s.width)
			if err := s.read(ctx, s.names[begin:end], s.next); err != nil {
				return 0, err
			}
			s.at.NextWords = s.next
		}
		some := v.Visit(&s.at)
		if changed |= some; some != 0 && s.again {
			for _, to := range s.arcs.leading(s.index[i]) {
				s.work.Add(int(to))
			}
		}
		if err := s.write(ctx, s.places[i], words); err != nil {
			return 0, err
		}
		begin = end
	}
	return changed, s.land(ctx, nil)
}

// distant reports whether reading the words of one state takes as long as of many.
func (w *wordWindow) distant() bool { return w.q != nil && !w.changes.copies() }

// successors finds the numbers of the successors of states at hand, from one on, until a batch of
// them is full or none is left.
func (s *States) successors(from int, remembered bool) (err error) {
	if remembered {
		s.names, s.marks, s.ends = s.names[:0], s.marks[:0], s.ends[:0]
		for i := from; i < len(s.index) && len(s.names) < s.full; i++ {
			s.names, s.marks = s.arcs.from(s.index[i], s.names, s.marks)
			s.ends = append(s.ends, len(s.names))
		}
		return nil
	}
	if err := s.expand(from); err != nil {
		return err
	}
	if err := s.numbered(s.names); err != nil {
		return err
	}
	begin := 0
	for k, end := range s.ends {
		var marks []uint64
		if s.marker != nil {
			marks = s.marks[begin:end]
		}
		s.arcs.add(s.index[from+k], s.names[begin:end], marks)
		begin = end
	}
	return nil
}

// Each calls use once with the words of each state, which it may change, on the rank that has
// logged it. It returns what Sweep returns. Collective.
func (s *States) Each(ctx context.Context, use func(words []uint64) (changed uint64)) (
	changed uint64, initial []uint64, err error) {
	uncancelled := context.WithoutCancel(ctx)
	changed, failure := s.each(uncancelled, use)
	return s.summed(uncancelled, changed, failure)
}

func (s *States) each(ctx context.Context, use func(words []uint64) uint64) (changed uint64,
	err error) {
	for i := 0; i < s.mine.n; i += len(s.places) {
		s.places = s.places[:0]
		for k := i; k < min(s.mine.n, i+s.full); k++ {
			s.places = append(s.places, s.mine.task(k))
		}
		s.own = grown(s.own, len(s.places)*s.width)
		if err := s.read(ctx, s.places, s.own); err != nil {
			return 0, err
		}
		for k, number := range s.places {
			words := s.own[k*s.width:][:s.width]
			changed |= use(words)
			if err := s.write(ctx, number, words); err != nil {
				return 0, err
			}
		}
		if err := s.land(ctx, nil); err != nil {
			return 0, err
		}
	}
	return changed, nil
}

// Initials is the number of initial states.
func (s *States) Initials() int { return len(s.first) }

// Publish writes what sweeps have changed for Look, which needs it after each. Collective.
func (s *States) Publish(ctx context.Context) error {
	var err error
	ctx = context.WithoutCancel(ctx)
	if s.changes.copies() {
		for i := 0; i < s.mine.n && err == nil; i++ {
			err = s.store(ctx, s.mine.task(i), s.changes.known[i*s.width:][:s.width])
		}
		err = errors.Join(err, s.land(ctx, nil))
	}
	_, err = s.share(ctx, 0, err)
	return err
}

// Look is a visit of a state that changes nothing, in memory of its own, by this rank alone. It
// sees the words that were published.
func (s *States) Look(ctx context.Context, state []uint64) (at Visit, err error) {
	n := s.search.words
	all, marks, err := s.lookAt(state)
	if err != nil {
		return at, err
	}
	numbers := make([]uint64, len(all)/n)
	if err := s.numbersOf(all, numbers); err != nil {
		return at, err
	}
	words := make([]uint64, len(numbers)*s.width)
	err = s.read(ctx, numbers, words)
	return Visit{State: all[:n:n], Words: words[:s.width:s.width], Next: all[n:], Marks: marks,
		NextWords: words[s.width:]}, err
}

// lookAt is a state and its successors, with marks.
func (s *States) lookAt(state []uint64) (all, marks []uint64, err error) {
	defer s.recoverPanic(&err)
	return s.expandMarked(slices.Clone(state), slices.Clone(state), nil)
}

// InitialState is one of the initial states, packed.
func (s *States) InitialState(i int) []uint64 {
	n := s.search.words
	return s.search.initial[i*n:][:n:n]
}
