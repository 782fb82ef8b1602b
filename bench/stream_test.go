package bench

import "testing"

// The ranks insert distinct words, in exact number, and find what they inserted.
func TestStreams(t *testing.T) {
	for _, keys := range []Keys{Random, Sequential} {
		for _, apart := range []bool{false, true} {
			seen := map[uint64]bool{}
			for rank := range 3 {
				s := newStream(keys, rank, 3, 1000)
				s.apart = apart
				s.plan(1000, 1500)
				checkStream(t, s, seen)
			}
			if len(seen) != 3000 {
				t.Errorf("%s: %d distinct words, want 3000", keys, len(seen))
			}
		}
	}
}

func checkStream(t *testing.T, s *stream, seen map[uint64]bool) {
	t.Helper()
	words := make([]uint64, 700)
	operations, inserts := 0, 0
	for {
		n, first := s.fill(words)
		if n == 0 {
			break
		}
		operations, inserts = operations+n, inserts+first
		fresh := 0
		for i, word := range words[:n] {
			if word > mask63 {
				t.Fatalf("word %#x has more than 63 bits", word)
			}
			if !seen[word] {
				fresh++
				seen[word] = true
				if s.apart && i >= first {
					t.Fatalf("word %d of a piece with %d inserts is new", i, first)
				}
			}
		}
		if fresh != first {
			t.Fatalf("%d new words in a piece with %d inserts", fresh, first)
		}
	}
	if operations != 2500 || inserts != 1000 {
		t.Errorf("%d operations and %d inserts, want 2500 and 1000", operations, inserts)
	}
}
