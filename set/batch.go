package set

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// batch is items to be inserted or looked up: a core.Ops.
type batch struct {
	t       *table
	items   []uint64
	begins  []int    // of strings: where each begins in items; nil where all have the same width
	hashes  []uint64 // of what the items hold, where these are buckets of another table
	results []end
	refs    []Ref // nil where the caller does not want them
	insert  bool
	moves   bool // the items are moved here from another table: no table grows by it
	tended  bool // tend has had the counts of its parts
	counts
}

// run answers a batch, and counts it. The error is a *FullError if a result is Full.
func (b *batch) run() error {
	requests, err := b.t.batches.Run(context.Background(), len(b.results), b)
	b.queues.Add(requests)
	return b.ended(err)
}

// part is the items from one to another, as a batch.
func (b *batch) part(from, to int) batch {
	part := batch{t: b.t, items: b.items, results: b.results[from:to], insert: b.insert}
	if b.begins != nil {
		part.begins = b.begins[from:to]
	} else {
		part.items = b.items[from*b.t.width : to*b.t.width]
	}
	if b.refs != nil {
		part.refs = b.refs[from:to]
	}
	return part
}

// partEnds counts a part whose searches have ended, and has tables grow. Later parts begin at the
// oldest table there is then: a batch may have more items than the first one has buckets.
func (b *batch) partEnds(part *batch, served bool) {
	b.add(part.counts)
	if b.moves {
		return
	}
	b.tended = true
	// Requests are answered before Ships is known.
	near := served || b.t.batches.Ships() && uint64(len(b.results))*movedPerItem >= b.t.pieceLen()
	b.t.tend(&part.counts, b.insert, near)
	if b.insert {
		b.t.press(&part.counts, served)
	}
	b.goOn()
}

// goOn has later searches begin at the oldest table that there is now. It reports whether that is
// another one.
func (b *batch) goOn() bool {
	oldest := b.t.oldest.Load()
	if oldest.gen <= b.t.gen {
		return false
	}
	b.t = oldest
	return true
}

// partLen is how many items have their searches before the rank looks whether the table is full.
func (b *batch) partLen() int {
	if !b.insert || b.moves {
		return len(b.results)
	}
	return b.t.partLen()
}

func (b *batch) item(i int) []uint64 {
	if b.begins != nil {
		return b.stringItem(i)
	}
	width := b.t.width
	return b.items[i*width:][:width]
}

func (b *batch) stringItem(i int) []uint64 {
	words := b.items[b.begins[i]:]
	return words[:stringWords(words[0])]
}

// takeStrings makes elements the items.
func (b *batch) takeStrings(elements [][]byte) error {
	for _, element := range elements {
		if len(element) > MaxStringBytes {
			return StringError(len(element))
		}
	}
	b.items, b.begins = b.items[:0], b.begins[:0]
	for _, element := range elements {
		b.begins = append(b.begins, len(b.items))
		b.items = appendString(b.items, element)
	}
	return nil
}

// takeElements makes elements of one length the items.
func (b *batch) takeElements(elements [][]byte, size int) error {
	b.items, b.begins = b.items[:0], nil
	for _, element := range elements {
		if len(element) != size {
			return lengthError(len(element), 1, size)
		}
		b.items = appendWords(b.items, element)
	}
	return nil
}

// takeItem makes item i of another batch the next one of this one.
func (b *batch) takeItem(from *batch, i int) {
	if from.begins == nil {
		b.items = append(b.items, from.item(i)...)
		return
	}
	b.items, b.begins = from.items, append(b.begins, from.begins[i])
}

// Owners gives the ranks that own the homes.
func (b *batch) Owners(owners []int32) {
	for i := range owners {
		owners[i] = int32(b.t.owner(b.t.hash(b.item(i))))
	}
}

// spanBatchWords is how many words of items are copied and searched together. Long elements
// exceed it: at least stageBlock of them are searched together.
const spanBatchWords = 1 << 12

// Direct answers items whose homes are in spans. Those whose search leaves its span are left.
func (b *batch) Direct(at, left []int) ([]int, error) {
	if at == nil {
		return nil, b.searchParts(0, false) // the span is the whole table
	}
	width := b.t.width
	size := min(len(at), max(stageBlock, spanBatchWords/width))
	copied := batch{items: make([]uint64, 0, size*width), insert: b.insert}
	results, refs := make([]end, size), []Ref(nil)
	if b.refs != nil {
		refs = make([]Ref, size)
	}
	for len(at) > 0 {
		t, n := b.t, 0
		v := t.spanAt(t.owner(t.hash(b.item(at[0]))))
		copied.t, copied.counts = t, counts{}
		copied.items, copied.begins = copied.items[:0], copied.begins[:0]
		for ; n < min(size, b.partLen(), len(at)); n++ {
			if t.spanAt(t.owner(t.hash(b.item(at[n])))) != v {
				break
			}
			copied.takeItem(b, at[n])
		}
		clear(results)
		if copied.results = results[:n]; refs != nil {
			copied.refs = refs[:n]
		}
		if err := copied.search(v); err != nil {
			return left, err
		}
		b.partEnds(&copied, false)
		for k, i := range at[:n] {
			if copied.results[k] == unfinished {
				left = append(left, i)
				continue
			}
			b.results[i] = copied.results[k]
			if refs != nil {
				b.refs[i] = refs[k]
			}
		}
		at = at[n:]
	}
	return left, nil
}

