package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Shipped calls go to the rank that has the home of their key, and are packed so:
//
//	call    | kind (16) | size of key (24), of value (24) | version or delta | key | value |
//	answer  | status (16) | done (16) | size of value (32) | version | sum | value |
//
// A call has a version for CompareAndPut alone, a delta for Add, and a value if it gives one. An
// answer has a sum for Add, and a value for a Get that has found its key.
const (
	callHead   = 1
	answerHead = 2
	sizeBits   = 24
)

// hasNumber reports whether a call of this kind has a version or delta.
func (k Kind) hasNumber() bool { return k == CompareAndPut || k == Add }

// answerHead is how many words an answer has without a value. There is always room for them.
func (c *Call) answerHead() int {
	if c.Kind == Add {
		return answerHead + 1
	}
	return answerHead
}

// The status of an answer.
const (
	answered = iota
	tooLong  // there was no room for the value
	declined // the call had no effect: the requesting rank is to make it
	crowded  // it had none, as the table moves or has to: it is to be shipped again then
	lostRank // a rank is lost: its number, doubled, is in place of the version
	failed   // the text of the error is in place of the value
)

// doneBit says that a call was Done.
const doneBit = 1 << 32

// errUnanswered is the error of a call until it has an answer or another error.
var errUnanswered = errors.New("kv: no answer has come")

// initialRoom is how many words the value of a Get has in an answer at first.
const initialRoom = 8

// openBatches has the ranks answer the calls that others ship. Collective.
func (m *Map) openBatches(ctx context.Context) error {
	m.room.Store(int64(min(initialRoom, core.WordsOf(m.cfg.MaxValue))))
	messages := 2.5 // of a call that is made one-sided, about
	if m.cfg.Copies {
		messages = 2
	}
	err := m.batches.Open(ctx, m.job, m.slots, core.Config{Access: m.cfg.Access,
		Messages: messages, Answer: m.answer, Closed: errClosed})
	m.getNs.Store(int64(m.batches.Access().Costs.Ns))
	if m.batches.Ships() {
		m.together.Store(true)
	}
	return err
}

// owner is the rank that has the home of a key, in the latest table that this rank knows.
func (m *Map) owner(key []byte) int {
	t := m.latest.Load()
	rank, _, _ := t.place(t.slotAt(hashOf(key), 0))
	return rank
}

// batch is the calls of one batch: a core.Ops. Calls have their own errors.
type batch struct {
	m           *Map
	calls       []Call
	room        int   // for the value of a Get in an answer, in words
	tooSmall    bool  // there was too little of it for all
	shipped     bool  // some calls may have been
	gets        int   // number of Gets
	bytesBefore int   // bytes that their values had before
	waiting     []int // calls that are to be made when the table has moved
}

// run makes the calls. Those that ranks have declined until the table has moved are shipped again
// then: a few of them are made here before, which has it move. Each time these are twice as many,
// in case that others do not let it move.
func (b *batch) run() (requests rma.Stats, err error) {
	requests, err = b.m.batches.Run(context.Background(), len(b.calls), b)
	for n := 1; len(b.waiting) > 0 && err == nil; n *= 2 {
		here := b.waiting[:min(n, len(b.waiting))]
		later := b.waiting[len(here):]
		b.waiting = nil
		if err = b.makeRoom(here); err != nil || len(later) == 0 {
			break
		}
		again := batch{m: b.m, calls: make([]Call, len(later))}
		for k, i := range later {
			again.calls[k] = b.calls[i]
		}
		var took rma.Stats
		took, err = b.m.batches.Run(context.Background(), len(later), &again)
		requests.Add(took)
		for k, i := range later {
			b.calls[i] = again.calls[k]
		}
		for _, k := range again.waiting {
			b.waiting = append(b.waiting, later[k])
		}
	}
	return requests, err
}

// makeRoom makes some calls here, and has the table move before if it is nearly full.
func (b *batch) makeRoom(calls []int) error {
	return b.m.withSession(func(s *session) error {
		s.farHash, s.told = hashOf(b.calls[calls[0]].Key)|1, true
		s.maintain()
		s.farHash, s.told, s.calls = 0, false, b.calls
		return s.run(calls)
	})
}

// Owners gives the ranks that have the homes.
func (b *batch) Owners(owners []int32) {
	b.shipped, b.room = true, int(b.m.room.Load())
	for i := range b.calls {
		c := &b.calls[i]
		owners[i] = int32(b.m.owner(c.Key))
		c.Err = errUnanswered
		if c.Kind == Get {
			b.gets++
			b.bytesBefore += len(c.Value)
		}
	}
}

