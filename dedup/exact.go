package dedup

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// exact remembers records themselves, in a set of strings.
type exact struct {
	job    rma.Job
	own    rma.Job // the same where this filter has made it
	set    *set.Bytes
	counts *counts // nil unless records are counted
	chains uint64  // records that are chains

	lines   [][]byte // of a batch: records, or the last links of chains
	results []set.Result
	refs    []set.Ref
	fresh   fresh
}

// arenaBytes is what a set of strings takes for each bucket of its last table beside the table.
const arenaBytes = 30

// newExact is for this process alone where job is nil, else collective.
func newExact(ctx context.Context, job rma.Job, cfg *Config) (*exact, error) {
	e := &exact{results: make([]set.Result, batchRecords), refs: make([]set.Ref, batchRecords)}
	if cfg.Count {
		e.counts = new(counts)
	}
	if job == nil {
		job = local.Single()
		e.own = job
	}
	e.job = job
	shape := set.Config{MaxBytes: cfg.MemoryBytes}
	if cfg.MemoryBytes > 0 {
		line := uint64(8 * job.Size())
		first := planGrowth(cfg.MemoryBytes, bytesPerBucket+arenaBytes).first
		shape.Buckets = max(first/line*line, line)
		shape.MaxBytes = max(shape.MaxBytes, shape.Buckets*(bytesPerBucket+arenaBytes))
	}
	var err error
	e.set, err = set.NewBytes(ctx, job, set.BytesConfig{Config: shape})
	if err != nil && e.own != nil {
		err = errors.Join(err, e.own.Close())
	}
	return e, err
}

func (e *exact) close() error {
	err := e.set.Close()
	if e.own != nil {
		err = errors.Join(err, e.own.Close())
	}
	return err
}

// bytes is what all records take. Where another rank cannot be asked its records are missing.
func (e *exact) bytes() uint64 {
	n, _ := e.set.Memory(context.Background())
	return n + e.counts.sizeBytes()
}

// answer answers the records of a batch by their keys. It returns how many it has answered, from
// the first on, and how many of them are new. The set answers a batch in no order: of equal records
// that are new, the first is the one to keep.
func (e *exact) answer(keys, records [][]byte, seen []bool) (answered, added int, err error) {
	n, err := e.findOrPut(keys)
	e.fresh.begin(e.results[:n], e.refs[:n])
	for i, ref := range e.refs[:n] {
		if e.results[i] == set.Full {
			return i, added, err
		}
		if seen[i] = !e.fresh.take(ref); !seen[i] {
			added++
		}
		e.counts.add(ref, seen[i], keys[i], records[i])
	}
	return n, added, err
}

// findOrPut puts the keys of a batch into the set, up to the first that there is an error with. It
// returns how many have results.
func (e *exact) findOrPut(keys [][]byte) (n int, err error) {
	e.lines = e.lines[:0]
	for _, key := range keys {
		if len(key) >= set.MaxStringBytes {
			if key, err = e.chain(key); err != nil {
				break
			}
		}
		e.lines = append(e.lines, key)
	}
	n = len(e.lines)
	errPut := e.set.FindOrPutRefs(e.lines, e.results[:n], e.refs[:n])
	clear(e.lines) // they are memory of the caller
	if full := (*set.FullError)(nil); errPut != nil && !errors.As(errPut, &full) {
		return 0, errPut
	}
	return n, cmp.Or(errPut, err)
}

// A record that is as long as the longest string, or longer, is a chain of links, which are strings
// of just that length:
//
//	| 1 + reference of the link before it (8) | 2 * its bytes + last (8) | the bytes, zeros |
//
// Two records are equal if the last links of their chains are.
const (
	linkHeadBytes = 16
	linkBytes     = set.MaxStringBytes - linkHeadBytes // of the record
)

// chain stores all links of a record but the last, which it returns.
func (e *exact) chain(record []byte) (last []byte, err error) {
	if e.own == nil {
		return nil, fmt.Errorf("dedup: a record has %d bytes; an exact filter of several ranks "+
			"takes less than %d; use one process for longer ones", len(record), set.MaxStringBytes)
	}
	e.chains++
	for before := uint64(0); ; {
		n := min(len(record), linkBytes)
		link := make([]byte, set.MaxStringBytes)
		binary.LittleEndian.PutUint64(link, before)
		head := uint64(n) << 1
		if n == len(record) {
			head |= 1
		}
		binary.LittleEndian.PutUint64(link[8:], head)
		copy(link[linkHeadBytes:], record[:n])
		if n == len(record) {
			return link, nil
		}
		var result [1]set.Result
		var ref [1]set.Ref
		if err := e.set.FindOrPutRefs([][]byte{link}, result[:], ref[:]); err != nil {
			return nil, err
		}
		before, record = uint64(ref[0])+1, record[n:]
	}
}

