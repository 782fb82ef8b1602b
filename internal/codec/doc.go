// Package codec gives the bytes of Go values, and the values of bytes: for the states of package
// check, and for the keys and values of typed tables.
//
// [Fields] packs a type of fixed size without padding, in as few bits as its type and its tags
// allow. [Codec] is what typed tables use. It has one of five forms, by the type:
//
//	methods   AppendBinary, and UnmarshalBinary for the pointer           any length
//	text      a string, or a named type that is one                       any length
//	slice     a []byte                                                    any length
//	plain     a type whose packed form is its memory: it is copied        fixed length
//	packed    any other type that Fields packs, in whole bytes            fixed length
//
// Equal keys have equal bytes, in all processes of the same architecture. For this -0 becomes 0 and
// any NaN the same one in keys, and fields named _ are left out. Types with methods see to it
// themselves. Values keep all bits of floating-point numbers.
//
// # Memory
//
// A typed operation allocates nothing where types have a fixed size. The bytes of its key are in a
// [Room] on the stack. A table keeps nothing of a call that it makes directly on memory. The
// compiler does not see that where arguments are in a struct beside results, or are kept by a
// branch that copies them first, so [Hide] hides the room from it. Whoever hides a room
//
//   - passes it to calls alone that keep no part of it, in the heap or in another goroutine, and
//   - calls runtime.KeepAlive for the room after the call.
package codec