// Direct makes those calls that can be made in memory that this process addresses.
func (b *batch) Direct(indices, left []int) ([]int, error) {
	return b.m.directBatch(b.calls, indices, left, false), nil
}

// Queued makes calls through a queue.
func (b *batch) Queued(indices []int) error {
	b.m.queued(b.calls, indices, false)
	return nil
}

// adaptRoom adapts the room for values to a batch. An answer has room for all values together, so
// their mean counts.
func (b *batch) adaptRoom() {
	found := -b.bytesBefore
	for i := range b.calls {
		if c := &b.calls[i]; c.Kind == Get {
			found += len(c.Value)
		}
	}
	switch maxWords := core.WordsOf(b.m.cfg.MaxValue); {
	case b.tooSmall:
		b.m.room.Store(int64(min(max(2*b.room, 1), maxWords)))
	case b.gets > 0 && 4*found < 8*b.room*b.gets:
		b.m.room.Store(int64(b.room / 2))
	}
}

// Kind is the same for all calls: each has its own.
func (b *batch) Kind() uint32 { return 0 }

// Size is how many words a call takes, and its answer.
func (b *batch) Size(i int) (request, answer int) {
	c := &b.calls[i]
	request, answer = callHead+core.WordsOf(len(c.Key)), c.answerHead()
	switch {
	case c.Kind == Get:
		answer += b.room
	case c.Kind.givesValue():
		request += core.WordsOf(len(c.Value))
	}
	if c.Kind.hasNumber() {
		request++
	}
	return request, answer
}

// Pack packs a call.
func (b *batch) Pack(i int, to []uint64) {
	c := &b.calls[i]
	to[0] = uint64(c.Kind)<<(2*sizeBits) | uint64(len(c.Key))<<sizeBits
	n := callHead
	if c.Kind.hasNumber() {
		to[n] = uint64(c.Version)
		if c.Kind == Add {
			to[n] = uint64(c.Delta)
		}
		n++
	}
	n += pack(to[n:], c.Key)
	if c.Kind.givesValue() {
		to[0] |= uint64(len(c.Value))
		pack(to[n:], c.Value)
	}
}

// Unpack takes the answer to a call.
func (b *batch) Unpack(rank, i int, from []uint64) (words int, again bool, err error) {
	c := &b.calls[i]
	head := c.answerHead()
	size := int(min(from[0]&math.MaxUint32, uint64(8*len(from)))) // more is disorder
	words = head + core.WordsOf(size)
	if words > len(from) {
		return 0, false, core.ErrDisorder
	}
	value := core.BytesOf(from[head:words])[:size]
	switch from[0] >> 48 {
	case answered:
		c.Err, c.Done, c.Version = nil, from[0]&doneBit != 0, Version(from[1])
		switch {
		case c.Kind == Get && c.Done:
			c.Value = append(c.Value, value...)
		case c.Kind == Add:
			c.Sum = int64(from[answerHead])
		}
	case tooLong:
		b.tooSmall, again = true, true
	case declined:
		again = true
	case crowded:
		b.waiting = append(b.waiting, i)
	case lostRank:
		c.Err = fmt.Errorf("kv: rank %d: %w", rank,
			&rma.RankError{Rank: int(from[1] >> 1), Left: from[1]&1 != 0})
	case failed:
		c.Err = fmt.Errorf("kv: rank %d: %s", rank, value)
	default:
		return 0, false, core.ErrDisorder
	}
	return words, again, nil
}

// maxKeptBytes is the longest buffer for a value that is kept for the next request.
const maxKeptBytes = 1 << 10

// answer makes calls that another rank has shipped.
func (m *Map) answer(kind uint32, n int, request, answer []uint64) (words int, err error) {
	if kind == kindMove {
		return m.answerMove(n, request, answer)
	}
	if kind != 0 || n < 0 || n > len(request) {
		return 0, errBadRequest
	}
	m.served = slices.Grow(m.served[:0], n)[:n]
	calls, room := m.served, len(answer)
	defer drop(calls)
	for i := range calls {
		if request, err = parse(&calls[i], request); err == nil {
			err = m.cfg.check(&calls[i])
		}
		if err != nil {
			return 0, err
		}
		room -= calls[i].answerHead()
	}
	if len(request) > 0 || room < 0 {
		return 0, errBadRequest
	}
	m.makeShipped(calls)
	m.tally.Add(0, &Counts{Served: uint64(n)})
	for i := range calls { // room is what heads leave for values
		c := &calls[i]
		n := packAnswer(answer[words:words+c.answerHead()+room], c)
		words, room = words+n, room+c.answerHead()-n
	}
	return words, nil
}

