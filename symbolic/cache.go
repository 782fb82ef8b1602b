package symbolic

import (
	"math/bits"
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

// operation is what an entry of the cache is the result of.
type operation uint64

const (
	opUnion operation = iota + 1
	opIntersect
	opMinus
	opFire      // of a transition
	opFireUnion // of a transition
	opSaturate  // of a run
	opFireSaturate
	opSaturateLevels
	opDisabled // of a transition
	opStuck    // of a run
	opAtMost   // of a constraint and what is left of its constant
	opImage    // by part of a relation, whose nodes are never removed
	opImageUnion
	opPreimage
	opBelow
	opSaturateBy // of a run
	opImageSaturate
	opLoopsBy // of a run
	operations
)

// nodesOf says which of the arguments b and c of an operation are nodes. Argument a is one always.
var nodesOf = [operations]struct{ b, c bool }{
	opUnion: {b: true}, opIntersect: {b: true}, opMinus: {b: true}, opFireUnion: {c: true},
	opImageUnion: {c: true}, opPreimage: {c: true},
}

// key is an operation and its arguments: two words and a half.
type key struct {
	a    uint64 // the operation, in the bits above a node, and the first argument
	b, c uint64
}

const opShift = 56

func keyOf(op operation, a Node, b, c uint64) key {
	return key{uint64(op)<<opShift | uint64(a), b, c}
}

// entry is four words: an operation and its result. None has the key zero.
type entry struct {
	key
	result Node
}

// cache keeps results of operations. A result takes the place of another one with the same hash, so
// that there are lookups that do not find what was there before.
type cache struct {
	entries  []entry // a power of two
	most     int     // entries
	replaced int     // since the cache has grown
	release  func() error

	lookups, hits uint64
}

const firstEntries = 1 << 12

func newCache(bytes uint64) (c cache, err error) {
	c.most = max(firstEntries, 1<<(bits.Len64(bytes/entryBytes)-1))
	c.entries, c.release, err = newEntries(firstEntries)
	return c, err
}

// newEntries are outside the Go heap, whose limit would else be twice their memory, and in huge
// pages where they are many.
func newEntries(n int) ([]entry, func() error, error) {
	words, release, err := memory.Words(n * entryBytes / 8)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(words))), n), release, nil
}

// close gives the memory back.
func (c *cache) close() error {
	if c.release == nil {
		return nil
	}
	release := c.release
	*c = cache{lookups: c.lookups, hits: c.hits}
	return release()
}

const entryBytes = 32

func (k *key) hash() uint64 {
	high, low := bits.Mul64(k.a^0x9E3779B97F4A7C15, (k.b+k.c*0xC2B2AE3D27D4EB4F)^0xD6E8FEB86659FD93)
	return (high ^ low) * 0x9FB21C651E98DF25 >> 20
}

func (c *cache) at(k *key) *entry { return &c.entries[k.hash()&uint64(len(c.entries)-1)] }

// get is the result of an operation.
func (c *cache) get(k *key) (Node, bool) {
	c.lookups++
	if e := c.at(k); e.key == *k {
		c.hits++
		return e.result, true
	}
	return Empty, false
}

// put keeps the result of an operation. Where half as many were replaced as there are entries, the
// cache grows: results that are computed again cost more than its memory.
func (c *cache) put(k *key, result Node) {
	e := c.at(k)
	if e.a != 0 {
		if c.replaced++; c.replaced > len(c.entries)/2 && len(c.entries) < c.most {
			c.grow()
			e = c.at(k)
		}
	}
	*e = entry{*k, result}
}

// grow makes the cache four times as large, or as large as it may be, and keeps what it has.
// Without memory the cache stays as it is from then on.
func (c *cache) grow() {
	old, release := c.entries, c.release
	entries, releaseNew, err := newEntries(min(4*len(old), c.most))
	if err != nil {
		c.most = len(old)
		return
	}
	c.entries, c.release, c.replaced = entries, releaseNew, 0
	for i := range old {
		if e := &old[i]; e.a != 0 {
			*c.at(&e.key) = *e
		}
	}
	_ = release() // the addresses are lost at worst
}

// sweep removes the results that have a node for which live is false.
func (c *cache) sweep(live func(Node) bool) {
	for i := range c.entries {
		e := &c.entries[i]
		if e.a == 0 {
			continue
		}
		is := nodesOf[e.a>>opShift]
		if !live(Node(e.a&(1<<opShift-1))) || !live(e.result) ||
			is.b && !live(Node(e.b)) || is.c && !live(Node(e.c)) {
			*e = entry{}
		}
	}
}
