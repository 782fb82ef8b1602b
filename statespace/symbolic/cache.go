package symbolic

import (
	"errors"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/system/memory"
)

// operation is what an entry of the cache is the result of.
type operation uint64

const (
	opUnion operation = iota + 1
	opIntersect
	opMinus
	opFire     // of a transition
	opDisabled // of a transition
	opStuck    // of a run
	opAtMost   // of a constraint and what is left of its constant
	opImage    // by part of a relation, whose nodes are never removed
	opPreimage
	opBelow
	opSaturate // of a run
	opSaturateFire
	opSaturateImage
	opLoops // of a run
	operations
)

// nodesOf says which of the arguments b and c of an operation are nodes. Argument a is one always.
var nodesOf = [operations]struct{ b, c bool }{
	opUnion: {b: true}, opIntersect: {b: true}, opMinus: {b: true}, opFire: {c: true},
	opImage: {c: true}, opPreimage: {c: true}, opSaturate: {b: true}, opSaturateFire: {b: true},
}

// key is an operation and its arguments.
type key struct {
	a    uint64 // the operation, in the bits above a node, and the first argument
	b, c uint64
	hash uint64 // of the others
}

// opShift is where the operation is in the first word of a key. Between it and the node an entry
// has a version.
const opShift = 56

func keyOf(op operation, a Node, b, c uint64) key {
	first := uint64(op)<<opShift | uint64(a)
	return key{first, b, c, hash(first, b, c)}
}

// entry is four words: an operation and its result. The first is zero where there is none:
//
//	| operation (8) | writing (1) | version (19) | first argument (36) |
//	 63           56       55      54          36 35                  0
//
// Where several goroutines run, one that writes an entry sets the bit and changes the version. Who
// has read the same first word before and after the others has an entry that is whole.
type entry struct {
	tag    uint64
	b, c   uint64
	result Node
}

const (
	writing     = 1 << (opShift - 1)
	versionOne  = 1 << nodeBits
	versionMask = writing - versionOne
)

// cache keeps results of operations. A result takes the place of another one with the same hash, so
// that there are lookups that do not find what was there before.
type cache struct {
	entries  []entry       // a power of two
	prints   []uint32      // fingerprints: a byte for each entry
	most     int           // entries
	replaced atomic.Uint64 // since the cache has grown
	shared   bool          // several goroutines run
	release  func() error
}

const firstEntries = 1 << 12

func (c *cache) open(bytes uint64) (err error) {
	c.most = max(firstEntries, 1<<(bits.Len64(bytes/entryBytes)-1))
	c.entries, c.prints, c.release, err = newEntries(firstEntries)
	return err
}

// newEntries are outside the Go heap, whose limit would else be twice their memory, and in huge
// pages where they are many.
func newEntries(n int) ([]entry, []uint32, func() error, error) {
	words, releaseWords, err := memory.Words(n * entryBytes / 8)
	if err != nil {
		return nil, nil, nil, err
	}
	prints, releasePrints, err := memory.Words(n / 8)
	if err != nil {
		return nil, nil, nil, errors.Join(err, releaseWords())
	}
	release := func() error { return errors.Join(releaseWords(), releasePrints()) }
	return unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(words))), n),
		unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(prints))), n/4), release, nil
}

// close gives the memory back.
func (c *cache) close() error {
	release := c.release
	c.entries, c.prints, c.release = nil, nil, nil
	if release == nil {
		return nil
	}
	return release()
}

const entryBytes = 32

func hash(a, b, c uint64) uint64 {
	high, low := bits.Mul64(a^0x9E3779B97F4A7C15, (b+c*0xC2B2AE3D27D4EB4F)^0xD6E8FEB86659FD93)
	return (high ^ low) * 0x9FB21C651E98DF25 >> 20
}

// An entry has a fingerprint, a byte of the hash of its operation, zero where there was none. Most
// lookups that find nothing end there: fingerprints are in the caches of the processor far longer
// than entries, of which they are a 32nd part. Where two goroutines write fingerprints of one word
// one of the writes may be lost, and with it the result.

const printMask = 0xff

func fingerprint(hash uint64) uint32 { return uint32(hash>>36)&printMask | 1 }

// setPrint sets the fingerprint of an entry, and reports whether it had one.
func setPrint(prints []uint32, i uint64, print uint32) bool {
	p, shift := &prints[i/4], i%4*8
	word := atomic.LoadUint32(p)
	next := word&^(printMask<<shift) | print<<shift
	if plainStores {
		*p = next
	} else {
		atomic.StoreUint32(p, next)
	}
	return word>>shift&printMask != 0
}

func (w *worker) setPrint(i uint64, print uint32) {
	if setPrint(w.prints, i, print) {
		w.replaced++
	}
}

