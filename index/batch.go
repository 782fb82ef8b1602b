package index

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// batch is the keys of one call: a core.Ops.
type batch struct {
	r      *Reader
	joined []byte   // keys of one size, one after the other
	size   int      // of a key of these
	list   [][]byte // or keys each for itself
	found  func(i int, v Value) bool
	counts Counts
}

func (b *batch) len() int {
	if b.list != nil {
		return len(b.list)
	}
	return len(b.joined) / b.size
}

func (b *batch) key(i int) []byte {
	if b.list != nil {
		return b.list[i]
	}
	return b.joined[i*b.size : (i+1)*b.size]
}

// run looks up a batch.
func (b *batch) run() error {
	r := b.r
	var err error
	if !r.cfg.OneSided {
		var requests rma.Stats
		requests, err = r.t.batches.Run(context.Background(), b.len(), b)
		b.counts.ShippedRequests = requests.Ships
	} else {
		err = b.Queued(nil)
	}
	r.counters.Add(core.Stripe(), &b.counts)
	return err
}

// Owners gives the ranks that have the records.
func (b *batch) Owners(owners []int32) {
	for i := range owners {
		rank, _ := place(hashKey(b.key(i)), b.r.t.ranks)
		owners[i] = int32(rank)
	}
}

// Batches of lookups may be shipped to the ranks that own the keys (rma.Access; LP section 7
// asks how two-sided probing compares). A key takes its words in a request, after a word with its
// size if keys vary. Its answer is
//
//	| values | value | value | ...         fixed: whole words
//	| values | size | value | size | ...   variable
//
// or manyValues alone: the answer has no room for all of them, and the rank that asked looks
// the key up itself. There is room for twice the values of the mean size.

// messagesOfLookup is about how many messages a lookup takes one-sided.
const messagesOfLookup = 1.1

// manyValues stands for the number of values.
const manyValues = 1<<64 - 1

// near is the memory of a rank where that is addressable, for lookups that need not count requests.
func (r *Reader) near(rank int) []uint64 {
	if r.cfg.OneSided {
		return nil
	}
	return r.t.words(rank)
}

// answerWords is the room for the answer to a lookup of a key.
func (t *table) answerWords() int {
	bytes, words := t.ValueSize, 1
	if t.Variable {
		words++
		if t.Records > 0 {
			bytes = min(bytes, 2*int(t.ValuesBytes/t.Records))
		}
	}
	return words + core.WordsOf(bytes)
}

// Kind, Size, Pack and Unpack make requests and take answers.
func (b *batch) Kind() uint32 { return 0 }

func (b *batch) Size(i int) (request, answer int) {
	t := b.r.t
	if request = core.WordsOf(len(b.key(i))); t.VariableKeys {
		request++
	}
	return request, t.answerWords()
}

func (b *batch) Pack(i int, to []uint64) {
	key := b.key(i)
	to[len(to)-1] = 0
	if b.r.t.VariableKeys {
		to[0] = uint64(len(key))
		to = to[1:]
	}
	copy(core.BytesOf(to), key)
}

// unpackKey is the first key of a request, and what follows it.
func (t *table) unpackKey(request []uint64) (key []byte, rest []uint64, ok bool) {
	size := t.KeySize
	if t.VariableKeys && len(request) > 0 {
		size = int(min(request[0], MaxKeySize+1))
		request = request[1:]
	}
	words := core.WordsOf(size)
	if size > t.KeySize || words > len(request) {
		return nil, nil, false
	}
	return core.BytesOf(request)[:size:size], request[words:], true
}

func (b *batch) Unpack(_, i int, from []uint64) (words int, again bool, err error) {
	if from[0] == manyValues {
		return 1, true, nil
	}
	words, err = b.r.t.unpackValues(from, func(v Value) { b.found(i, v) })
	if err == nil {
		b.counts.Lookups++
		b.counts.Shipped++
		b.counts.Matches += from[0]
	}
	return words, false, err
}

// unpackValues gives the values of an answer and returns its words.
func (t *table) unpackValues(from []uint64, found func(v Value)) (words int, err error) {
	if words = 1; from[0] > t.Records {
		return 0, core.ErrDisorder
	}
	for range from[0] {
		size := uint64(t.ValueSize)
		if t.Variable {
			if words == len(from) {
				return 0, core.ErrDisorder
			}
			size = from[words]
			words++
		}
		if size > uint64(len(from)-words)*8 {
			return 0, core.ErrDisorder
		}
		n := core.WordsOf(int(size))
		found(core.BytesOf(from[words : words+n])[:size:size])
		words += n
	}
	return words, nil
}

// answers are the answers to a request, being packed.
type answers struct {
	t    *table
	to   []uint64
	used int
	head int // where the number of values of the present key is
	keys int // that are still to come
	full bool
}

// begin begins the answer for the next key.
func (a *answers) begin() {
	a.keys--
	a.head, a.full = a.used, false
	a.to[a.head] = 0
	a.used++
}

// add packs a value, and reports whether there is room for more.
func (a *answers) add(_ int, v Value) bool {
	n := core.WordsOf(len(v))
	if a.t.Variable {
		n++
	}
	if a.used+n > len(a.to)-a.keys {
		a.to[a.head], a.used, a.full = manyValues, a.head+1, true
		return false
	}
	if a.t.Variable {
		a.to[a.used] = uint64(len(v))
		a.used++
		n--
	}
	copy(core.BytesOf(a.to[a.used:a.used+n]), v)
	a.used += n
	a.to[a.head]++
	return true
}

// answer looks up the keys of a request.
func (x *Index) answer(_ uint32, n int, request, to []uint64) (int, error) {
	t := x.t
	a := answers{t: t, to: to, keys: n}
	x.counters.Add(0, &Counts{Served: uint64(n)})
	own := t.words(t.job.Rank())
	q, w := query{t: t}, wanted{found: a.add}
	rest := request
	for i := range n {
		var key []byte
		var ok bool
		key, rest, ok = t.unpackKey(rest)
		if !ok || len(to) < n || i == n-1 && len(rest) > 0 {
			return 0, fmt.Errorf("index: a request of %d words with room for %d, for %d keys of "+
				"%d bytes; run the same program on every rank", len(request), len(to), n, t.KeySize)
		}
		hash := hashKey(key)
		if rank, _ := place(hash, t.ranks); rank != t.job.Rank() {
			return 0, fmt.Errorf("index: a key of rank %d was sent to rank %d; run the same "+
				"program on every rank", rank, t.job.Rank())
		}
		a.begin()
		w.number, w.key = i, key
		var err error
		if own == nil { // only queues reach it; the rank that asked counts
			err = (&batch{r: x.Reader, list: [][]byte{key}, found: a.add}).Queued(nil)
		} else if q.begin(key, hash) {
			err = q.walk(&w)
		}
		if err != nil {
			return 0, err
		}
	}
	return a.used, nil
}
