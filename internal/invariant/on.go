//go:build race || invariants

package invariant

// Enabled reports whether assertions are compiled in.
const Enabled = true
