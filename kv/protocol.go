package kv

import (
	"encoding/binary"
	"fmt"

	"github.com/farhash/farhash/internal/plural"
)

// Kind is what a call does.
type Kind uint8

const (
	Get Kind = iota
	Put
	Delete
	PutIfAbsent
	CompareAndPut
	Add
	kinds
)

// String is the kind's name.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [...]string{"Get", "Put", "Delete", "PutIfAbsent", "CompareAndPut", "Add"}[k]
}

// puts reports whether a call of this kind may store a value.
func (k Kind) puts() bool { return k.givesValue() || k == Add }

// givesValue reports whether a call of this kind has the value that it may store.
func (k Kind) givesValue() bool { return k == Put || k == PutIfAbsent || k == CompareAndPut }

// Call is one operation of a batch, and its answer.
type Call struct {
	Kind Kind
	Key  []byte
	// Value is what to put. A Get appends the value found to it.
	Value []byte
	// Delta is what to add. Sum is the counter after it, if the Add is Done.
	Delta, Sum int64
	// Version is what CompareAndPut expects. Afterwards it is the version that the key has now, or
	// 0 if the key is not there.
	Version Version
	// Done: a Get has found the key, a Delete has removed it, one of the others has put.
	Done bool
	// Err is why the operation failed. After an error of the engine a write may or may not
	// have been done.
	Err error
}

// counterSize is how many bytes a counter has.
const counterSize = 8

// counter is the value of a key for an Add: how many bytes it has, and its number if these are
// counterSize.
type counter struct {
	size   int
	number int64
}

// counterOf is a value as a counter.
func counterOf(value []byte) counter {
	if len(value) != counterSize {
		return counter{size: len(value)}
	}
	return counter{counterSize, int64(binary.LittleEndian.Uint64(value))}
}

// CounterError says that the value of a key is no counter, as it does not have 8 bytes. An Add has
// not changed it.
type CounterError struct {
	Size int // of the value, in bytes
}

func (e *CounterError) Error() string {
	return fmt.Sprintf("kv: the value has %s, and a counter has %d; add to another key, or "+
		"delete this one first", plural.Of(e.Size, "byte"), counterSize)
}

// valueSize is how many bytes the value has that a call may store.
func (c *Call) valueSize() int {
	if c.Kind == Add {
		return counterSize
	}
	return len(c.Value)
}

// stored is the value that a call stores. That of an Add is written to sum.
func (c *Call) stored(sum *[counterSize]byte) []byte {
	if c.Kind != Add {
		return c.Value
	}
	binary.LittleEndian.PutUint64(sum[:], uint64(c.Sum))
	return sum[:]
}

// class is the class of the item that a call may store.
func (c *Call) class() int { return classFor(itemWords(len(c.Key), c.valueSize())) }

// decide is the decision of the protocol: what a call makes of its key, which has a version, 0
// where it is not there, and for an Add a value. It returns true if the call has to change the slot
// of the key, where an Add has its sum, and else answers the call, without the value of a Get.
func (c *Call) decide(version Version, old counter) (changes bool) {
	var err error
	switch {
	case c.Kind == Get:
	case c.Kind == Delete && version == 0:
	case c.Kind == PutIfAbsent && version != 0:
	case c.Kind == CompareAndPut && c.Version != version:
	case c.Kind == Add && version == 0:
		c.Sum = c.Delta
		return true
	case c.Kind == Add && old.size == counterSize:
		c.Sum = old.number + c.Delta
		return true
	case c.Kind == Add:
		err = &CounterError{old.size}
	default:
		return true
	}
	c.Done, c.Version, c.Err = c.Kind == Get && version != 0, version, err
	return false
}

// meaning is what the word of a slot means for the search for a key in a table.
type meaning uint8

const (
	slotEmpty  meaning = iota + 1 // the key is not there, and can be put here
	slotMoved                     // what it had is in the next table
	slotClosed                    // it was empty when it moved: the search goes to the next table
	slotLater                     // it is of a later table: this one has moved
	slotOther                     // it has another key
	slotMatch                     // it may have the key
)

// meaningOf is what a word means in a table of generation gen for a key with this hash.
func meaningOf(word, hash, gen uint64) meaning {
	from := movedFrom(word)
	switch {
	case mayMatch(word, hash):
		return slotMatch
	case word&occupied != 0:
		return slotOther
	case from < gen:
		return slotEmpty
	case from > gen:
		return slotLater
	case word&wasEmpty != 0:
		return slotClosed
	}
	return slotMoved
}
