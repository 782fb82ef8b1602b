// Package invariant asserts what must hold. Assertions are compiled in under
// the race detector and with the build tag "invariants", and cost nothing
// otherwise.
package invariant
