package index

// fitting has a bit for each slot whose record has the home that the group begins with, and the
// signature: bit 3*i for slot i, as slots have 3 words of 16 bits. No branch depends on the slots.
//
//go:noescape
func fitting(group *farGroup, signature uint32) (slots uint32)
