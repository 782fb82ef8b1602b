package kv

import "fmt"

// Kind is what a call does.
type Kind uint8

const (
	Get Kind = iota
	Put
	Delete
	PutIfAbsent
	CompareAndPut
	kinds
)

// String is the kind's name.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [...]string{"Get", "Put", "Delete", "PutIfAbsent", "CompareAndPut"}[k]
}

// puts reports whether a call of this kind may store a value.
func (k Kind) puts() bool { return k == Put || k == PutIfAbsent || k == CompareAndPut }

// Call is one operation of a batch, and its answer.
type Call struct {
	Kind Kind
	Key  []byte
	// Value is what to put. A Get appends the value found to it.
	Value []byte
	// Version is what CompareAndPut expects. Afterwards it is the version that the key has now, or
	// 0 if the key is not there.
	Version Version
	// Done: a Get has found the key, a Delete has removed it, one of the others has put.
	Done bool
	// Err is why the operation failed. After an error of the engine a write may or may not
	// have been done.
	Err error
}

// decide is the decision of the protocol: what a call makes of its key, which has a version, 0
// where it is not there. It returns true if the call has to change the slot of the key, and else
// answers the call, without the value of a Get.
func (c *Call) decide(version Version) (changes bool) {
	switch {
	case c.Kind == Get:
	case c.Kind == Delete && version == 0:
	case c.Kind == PutIfAbsent && version != 0:
	case c.Kind == CompareAndPut && c.Version != version:
	default:
		return true
	}
	c.Done, c.Version, c.Err = c.Kind == Get && version != 0, version, nil
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