// searchParts answers the items, whose homes are in the span of a rank, one part after the other.
func (b *batch) searchParts(rank int, served bool) error {
	for from, n := 0, len(b.results); from < n; {
		to := min(n, from+b.partLen())
		part := b.part(from, to)
		if err := part.search(b.t.spanAt(rank)); err != nil {
			b.add(part.counts)
			return err
		}
		b.partEnds(&part, served)
		from = to
	}
	return nil
}

// search answers the items, whose homes are in v. Searches that leave v are unfinished.
func (b *batch) search(v *span) (err error) {
	if b.t.arenas != nil {
		err = b.searchElements(v)
	} else {
		b.add(b.t.searchBatch(v, b.items, b.results, b.insert))
	}
	runtime.KeepAlive(b.t) // the garbage collector ends its memory
	if b.beyond > 0 {
		err = cmp.Or(err, b.follow(v.rank))
	}
	return err
}

// follow searches in the next table for the items whose search has passed this one. Their homes
// there have the same owners.
func (b *batch) follow(rank int) error {
	t, err := b.t.next(b.insert)
	if err != nil {
		return b.stay(err)
	}
	next, at := batch{t: t, insert: b.insert}, []int(nil)
	for i, r := range b.results {
		if r == beyond {
			at = append(at, i)
			next.takeItem(b, i)
		}
	}
	next.results = make([]end, len(at))
	if b.refs != nil {
		next.refs = make([]Ref, len(at))
	}
	err = next.search(t.spanAt(rank))
	for k, i := range at {
		b.results[i] = next.results[k]
		if b.refs != nil {
			b.refs[i] = next.refs[k]
		}
	}
	b.add(next.counts)
	return err
}

// stay ends the searches that have passed this table and cannot go on in the next one.
func (b *batch) stay(err error) error {
	for i, r := range b.results {
		switch {
		case r != beyond:
		case err != errNoMemory:
			b.results[i] = 0
		default:
			b.results[i] = nowhere(b.insert)
			b.count(b.results[i], 0, 0, b.t.directChunk)
		}
	}
	if err == errNoMemory {
		return nil
	}
	return err
}

// endSingle ends a single call whose search in v has its result in b: it searches the next table,
// and has the set grow.
func (b *batch) endSingle(v *span) (Ref, Result, error) {
	var err error
	if b.beyond > 0 {
		err = b.follow(v.rank)
	}
	if b.results[0] == unfinished {
		return b.t.oneQueued(b.items, b.insert)
	}
	err = b.ended(err)
	return b.ref(), Result(b.results[0]), err
}

// ref is the reference of the only item, 0 if items have none.
func (b *batch) ref() Ref {
	if b.refs == nil {
		return 0
	}
	return b.refs[0]
}

// ended counts the operations of a batch, has the table grow if it is full, and returns the error.
func (b *batch) ended(err error) error {
	b.t.tally.add(&b.counts)
	if err != nil && ignoreLost(err) == nil {
		b.longest, b.tended = max(b.longest, longSearch), false // it has come to lost memory
	}
	if !b.tended {
		b.t.tend(&b.counts, b.insert, false)
	}
	if err == nil && b.full > 0 {
		err = b.t.newest().fullError(b.noSlot > 0)
	}
	return err
}

// Queued answers items through a queue.
func (b *batch) Queued(at []int) error {
	if b.insert && !b.moves && at != nil && b.t.batches.Ships() && b.t.following.Load() != nil {
		var err error
		if at, err = b.leaveTable(at); len(at) == 0 || err != nil {
			return err
		}
	}
	return b.queued(at, false)
}

// leaveTable answers items directly whose search has left the memory that this rank addresses,
// of a table that moves. They would go on among the buckets of the next rank, and each would lose
// its swap to the others. So all of the table moves before. It returns the items that are left.
func (b *batch) leaveTable(at []int) (left []int, err error) {
	near, left := []int(nil), at[:0]
	for _, i := range at {
		if b.t.spanAt(b.t.owner(b.t.hash(b.item(i)))) != nil {
			near = append(near, i)
		} else {
			left = append(left, i)
		}
	}
	if len(near) == 0 {
		return left, nil
	}
	b.t.moves().moveAll(false)
	if !b.goOn() {
		return append(left, near...), nil
	}
	return b.Direct(near, left)
}

