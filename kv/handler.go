package kv

import (
	"errors"
	"slices"

	"github.com/farhash/farhash/rma"
)

// handler makes the calls that other ranks have shipped, one request at a time.
type handler struct {
	calls  []Call
	bytes  []byte   // their keys, and the values to be put
	values [][]byte // by call: for what a Get finds
}

// maxKeptBytes is the longest buffer for a value that is kept for the next request.
const maxKeptBytes = 1 << 10

// answer makes calls that another rank has shipped.
func (m *Map) answer(kind uint32, n int, request, answer []uint64) (words int, err error) {
	if kind != 0 || n < 0 || n > len(request) || n*answerHead > len(answer) {
		return 0, errBadRequest
	}
	d := &m.handler
	d.calls = slices.Grow(d.calls[:0], n)[:n]
	d.bytes = slices.Grow(d.bytes[:0], 8*len(request)) // so that it does not move
	for len(d.values) < n {
		d.values = append(d.values, nil)
	}
	defer d.clear()
	for i := range d.calls {
		if request, err = d.parse(i, request); err == nil {
			err = m.cfg.check(&d.calls[i])
		}
		if err != nil {
			return 0, err
		}
	}
	if len(request) > 0 {
		return 0, errBadRequest
	}
	if !m.batches.Any {
		m.queued(d.calls, nil)
	} else if left := m.makeDirect(d.calls, nil, nil); len(left) > 0 {
		m.queued(d.calls, left)
	}
	m.tally.Add(0, &sums{Served: uint64(n)})
	for i := range d.calls {
		room := len(answer) - words - (n-1-i)*answerHead
		words += packAnswer(answer[words:words+room], &d.calls[i])
	}
	return words, nil
}

// parse reads call i from the front of a request, and returns what follows it.
func (d *handler) parse(i int, request []uint64) (rest []uint64, err error) {
	if len(request) < callHead {
		return nil, errBadRequest
	}
	const mask = 1<<sizeBits - 1
	c, head, words := &d.calls[i], request[0], request[callHead:]
	keySize, valueSize := int(head>>sizeBits&mask), int(head&mask)
	*c = Call{Kind: Kind(min(head>>(2*sizeBits), uint64(kinds)))}
	if c.Kind == CompareAndPut && len(words) > 0 {
		c.Version, words = Version(words[0]), words[1:]
	}
	if wordsOf(keySize)+wordsOf(valueSize) > len(words) {
		return nil, errBadRequest
	}
	c.Key, words = d.unpack(words, keySize), words[wordsOf(keySize):]
	if c.Value = d.values[i]; c.Kind.puts() {
		c.Value = d.unpack(words, valueSize)
	}
	return words[wordsOf(valueSize):], nil
}

// unpack is size bytes that lie in words.
func (d *handler) unpack(words []uint64, size int) []byte {
	from := len(d.bytes)
	d.bytes = unpack(d.bytes, words, size)
	return d.bytes[from:len(d.bytes):len(d.bytes)]
}

// clear drops the calls, and keeps the buffers for values.
func (d *handler) clear() {
	for i := range d.calls {
		if c := &d.calls[i]; c.Kind == Get && cap(c.Value) <= maxKeptBytes {
			d.values[i] = c.Value[:0]
		}
	}
	clear(d.calls)
}

// packAnswer packs the answer to a call, and returns its words. There is room for its head.
func packAnswer(to []uint64, c *Call) (words int) {
	var gone *rma.RankError
	var full *FullError
	var value []byte
	status, second := uint64(answered), uint64(c.Version)
	switch {
	case c.Err == nil && c.Kind == Get && c.Done:
		value = c.Value
		if answerHead+wordsOf(len(value)) > len(to) {
			status, value = tooLong, nil
		}
	case c.Err == nil:
	case c.Kind == Get || errors.As(c.Err, &full):
		status = declined
	case errors.As(c.Err, &gone):
		status, second = lostRank, uint64(gone.Rank)<<1
		if gone.Left {
			second++
		}
	default:
		text := c.Err.Error()
		status, value = failed, []byte(text[:min(len(text), 8*(len(to)-answerHead))])
	}
	to[0] = status<<48 | uint64(len(value))
	if c.Done {
		to[0] |= doneBit
	}
	to[1] = second
	return answerHead + pack(to[answerHead:], value)
}

var errBadRequest = errors.New("kv: a malformed request; run the same program on every rank")
