package set

import (
	"bytes"
	"fmt"
	"testing"
)

// Find and FindRefs give every rank the references that insertions have given, and none for what is
// not there, whatever refs held before.
func TestFindRefs(t *testing.T) {
	const ranks, each, size = 3, 200, 20
	for e := range allEngines {
		for _, anyLength := range []bool{false, true} {
			cfg := BytesConfig{ElementBytes: size, Capacity: ranks*each + 2048,
				Config: Config{Buckets: 4 * ranks * each, Access: e.access()}}
			makeSets := newElements
			if anyLength {
				cfg, makeSets = stringsConfig(cfg.Config, ranks), newStrings
			}
			sets, err := makeSets(ranksOf(t, e, ranks), cfg)
			must(t, err)
			var elements [][]byte
			var want []Ref
			for rank, s := range sets {
				own, refs := make([][]byte, each), make([]Ref, each)
				for i := range own {
					own[i] = make([]byte, size)
					elementOfID(own[i], rank*each+i)
				}
				must(t, s.FindOrPutRefs(own, make([]Result, each), refs))
				elements, want = append(elements, own...), append(want, refs...)
			}
			absent := bytes.Repeat([]byte{0xee}, size)
			for rank, s := range sets {
				got, results := make([]Ref, len(want)+1), make([]Result, len(want)+1)
				got[len(want)] = 7
				must(t, s.FindRefs(append(elements[:len(want):len(want)], absent), results, got))
				for i, ref := range got[:len(want)] {
					one, ok, err := s.Find(elements[i])
					must(t, err)
					if ref != want[i] || results[i] != Found || one != want[i] || !ok {
						t.Fatalf("%v, any length %v: rank %d: element %d has reference %d; found "+
							"as %d, %v, alone %d, %v", e, anyLength, rank, i, want[i], ref,
							results[i], one, ok)
					}
				}
				ref, ok, err := s.Find(absent)
				must(t, err)
				if got[len(want)] != 0 || results[len(want)] != NotFound || ref != 0 || ok {
					t.Errorf("%v: an absent element: %d, %v, alone %d, %v", e, got[len(want)],
						results[len(want)], ref, ok)
				}
				fails(t, "few references", s.FindRefs(elements[:3], results[:3], got[:2]),
					fmt.Sprint(2))
			}
		}
	}
}
