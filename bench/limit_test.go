package bench

import (
	"context"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// Every place is swapped or read exactly once, whatever the length.
func TestLimit(t *testing.T) {
	job := local.Single()
	defer job.Close()
	for _, n := range []int{0, 1, aheadWords, aheadWords + 1, 2*aheadPiece + aheadWords + 7} {
		cfg := Config{Buckets: 1 << 13}
		l, err := newLimitTable(context.Background(), job, &cfg, Limit)
		if err != nil {
			t.Fatal(err)
		}
		at := make([]uint64, 2*n)
		for i := range n {
			at[i] = uint64(i)   // swapped to i+1
			at[n+i] = uint64(i) // then read
		}
		l.at, l.inserts = at, n
		for _, part := range [][2]int{{0, n / 3}, {n / 3, n + n/3}, {n + n/3, 2 * n}} {
			if err := l.run(part[0], part[1]); err != nil {
				t.Fatal(err)
			}
		}
		if l.inserted() != uint64(n) {
			t.Errorf("n=%d: %d inserts", n, l.inserted())
		}
		for i, word := range l.flat {
			if want := uint64(i + 1); i < n && word != want || i >= n && word != 0 {
				t.Fatalf("n=%d: word %d is %d", n, i, word)
			}
		}
		if want := uint64(n) * uint64(n+1) / 2; l.sum != want && n > 0 {
			t.Errorf("n=%d: what was read adds up to %d, want %d", n, l.sum, want)
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
}