// appendRecord appends the record that a string, or the last link of a chain, stands for.
func (e *exact) appendRecord(dst []byte, ref set.Ref) ([]byte, error) {
	begin := len(dst)
	dst, err := e.set.Append(dst, ref)
	if err != nil || len(dst)-begin < set.MaxStringBytes {
		return dst, err
	}
	link := dst[begin:]
	n := binary.LittleEndian.Uint64(link[8:]) >> 1
	bytes := append([]byte(nil), link[linkHeadBytes:linkHeadBytes+n]...)
	dst = dst[:begin]
	if before := binary.LittleEndian.Uint64(link); before > 0 {
		if dst, err = e.appendRecord(dst, set.Ref(before-1)); err != nil {
			return dst, err
		}
	}
	return append(dst, bytes...), nil
}

// all yields all records with their counts.
func (e *exact) all(yield func([]byte, uint64) bool) {
	var record []byte
	for id, n := range e.counts.n {
		if id < len(e.counts.whole) && e.counts.whole[id] != nil {
			record = append(record[:0], e.counts.whole[id]...)
		} else {
			record, _ = e.appendRecord(record[:0], e.counts.refs[id]) // own memory does not fail
		}
		if !yield(record, n) {
			return
		}
	}
}

// sharedLen is how many records all ranks have inserted, as far as they can be asked.
func (e *exact) sharedLen() uint64 {
	n, _ := e.set.Len(context.Background()) // without an answer it is 0
	return n
}

// fresh is the references that a batch has inserted, each until it is taken: a table of them plus
// one.
type fresh struct {
	slots []uint64
	mask  uint64
}

const takenOnce = 1 << 63

func (f *fresh) begin(results []set.Result, refs []set.Ref) {
	size := 2 << bits.Len(uint(len(results)))
	if len(f.slots) < size {
		f.slots = make([]uint64, size)
	}
	clear(f.slots[:size])
	f.mask = uint64(size - 1)
	for i, r := range results {
		if r == set.Inserted {
			*f.slot(refs[i]) = uint64(refs[i]) + 1
		}
	}
}

// take reports whether the batch has inserted a reference, the first time that it is asked.
func (f *fresh) take(ref set.Ref) bool {
	slot := f.slot(ref)
	if *slot != uint64(ref)+1 {
		return false
	}
	*slot |= takenOnce
	return true
}

// slot is where a reference is, or would be.
func (f *fresh) slot(ref set.Ref) *uint64 {
	i := uint64(ref) * 0x9E3779B97F4A7C15 >> 32
	for ; ; i++ {
		slot := &f.slots[i&f.mask]
		if *slot == 0 || *slot&^takenOnce == uint64(ref)+1 {
			return slot
		}
	}
}

// counts is how often each record was seen, in the order of their first occurrences. Nil counts
// nothing.
type counts struct {
	ids    []uint32  // a record's number plus one, by its reference
	refs   []set.Ref // of the records, by their numbers
	n      []uint64
	whole  [][]byte // the records whose keys are something else, in chunks; nil for others
	chunk  []byte   // room for more bytes
	chunks uint64   // bytes of all chunks
}

const chunkBytes = 1 << 20

func (c *counts) sizeBytes() uint64 {
	if c == nil {
		return 0
	}
	const header = 24
	return uint64(cap(c.ids))*4 + uint64(cap(c.refs)+cap(c.n))*8 + uint64(cap(c.whole))*header +
		c.chunks
}

// add counts a record, which is a new one unless it was seen.
func (c *counts) add(ref set.Ref, seen bool, key, record []byte) {
	switch {
	case c == nil:
	case seen:
		c.n[c.ids[ref]-1]++
	default:
		if more := int(ref) + 1 - len(c.ids); more > 0 {
			c.ids = append(c.ids, make([]uint32, more)...)
		}
		c.refs, c.n = append(c.refs, ref), append(c.n, 1)
		c.ids[ref] = uint32(len(c.refs))
		if len(key) != len(record) || len(key) > 0 && &key[0] != &record[0] {
			c.whole = append(c.whole, make([][]byte, len(c.refs)-len(c.whole))...)
			c.whole[len(c.refs)-1] = c.store(record)
		}
	}
}

// store copies bytes into a chunk.
func (c *counts) store(data []byte) []byte {
	if len(data) > cap(c.chunk)-len(c.chunk) {
		size := max(chunkBytes, len(data))
		c.chunk = make([]byte, 0, size)
		c.chunks += uint64(size)
	}
	begin := len(c.chunk)
	c.chunk = append(c.chunk, data...)
	return c.chunk[begin:len(c.chunk):len(c.chunk)]
}
