package explore

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// table is a visited set that is nothing but its size. Growth keeps arenas in place.
type table struct {
	visited
	n            uint64
	words, ranks int // 0 words: a set of words
}

func (v *table) buckets() uint64   { return v.n }
func (v *table) keptBytes() uint64 { return v.bytesFor(v.n) - 8*v.n }

func (v *table) bytesFor(n uint64) uint64 {
	if v.words == 0 {
		return wordBytes(n)
	}
	return elementBytes(n, v.words, v.ranks)
}

// However large the budget, the states and the ranks: what there is at any moment
// stays within the budget, and growth ends only where a tenth more does not fit.
func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	grown, refused := 0, 0
	for range 3000 {
		mem := minMem + rng.Uint64N(1<<(23+rng.IntN(20)))
		b, err := newBudget(mem, 1+rng.IntN(64))
		if err != nil {
			t.Fatal(err)
		}
		if b.mem != mem || b.states >= mem || b.states < mem/4*3 || mem-b.states > runtimeBytes {
			t.Fatalf("budget %+v", b)
		}
		v := &table{words: rng.IntN(3) * rng.IntN(512), ranks: int(b.ranks)}
		if v.n, err = b.firstTable(v.bytesFor); err != nil {
			if v.bytesFor(minBuckets) <= b.states {
				t.Fatalf("%+v: no table for states of %d words: %v", b, v.words, err)
			}
			refused++
			continue
		}
		for range 400 {
			now := v.bytesFor(v.n)
			left := b.heapLeft(v)
			if now > b.states || now+left*b.ranks > b.states || now+(left+1)*b.ranks < b.states {
				t.Fatalf("%+v: table of %d bytes leaves %d to each rank", b, now, left)
			}
			heap := rng.Uint64N(left*b.ranks/4 + 1)
			next := b.nextBuckets(v, heap)
			if next == 0 {
				tenth := v.n + v.n/10
				if v.bytesFor(tenth)+8*v.n+heap <= b.states {
					t.Fatalf("%+v: %d buckets could have grown", b, v.n)
				}
				break
			}
			if next < v.n+v.n/10 || next > v.n+v.n/2 || v.bytesFor(next)+8*v.n+heap > b.states {
				t.Fatalf("%+v: %d buckets grow to %d beside %d bytes", b, v.n, next, heap)
			}
			v.n = next
			grown++
		}
		b.blocked = errors.New("no")
		if b.nextBuckets(v, 0) != 0 {
			t.Fatal("grows though it is known that it cannot")
		}
		if need := b.enough(v, v.n); need < 2*b.states || need <= b.mem {
			t.Fatalf("%+v: %d bytes are enough for twice %d states", b, need, v.n)
		}
	}
	if grown < 1000 || refused == 0 {
		t.Errorf("%d growths, %d refusals", grown, refused)
	}
}

func TestHeapLeft(t *testing.T) {
	b := &budget{states: 1000, ranks: 4}
	for buckets, want := range map[uint64]uint64{0: 250, 25: 200, 125: 0, 126: 0, 1 << 40: 0} {
		if got := b.heapLeft(&table{n: buckets}); got != want {
			t.Errorf("%d buckets leave %d bytes to a rank, want %d", buckets, got, want)
		}
	}
}

// A real set takes no more than bytesFor says, whatever the number of ranks, and
// keeps its arenas when it grows.
func TestTableBytes(t *testing.T) {
	for ranks := 1; ranks <= 7; ranks++ {
		for _, words := range []int{1, 2, 33} {
			err := local.Run(ranks, func(job rma.Job) error {
				v, err := newVisited(t.Context(), job, EncodingElement, words, 64*words,
					set.Config{Buckets: firstBuckets})
				if err != nil {
					return err
				}
				defer v.close()
				for range 3 {
					s := v.(*elementSet).s
					kept := s.Config().Capacity * uint64(words) * 8
					if all := 8*v.buckets() + kept; all > v.bytesFor(v.buckets()) ||
						kept != v.keptBytes() || s.Config().Capacity < arenaFor(v.buckets()) {
						t.Errorf("%d ranks, %d words: %d bytes, %d of arenas, %d said",
							ranks, words, all, kept, v.bytesFor(v.buckets()))
					}
					if err := v.grow(t.Context(), v.buckets()+v.buckets()/7); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func TestSharedBudget(t *testing.T) {
	for _, mem := range []uint64{0, 100 << 20} {
		var mems [4]uint64
		err := local.Run(4, func(job rma.Job) error {
			c, err := newControl(t.Context(), job, 1, 0)
			if err != nil {
				return err
			}
			// Ranks that measure the available memory at different moments get different amounts.
			own := mem
			if own != 0 {
				own += uint64(job.Rank()) << 20
			}
			b, err := shareBudget(t.Context(), c, own, job.Barrier)
			if err == nil {
				mems[job.Rank()] = b.mem
			}
			return errors.Join(err, job.Barrier(t.Context()))
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, m := range mems {
			if m != mems[0] || mem != 0 && m != mem || m == 0 {
				t.Errorf("rank %d has %d bytes, rank 0 %d, given %d", rank, m, mems[0], mem)
			}
		}
	}
}
