package intrude

import (
	"sync/atomic"
	"testing"
)

// A compare-and-swap loses to the intruder, and one that meets none wins.
func TestBefore(t *testing.T) {
	m := New(t, 20)
	for i := range m.Words {
		at := &m.Words[i]
		m.Before(t, func(words []uint64) {
			if words[i] != 0 {
				t.Errorf("word %d is %d before it is written", i, words[i])
			}
			words[i] = 7
		}, func() {
			if atomic.CompareAndSwapUint64(at, 0, 5) || atomic.LoadUint64(at) != 7 {
				t.Errorf("word %d has %d", i, *at)
			}
		})
		if !atomic.CompareAndSwapUint64(at, 7, 9) {
			t.Errorf("without an intruder word %d has %d", i, *at)
		}
	}
}
