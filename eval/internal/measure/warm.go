package measure

import (
	"runtime/debug"

	"github.com/farhash/farhash/internal/system/memory"
)

// WarmMemory gives memory that Go does not use back to the system and touches so many bytes of it,
// so that stores that are measured in turn find the same memory: pages that the system clears, but
// that it need not ask its host for. A virtual machine that asks its host waits ten times as long.
func WarmMemory(sizeBytes int) error {
	debug.FreeOSMemory()
	words, release, err := memory.Words(sizeBytes / 8)
	if err != nil {
		return err
	}
	for at := 0; at < len(words); at += pageWords {
		words[at] = 1
	}
	return release()
}
