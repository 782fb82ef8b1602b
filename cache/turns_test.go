package cache

import (
	"encoding/binary"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// Writes of one batch do not wait for the locks of each other.
func TestBatchOfOneKey(t *testing.T) {
	for _, mode := range []Mode{Fine, Coarse} {
		job := local.SingleWith(local.Options{Hidden: true})
		c, err := New(t.Context(), job, Config{KeySize: 8, ValueSize: 8, Buckets: 64,
			Mode: mode})
		must(t, err)
		const n = 500
		keys, values := make([]byte, 8*n), make([]byte, 8*n)
		for i := range n {
			binary.LittleEndian.PutUint64(keys[8*i:], uint64(i%3))
			binary.LittleEndian.PutUint64(values[8*i:], uint64(i))
		}
		results, found := make([]Result, n), make([]bool, n)
		must(t, c.PutBatch(keys, values, results))
		is := c.Stats()
		if is.LockWaits > 0 || is.Writes() != n {
			t.Errorf("%v: %d writes have waited %d times", mode, is.Writes(), is.LockWaits)
		}
		must(t, c.GetBatch(keys, values, found))
		for i := range n {
			last := binary.LittleEndian.Uint64(values[8*i:])
			if !found[i] || last%3 != uint64(i%3) || last < n-3 {
				t.Fatalf("%v: key %d has value %d (%v)", mode, i%3, last, found[i])
			}
		}
		must(t, c.Close(), job.Close())
	}
}
