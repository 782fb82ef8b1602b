package set

import (
	"runtime"
	"testing"
	"unsafe"
)

// codeOf is where the code of a function begins.
func codeOf[F any](fn F) unsafe.Pointer { return **(**unsafe.Pointer)(unsafe.Pointer(&fn)) }

// functionAt names the function that begins at some code; "" if none does.
func functionAt(code unsafe.Pointer) string {
	f := runtime.FuncForPC(uintptr(code))
	if f == nil || f.Entry() != uintptr(code) {
		return ""
	}
	return f.Name()
}

// codeBytes is the code of the function that begins there.
func codeBytes(code unsafe.Pointer) []byte {
	n, entry := 1, uintptr(code)
	for f := runtime.FuncForPC(entry); f != nil && f.Entry() == entry; n++ {
		f = runtime.FuncForPC(entry + uintptr(n))
	}
	return unsafe.Slice((*byte)(code), n-1)
}

// assembly is the code of a function in assembly, which Go calls by a wrapper of the same name.
// With mutants in place, Go calls the right function among others, under another name.
func assembly(wrapper unsafe.Pointer) []byte {
	const call, callBytes = 0xe8, 5
	name, code := functionAt(wrapper), codeBytes(wrapper)
	for at := range len(code) - callBytes {
		if code[at] != call {
			continue
		}
		distance := *(*int32)(unsafe.Pointer(&code[at+1]))
		to := unsafe.Add(wrapper, at+callBytes+int(distance))
		switch functionAt(to) {
		case name:
			return codeBytes(to)
		case name + "OverlayRight":
			return assembly(to)
		}
	}
	return code
}

// TestSwapsAreLocked: each compare-and-swap of the assembly has the prefix LOCK, without which two
// processors may win. No test could wait for that.
func TestSwapsAreLocked(t *testing.T) {
	const lock = 0xf0
	for name, f := range map[string]struct {
		wrapper unsafe.Pointer
		swaps   int
	}{
		"searchAVX512":      {codeOf(searchAVX512), 1},
		"searchAVX512Write": {codeOf(searchAVX512Write), 1},
		"searchAVX2":        {codeOf(searchAVX2), 1},
		"searchAVX2Write":   {codeOf(searchAVX2Write), 1},
		"insertFirst":       {codeOf(insertFirst), 2},
		"searchShort":       {codeOf(searchShort), 1},
	} {
		code, swaps := assembly(f.wrapper), 0
		for i := 1; i+2 < len(code); i++ {
			// CMPXCHG of 64 bits: a prefix REX with W, and 0f b1.
			if code[i]&0xf8 != 0x48 || code[i+1] != 0x0f || code[i+2] != 0xb1 {
				continue
			}
			if swaps++; code[i-1] != lock {
				t.Errorf("%s swaps without LOCK at %#x", name, i)
			}
		}
		if swaps != f.swaps {
			t.Errorf("%s has %d bytes and %d compare-and-swaps, want %d", name, len(code), swaps,
				f.swaps)
		}
	}
}