func (b *batch) queued(at []int, served bool) error {
	s, err := b.t.session()
	if err != nil {
		return err
	}
	n := len(at)
	if at == nil {
		n = len(b.results)
	}
	for from := 0; from < n && err == nil; {
		to, part := min(n, from+b.partLen()), batch{}
		if at == nil {
			part = b.part(from, to)
			err = s.run(&part, nil)
		} else {
			part = *b
			part.counts = counts{}
			err = s.run(&part, at[from:to])
		}
		b.partEnds(&part, served)
		from = to
	}
	b.t.sessions.Give(s, err != nil)
	return err
}

// Kind, Size and Pack describe a request; see answer.
func (b *batch) Kind() uint32 {
	if b.insert {
		return kindFindOrPut
	}
	return kindFind
}

func (b *batch) Size(i int) (request, answer int) { return len(b.item(i)), 1 }

// AtOnce keeps requests short while the table is small: its owners have it grow together then. One
// that was far ahead of the others would have to move what is theirs.
func (b *batch) AtOnce() int {
	if !b.insert {
		return math.MaxInt
	}
	return int(max(minAtOnce, b.t.newest().perRank/2))
}

func (b *batch) Pack(i int, to []uint64) { copy(to, b.item(i)) }

// Unpack takes the answer to item i.
func (b *batch) Unpack(_, i int, from []uint64) (words int, again bool, err error) {
	r := end(from[0] & resultMask)
	switch {
	case r == unfinished:
		return 1, true, nil
	case r == found, b.insert && (r == inserted || r == full), !b.insert && r == notFound:
	default:
		return 0, false, core.ErrDisorder
	}
	b.results[i] = r
	if b.refs != nil {
		b.refs[i] = Ref(from[0] >> resultBits)
	}
	b.count(r, 0, 0, b.t.directChunk) // the owner counts what it has examined
	if r == full {
		b.longest = max(b.longest, b.t.limit) // so that the error reports it
	}
	return 1, false, nil
}

// fetch is a batch of elements to be copied from memory that this process cannot address, a
// core.Ops: the element of refs[k] to dst, from to[k]*size on.
type fetch struct {
	*space
	refs   []Ref
	to     []int
	dst    []byte
	size   int // bytes of an element that are wanted
	queues rma.Stats
}

// run gets the elements of refs.
func (f *fetch) run(refs []Ref) error {
	for i, ref := range refs {
		if err := f.take(i, ref); err != nil {
			return err
		}
	}
	if len(f.refs) == 0 {
		return nil
	}
	requests, err := f.batches.Run(context.Background(), len(f.refs), f)
	f.queues.Add(requests)
	f.tally.add(&counts{queues: f.queues})
	return err
}

// take copies element i at once if this process can address it, and else adds it to the batch.
func (f *fetch) take(i int, ref Ref) error {
	if !f.arenas.valid(ref) {
		return refError(ref)
	}
	if words := f.arenas.words(ref); words != nil {
		copy(f.dst[i*f.size:(i+1)*f.size], core.BytesOf(words))
		return nil
	}
	f.refs, f.to = append(f.refs, ref), append(f.to, i)
	return nil
}

// arrived takes the element of operation k.
func (f *fetch) arrived(k int, words []uint64) {
	i := f.to[k]
	copy(f.dst[i*f.size:(i+1)*f.size], core.BytesOf(words))
}

// Owners gives the ranks whose arenas have the elements.
func (f *fetch) Owners(owners []int32) {
	for k := range owners {
		rank, _ := f.arenas.locate(f.refs[k])
		owners[k] = int32(rank)
	}
}

// Direct leaves all: take has copied what is directly addressable.
func (f *fetch) Direct(at, left []int) ([]int, error) {
	for k := 0; at == nil && k < len(f.refs); k++ {
		left = append(left, k)
	}
	return append(left, at...), nil
}

// Kind, Size, Pack and Unpack describe a request; see answer.
func (f *fetch) Kind() uint32 { return kindGet }

func (f *fetch) Size(int) (request, answer int) { return 1, f.width }

func (f *fetch) Pack(k int, to []uint64) { to[0] = uint64(f.refs[k]) }

func (f *fetch) Unpack(_, k int, from []uint64) (words int, again bool, err error) {
	if words = f.width; len(from) < words {
		return 0, false, core.ErrDisorder
	}
	f.arrived(k, from[:words])
	return words, false, nil
}

