package core

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// stripes is how many copies of each counter there are, so that goroutines of one rank rarely
// write to the same cache line.
const stripes = 16

// Counters adds up statistics: S is a struct of nothing but uint64 fields, or of structs and arrays
// of such fields. It is safe for concurrent use.
type Counters[S any] struct {
	singles
	parts [stripes]part[S]
}

// part is what Add has added up in one stripe. A lock costs as much as two atomic additions, and
// most statistics have more fields than that.
type part[S any] struct {
	mu  sync.Mutex
	sum S
	_   [lineWords]uint64
}

// singles is what Count has added up. Its methods know no S, so that they are inlined.
type singles struct {
	words  int // of S
	stride int // words from one stripe to the next, in whole cache lines
	counts []atomic.Uint64
}

// NewCounters makes counters that are zero. It panics if S has fields that are not uint64, which
// is a fault of the table.
func NewCounters[S any]() *Counters[S] {
	if kind := reflect.TypeFor[S](); !isWords(kind) {
		panic(fmt.Sprintf("core: %v has fields that are not uint64", kind))
	}
	c := new(Counters[S])
	c.words = int(unsafe.Sizeof(*new(S)) / 8)
	c.stride = (c.words + lineWords - 1) / lineWords * lineWords
	c.counts = make([]atomic.Uint64, stripes*c.stride+lineWords)
	return c
}

// lineWords is the words of a cache line.
const lineWords = 8

// isWords reports whether values of a type are 64-bit words and nothing else.
func isWords(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Uint64:
		return true
	case reflect.Array:
		return isWords(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isWords(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

// Stripe is the stripe of this goroutine, chosen by the address of its stack. That costs less than
// a shared counter, whose line is often in the cache of another core.
func Stripe() uint64 {
	var here byte
	return uint64(uintptr(unsafe.Pointer(&here)) >> stackBits % stripes)
}

// stackBits is the size of most stacks: 8 KiB.
const stackBits = 13

// Words is the memory of statistics as [Counters] have them.
func Words[S any](s *S) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(s)), unsafe.Sizeof(*s)/8)
}

// Add adds s. Any number will do as the stripe; goroutines should have different ones.
func (c *Counters[S]) Add(stripe uint64, s *S) {
	p := c.lock(stripe)
	sum := Words(&p.sum)
	for i, n := range Words(s) {
		sum[i] += n
	}
	p.mu.Unlock()
}

// lock locks a part that no other goroutine has locked, where there is one: one that has the lock
// may not be running.
func (c *Counters[S]) lock(stripe uint64) *part[S] {
	for range stripes {
		p := &c.parts[stripe%stripes]
		if p.mu.TryLock() {
			return p
		}
		stripe++
	}
	p := &c.parts[stripe%stripes]
	p.mu.Lock()
	return p
}

// Count adds n to one field of the statistics, offset bytes from their beginning
// (unsafe.Offsetof).
func (c *singles) Count(stripe uint64, offset uintptr, n uint64) {
	c.counts[int(stripe%stripes)*c.stride+int(offset/8)].Add(n)
}

// Sum is what was added since NewCounters or Reset. What is added at the same time may be in it
// or not.
func (c *Counters[S]) Sum() (s S) {
	words := Words(&s)
	for stripe := range c.parts {
		p := &c.parts[stripe]
		p.mu.Lock()
		for i, n := range Words(&p.sum) {
			words[i] += n + c.counts[stripe*c.stride+i].Load()
		}
		p.mu.Unlock()
	}
	return s
}

// Reset sets all counters to zero.
func (c *Counters[S]) Reset() {
	for stripe := range c.parts {
		p := &c.parts[stripe]
		p.mu.Lock()
		clear(Words(&p.sum))
		p.mu.Unlock()
	}
	for i := range c.counts {
		c.counts[i].Store(0)
	}
}
