package core

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// stripes is how many copies of each counter there are, so that goroutines of one rank rarely
// write to the same cache line.
const stripes = 16

// Counters adds up statistics: S is a struct of nothing but uint64 fields, or of structs and arrays
// of such fields. It is safe for concurrent use.
type Counters[S any] struct{ striped }

// striped is the memory of Counters. Its methods know no S, so that they are inlined.
type striped struct {
	words  int // of S
	stride int // words from one stripe to the next, in whole cache lines
	sums   []atomic.Uint64
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
	c.sums = make([]atomic.Uint64, stripes*c.stride+lineWords)
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

// stripe is one copy of all counters. Any number will do; goroutines should have different ones.
func (c *striped) stripe(number uint64) []atomic.Uint64 {
	at := int(number%stripes) * c.stride
	return c.sums[at : at+c.words]
}

// Add adds s.
func (c *Counters[S]) Add(stripe uint64, s *S) {
	sums := c.stripe(stripe)
	for i, n := range Words(s) {
		if n > 0 {
			sums[i].Add(n)
		}
	}
}

// Count adds n to one field of the statistics, which lies offset bytes from their beginning
// (unsafe.Offsetof).
func (c *striped) Count(stripe uint64, offset uintptr, n uint64) {
	c.sums[int(stripe%stripes)*c.stride+int(offset/8)].Add(n)
}

// Sum is what was added since NewCounters or Reset. What is added meanwhile may be in it or not.
func (c *Counters[S]) Sum() (s S) {
	words := Words(&s)
	for stripe := range uint64(stripes) {
		sums := c.stripe(stripe)
		for i := range words {
			words[i] += sums[i].Load()
		}
	}
	return s
}

// Reset sets all counters to zero.
func (c *striped) Reset() {
	for i := range c.sums {
		c.sums[i].Store(0)
	}
}
