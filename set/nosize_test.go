package set

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma"
)

// A set that nobody has given a size takes what is put into it, and keeps all of it.
func TestNoSize(t *testing.T) {
	for _, e := range []engine{engineDirect, engineHidden, engineShared} {
		for _, ranks := range []int{1, 3} {
			if (invariant.Enabled || testing.Short()) && e == engineHidden && ranks == 1 {
				continue // nobody to race with, and every word takes a simulated round trip
			}
			t.Run(fmt.Sprint(e, "/", ranks), func(t *testing.T) {
				jobs, n := ranksOf(t, e, ranks), uint64(3*defaultBuckets)
				if !rma.Reserves(jobs[0]) {
					t.Skip("a default set takes much memory at once here")
				}
				words, err := newSets(jobs, Config{})
				must(t, err)
				elements, err := newElements(jobs, BytesConfig{ElementBytes: 12})
				must(t, err)
				for _, want := range []Result{Inserted, Found} {
					must(t, onAll(ranks, func(rank int) error {
						return putShare(words[rank], elements[rank], n, uint64(rank), want)
					}))
				}
				if have := words[0].oldest.Load().buckets; have < n {
					t.Errorf("%d words in %d buckets", n, have)
				}
				must(t, onAll(ranks, func(rank int) error {
					if err := words[rank].Check(t.Context()); err != nil {
						return err
					}
					return elements[rank].Check(t.Context())
				}))
				must(t, onAll(ranks, func(rank int) error { return words[rank].Close() }))
				must(t, onAll(ranks, func(rank int) error { return elements[rank].Close() }))
			})
		}
	}
}

// putShare puts the share of a rank of n words and as many elements, and expects one answer.
func putShare(s *Set, e *Bytes, n, rank uint64, want Result) error {
	ranks := uint64(s.job.Size())
	for first := rank; first < n; first += 1000 * ranks {
		var words []uint64
		var elements []byte
		for i := first; i < min(n, first+1000*ranks); i += ranks {
			words = append(words, i)
			elements = binary.LittleEndian.AppendUint64(append(elements, "some"...), i)
		}
		results := make([]Result, len(words))
		if err := s.FindOrPutBatch(words, results); err != nil {
			return err
		}
		others := make([]Result, len(words))
		if err := e.FindOrPutPacked(elements, others, nil); err != nil {
			return err
		}
		for i := range words {
			if results[i] != want || others[i] != want {
				return fmt.Errorf("%d is %v and %v, not %v", words[i], results[i], others[i], want)
			}
		}
	}
	return nil
}