// Queued gets elements through a queue.
func (f *fetch) Queued(at []int) error {
	ses, err := f.session()
	if err != nil {
		return err
	}
	before := *ses.q.Stats()
	err = ses.slots.Drive(context.Background(), ses.q, len(f.refs), at, len(ses.probes),
		&fetchMachines{f, ses})
	f.queues.Add(ses.q.Stats().Since(before))
	f.sessions.Give(ses, err != nil)
	return err
}

// elementAt is the element in a slot that exists.
func (sp *space) elementAt(ref Ref) ([]uint64, error) {
	if sp.arenas.strings {
		return sp.arenas.stringAt(ref)
	}
	if words := sp.arenas.words(ref); words != nil {
		return words[:sp.width], nil
	}
	words := make([]uint64, sp.width)
	f := fetch{space: sp, refs: []Ref{ref}, to: []int{0}, dst: core.BytesOf(words),
		size: sp.width * 8}
	return words, f.Queued(nil)
}

// Batches may be shipped to the ranks that own the homes (rma.Access). A request holds the items
// one after the other, strings with their heads, and the answer a word for each:
//
//	| reference (36) | result (8) |
//
// Requests for elements by their references go to the ranks whose arenas have them, and requests to
// move a table to all ranks.

const (
	kindFind uint32 = iota
	kindFindOrPut
	kindGet  // the items are references, and the answers elements
	kindMove // the item is the number of a table, of which the owner moves what it can address
)

const (
	resultBits = 8
	resultMask = 1<<resultBits - 1
)

// answer runs what other ranks ship to this rank's part of the table. Requests come one by
// one.
func (sp *space) answer(kind uint32, n int, request, answer []uint64) (int, error) {
	t := sp.oldest.Load()
	width, answerWidth := t.width, 1
	switch kind {
	case kindGet:
		width, answerWidth = 1, width
	case kindMove:
		return sp.moveAsked(n, request, answer)
	}
	b := &sp.shipped
	b.t, b.items, b.insert, b.counts = t, request, kind == kindFindOrPut, counts{}
	defer func() { b.t = nil }()
	if kind > kindGet || n > rma.MaxShipWords || len(answer) < n*answerWidth ||
		!b.divides(n, width) {
		return 0, fmt.Errorf("set: a request of kind %d has %d words and room for %d, for %d "+
			"items of %d words; run the same program on every rank", kind, len(request),
			len(answer), n, width)
	}
	if kind == kindGet {
		if t.size <= 0 {
			return 0, errors.New("set: words and strings are not fetched by requests; run the " +
				"same program on every rank")
		}
		return t.get(request, answer)
	}
	for i := range n {
		item := b.item(i)
		if t.arenas == nil && item[0] > MaxWord || t.owner(t.hash(item)) != t.window.Rank() {
			return 0, fmt.Errorf("set: item %d of a request is not rank %d's; run the same "+
				"program on every rank", i, t.window.Rank())
		}
	}
	if b.results == nil {
		b.results, b.refs = make([]end, rma.MaxShipWords), make([]Ref, rma.MaxShipWords)
	}
	b.results, b.refs = b.results[:n], b.refs[:n]
	clear(b.refs)
	var err error
	if rank := t.window.Rank(); t.spanAt(rank) != nil {
		err = b.searchParts(rank, true)
	} else {
		err = b.queued(nil, true)
	}
	for i, r := range b.results {
		if r == full && (b.noSlot > 0 || !t.newest().last) {
			r = unfinished // the requesting rank tries all arenas, or finds out what is full
		}
		answer[i] = uint64(b.refs[i])<<resultBits | uint64(r)
	}
	t.tally.addServed(&b.counts)
	return n, err
}

// divides reports whether the items of a request are n, of so many words or strings.
func (b *batch) divides(n, width int) bool {
	if !b.t.isStrings() {
		return len(b.items) == n*width
	}
	at := 0
	for b.begins = b.begins[:0]; len(b.begins) < n && at < len(b.items); {
		head := b.items[at]
		if head&lengthMask > MaxStringBytes {
			return false
		}
		b.begins = append(b.begins, at)
		at += stringWords(head)
	}
	return len(b.begins) == n && at == len(b.items)
}

// get answers with the elements of the given references.
func (sp *space) get(refs, answer []uint64) (words int, err error) {
	f := fetch{space: sp, dst: core.BytesOf(answer), size: sp.width * 8}
	for i, ref := range refs {
		if err := f.take(i, Ref(ref)); err != nil {
			return 0, err
		}
	}
	if len(f.refs) > 0 {
		err = f.Queued(nil)
	}
	return len(refs) * sp.width, err
}