// begin returns the result of an operation if the cache has it. Otherwise the operation begins, and
// end ends it; all that it needs is reachable, because garbage may be collected.
func (w *worker) begin(k *key) (Node, bool) {
	w.lookups++
	i := k.hash & uint64(len(w.entries)-1)
	e, print := &w.entries[i], atomic.LoadUint32(&w.prints[i/4])>>(i%4*8)&printMask
	if print == fingerprint(k.hash) {
		tag := atomic.LoadUint64(&e.tag)
		if tag&^versionMask == k.a && atomic.LoadUint64(&e.b) == k.b &&
			atomic.LoadUint64(&e.c) == k.c {
			n := Node(atomic.LoadUint64((*uint64)(&e.result)))
			// mark: begin has read a result
			if atomic.LoadUint64(&e.tag) == tag {
				w.hits++
				return n, true
			}
			// mark: a result is replaced while it is read
		}
	} else if w.cache.shared {
		memory.PrefetchWrite(&e.tag) // put claims it
	}
	if w.crew.signal.Load() != 0 {
		w.attend()
	}
	if w.depth++; w.depth > w.deepest {
		panic(stop{errDepth})
	}
	if w.fuse--; w.fuse < 0 {
		w.tick()
	}
	return Empty, false
}

// end keeps the result of an operation.
func (w *worker) end(k *key, n Node) Node {
	w.depth--
	w.put(k, n)
	return n
}

// put keeps the result of an operation.
func (w *worker) put(k *key, n Node) {
	i := k.hash & uint64(len(w.entries)-1)
	e := &w.entries[i]
	if !w.cache.shared {
		w.setPrint(i, fingerprint(k.hash))
		*e = entry{k.a, k.b, k.c, n}
		return
	}
	tag := atomic.LoadUint64(&e.tag)
	if tag&writing != 0 || !atomic.CompareAndSwapUint64(&e.tag, tag, tag|writing) {
		// mark: a result is lost to another one
		return
	}
	w.setPrint(i, fingerprint(k.hash))
	e.store(k, n)
	// mark: a result is about to be complete
	atomic.StoreUint64(&e.tag, k.a|(tag+versionOne)&versionMask)
}

// plainStores says that stores need not be atomic: an amd64 keeps the order of writes, and its
// atomic stores take as long as all the rest.
const plainStores = runtime.GOARCH == "amd64" && !memory.RaceEnabled

// store stores all words but the first. Others may read them, and see the first one before and
// after.
func (e *entry) store(k *key, n Node) {
	if plainStores {
		e.b, e.c, e.result = k.b, k.c, n
		return
	}
	atomic.StoreUint64(&e.b, k.b)
	atomic.StoreUint64(&e.c, k.c)
	atomic.StoreUint64((*uint64)(&e.result), uint64(n))
}

// slowEntries is from how many entries on the cache grows more slowly. A large one takes long to
// clear, and to read: each entry is a miss of the processor's caches.
const slowEntries = 1 << 20

// growth is how many times as many entries the cache is to have, 1 or more, after so many results
// were replaced: results that are computed again cost more than memory. Of a large cache it depends
// on whether most lookups find a result. Else there is little in the cache that is asked for again,
// and a larger one saves few operations while each takes longer.
func (c *cache) growth(replaced uint64, found bool) int {
	enough, times := len(c.entries)/2, 4
	switch {
	case len(c.entries) < slowEntries:
	case found:
		enough = len(c.entries)
	default:
		enough, times = 4*len(c.entries), 2
	}
	if replaced <= uint64(enough) {
		return 1
	}
	return min(times, c.most/len(c.entries))
}

// growCache makes the cache so many times as large, and keeps what it has. Without memory the cache
// stays as it is from then on. No other worker runs.
func (s *Store) growCache(times int) {
	c := &s.cache
	old, release := c.entries, c.release
	entries, prints, releaseNew, err := newEntries(times * len(old))
	if err != nil {
		c.most = len(old)
		return
	}
	c.entries, c.prints, c.release = entries, prints, releaseNew
	c.replaced.Store(0)
	for i := range old {
		if e := &old[i]; e.tag != 0 {
			hash := hash(e.tag&^versionMask, e.b, e.c)
			at := hash & uint64(len(entries)-1)
			entries[at] = *e
			setPrint(prints, at, fingerprint(hash))
		}
	}
	for _, w := range s.workers {
		w.entries, w.prints = entries, prints
	}
	_ = release() // the addresses are lost at worst
}

// sweep removes the results that have a node for which live is false. No worker runs.
func (c *cache) sweep(live func(Node) bool) {
	for i := range c.entries {
		e := &c.entries[i]
		if e.tag == 0 {
			continue
		}
		is := nodesOf[e.tag>>opShift]
		if !live(Node(e.tag&nodeMask)) || !live(e.result) ||
			is.b && !live(Node(e.b)) || is.c && !live(Node(e.c)) {
			*e = entry{}
			setPrint(c.prints, uint64(i), 0)
		}
	}
}
