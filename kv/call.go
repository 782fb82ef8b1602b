package kv

import (
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
// answers the call, but for the value of a Get.
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

// check refuses calls that the map cannot carry out.
func (c *Config) check(call *Call) error {
	switch {
	case call.Kind >= kinds:
		return fmt.Errorf("kv: there is no %v", call.Kind)
	case len(call.Key) < 1 || len(call.Key) > c.MaxKey:
		return fmt.Errorf("kv: a key of %s; this map takes 1 to %d",
			plural.Of(len(call.Key), "byte"), c.MaxKey)
	case call.Kind.puts() && len(call.Value) > c.MaxValue:
		return fmt.Errorf("kv: a value of %s; this map takes up to %d",
			plural.Of(len(call.Value), "byte"), c.MaxValue)
	}
	return nil
}
