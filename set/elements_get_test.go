package set

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farhash/farhash/rma"
)

// Every rank gets all elements by their references, whichever arena they lie in: one by one, and
// in batches in which references occur twice.
func TestGetBatch(t *testing.T) {
	const ranks, each, size = 4, 300, 20
	for e := range allEngines {
		jobs := ranksOf(t, e, ranks)
		sets, err := newElements(jobs, BytesConfig{ElementBytes: size,
			Capacity: ranks*each + 2048,
			Config:   Config{Buckets: 2 * ranks * each, Depth: 5, Access: e.access()}})
		must(t, err)
		var elements []byte
		var refs []Ref
		for rank, s := range sets {
			buf, own := make([]byte, each*size), make([]Ref, each)
			for i := range each {
				elementOfID(buf[i*size:(i+1)*size], rank*each+i)
			}
			must(t, s.FindOrPutPacked(buf, make([]Result, each), own))
			elements, refs = append(elements, buf...), append(refs, own...)
		}
		elements, refs = append(elements, elements[:size*each]...), append(refs, refs[:each]...)
		for rank, s := range sets {
			got := make([]byte, len(elements))
			must(t, s.GetPacked(refs, got))
			if !bytes.Equal(got, elements) {
				t.Fatalf("%v: rank %d gets others", e, rank)
			}
			for i := 0; i < len(refs); i += 37 {
				one, err := s.Append(nil, refs[i])
				must(t, err)
				if !bytes.Equal(one, elements[i*size:(i+1)*size]) {
					t.Fatalf("%v: rank %d gets another for reference %d", e, rank, i)
				}
			}
			if ships := s.Stats().Queues.Ships; (ships > 1) != e.ships() {
				t.Errorf("%v: rank %d has shipped %d requests", e, rank, ships)
			}
		}
		get := func(refs ...Ref) error {
			return sets[0].GetPacked(refs, make([]byte, 2*size))
		}
		fails(t, "a name", get(refs[0], refMask), "no element")
		fails(t, "a short dst", get(refs[0], refs[1], refs[2]), "40 bytes for 3")
		must(t, sets[0].Close())
		fails(t, "a closed set", get(refs[0], refs[1]), "closed")
	}
}

// When the arena of the owner is full, the requesting rank puts elements into another one, until
// all are full.
func TestOwnersArenaIsFull(t *testing.T) {
	onShips(t, func(t *testing.T, e engine) {
		sets, err := newElements(ranksOf(t, e, 2), BytesConfig{ElementBytes: 8, Capacity: 16,
			Config: Config{Buckets: 4096, Access: rma.Shipped}})
		must(t, err)
		s, inserted := sets[1], uint64(0)
		var full *FullError
		for id := 0; full == nil; {
			var buf []byte
			for len(buf) < 10*8 { // homes of rank 0 alone
				element := make([]byte, 8)
				elementOfID(element, id)
				if id++; s.oldest.Load().owner(hashElement(s.aligned(element))) == 0 {
					buf = append(buf, element...)
				}
			}
			results := make([]Result, 10)
			if err := s.FindOrPutPacked(buf, results, nil); err != nil && !errors.As(err, &full) {
				t.Fatal(err)
			}
			for _, r := range results {
				if r == Inserted {
					inserted++
				}
			}
			if r, err := s.FindOrPut(buf[:8]); (r == Found) != (results[0] == Inserted) {
				t.Fatalf("an element that was %v is then %v, %v", results[0], r, err)
			}
		}
		// Capacity is for two goroutines of each rank.
		if inserted < 16 || !full.NoArena || inserted+4*maxHeldSlots < s.Config().Capacity {
			t.Errorf("%d of %d slots are used; %+v", inserted, s.Config().Capacity, full)
		}
		n, err := s.Len(t.Context())
		must(t, err, sets[0].Check(t.Context()), sets[1].Check(t.Context()))
		if n != inserted {
			t.Errorf("Len is %d after %d insertions", n, inserted)
		}
		noSlotIsLost(t, sets)
	})
}