// errCrowded is the error of a call that is declined until the table has moved.
var errCrowded = errors.New("kv: the table moves or has to")

// makeShipped makes calls that another rank has shipped. Meanwhile this rank answers nobody else.
// So it declines calls for which the table has to move, as that takes all ranks: who has shipped
// them has it move. When this rank's slots are nearly all taken, and the table can grow, it
// declines what is left of the calls.
func (m *Map) makeShipped(calls []Call) {
	if !m.together.Load() {
		m.together.Store(true)
	}
	size := m.partCalls()
	for begin := 0; begin < len(calls); begin += size {
		if m.isCrowded() && m.sayCrowded() {
			decline(calls[begin:])
			return
		}
		part := calls[begin:min(begin+size, len(calls))]
		var left []int // nil is all
		if m.batches.Any {
			left = m.directBatch(part, nil, []int{}, true)
		}
		if left == nil || len(left) > 0 {
			m.queued(part, left, true)
		}
		for i := range part {
			if part[i].Err == errCrowded {
				decline(calls[begin+len(part):])
				return
			}
		}
	}
}

// decline declines calls until the table has moved.
func decline(calls []Call) {
	for i := range calls {
		calls[i].Err = errCrowded
	}
}

// maxCrowded is how often a rank says that one table is crowded. It may get no memory to grow.
const maxCrowded = 8

// crowdedTable is a table that this rank has said to be crowded.
type crowdedTable struct {
	gen  uint64
	said int // how often
}

// sayCrowded reports whether to say once more that the latest table is crowded.
func (m *Map) sayCrowded() bool {
	if gen := m.latest.Load().gen; m.crowded.gen != gen {
		m.crowded = crowdedTable{gen: gen}
	}
	m.crowded.said++
	return m.crowded.said <= maxCrowded
}

// parse reads a call from the front of a request, and returns what follows it. The key and the
// value to be put stay in the request.
func parse(c *Call, request []uint64) (rest []uint64, err error) {
	if len(request) < callHead {
		return nil, errBadRequest
	}
	const mask = 1<<sizeBits - 1
	head, words := request[0], request[callHead:]
	keySize, valueSize := int(head>>sizeBits&mask), int(head&mask)
	*c = Call{Kind: Kind(min(head>>(2*sizeBits), uint64(kinds))), Value: c.Value}
	if c.Kind.hasNumber() && len(words) > 0 {
		if c.Kind == Add {
			c.Delta = int64(words[0])
		} else {
			c.Version = Version(words[0])
		}
		words = words[1:]
	}
	if core.WordsOf(keySize)+core.WordsOf(valueSize) > len(words) {
		return nil, errBadRequest
	}
	c.Key, words = core.BytesOf(words)[:keySize:keySize], words[core.WordsOf(keySize):]
	if c.Kind.givesValue() {
		c.Value = core.BytesOf(words)[:valueSize:valueSize]
	}
	return words[core.WordsOf(valueSize):], nil
}

// drop drops calls that were answered, and keeps short buffers for what a Get finds.
func drop(calls []Call) {
	for i := range calls {
		value := calls[i].Value
		if calls[i].Kind != Get || cap(value) > maxKeptBytes {
			value = nil
		}
		calls[i] = Call{Value: value[:0]}
	}
}

// packAnswer packs the answer to a call, and returns its words. There is room for its head.
func packAnswer(to []uint64, c *Call) (words int) {
	var gone *rma.RankError
	var full *FullError
	var wrong *CounterError
	var value []byte
	status, second, head := uint64(answered), uint64(c.Version), c.answerHead()
	switch {
	case c.Err == errCrowded:
		status = crowded
	case c.Err == nil && c.Kind == Get && c.Done:
		value = c.Value
		if head+core.WordsOf(len(value)) > len(to) {
			status, value = tooLong, nil
		}
	case c.Err == nil:
	case c.Kind == Get || errors.As(c.Err, &full) || errors.As(c.Err, &wrong):
		status = declined
	case errors.As(c.Err, &gone):
		status, second = lostRank, uint64(gone.Rank)<<1
		if gone.Left {
			second++
		}
	default:
		text := c.Err.Error()
		status, value = failed, []byte(text[:min(len(text), 8*(len(to)-head))])
	}
	to[0] = status<<48 | uint64(len(value))
	if c.Done {
		to[0] |= doneBit
	}
	to[1] = second
	if c.Kind == Add {
		to[answerHead] = uint64(c.Sum)
	}
	return head + pack(to[head:], value)
}

var errBadRequest = errors.New("kv: a malformed request; run the same program on every rank")
