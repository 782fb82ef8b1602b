package neighbours

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

// table is where ranks that are goroutines exchange values, once.
type table struct {
	arrive sync.WaitGroup
	mu     sync.Mutex
	all    []direct.Values
}

// seat is the place of a rank.
type seat struct {
	*table
	rank int
}

func (s seat) Exchange(_ context.Context, mine direct.Values) ([]direct.Values, error) {
	s.mu.Lock()
	s.all[s.rank] = mine
	s.mu.Unlock()
	s.arrive.Done()
	s.arrive.Wait()
	return s.all, nil
}

// meet has ranks meet and then do more.
func meet(t *testing.T, selves []Self, more func(rank int, g *Group, err error)) {
	t.Helper()
	tab := &table{all: make([]direct.Values, len(selves))}
	tab.arrive.Add(len(selves))
	var ranks sync.WaitGroup
	for rank, self := range selves {
		ranks.Go(func() {
			g, err := Find(t.Context(), seat{tab, rank}, rank, self)
			more(rank, g, err)
		})
	}
	ranks.Wait()
}

// share has a group share memory.
func share(t *testing.T, g *Group) error {
	ctx, cancel := patience.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return g.Share(ctx, time.Hour)
}

// Ranks of one name are neighbours, and share memory.
func TestFind(t *testing.T) {
	odd, even := Self{Engine: "test", Host: "odd"}, Self{Engine: "test", Host: "even"}
	meet(t, []Self{even, odd, even, odd, even}, func(rank int, g *Group, err error) {
		want := [][]int{{0, 2, 4}, {1, 3}}[rank%2]
		if err != nil || !slices.Equal(g.Ranks, want) || g.Places[rank] != rank/2 ||
			g.Places[1-rank%2] != -1 {
			t.Errorf("rank %d: %+v: %v", rank, g, err)
			return
		}
		if runtime.GOOS != "linux" {
			return // rma/shm is for linux
		}
		if err := share(t, g); err != nil {
			t.Errorf("rank %d: %v", rank, err)
			return
		}
		if g.Memory.Size() != len(want) || g.Memory.Rank() != rank/2 || g.OneHost() {
			t.Errorf("rank %d is %d of %d", rank, g.Memory.Rank(), g.Memory.Size())
		}
		if err := g.Close(); err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	})
}

// Where all have one name, everybody shares memory once it is there.
func TestEverybody(t *testing.T) {
	self := Self{Engine: "test"}
	meet(t, []Self{self, self}, func(rank int, g *Group, err error) {
		if err != nil || len(g.Ranks) != 2 || g.OneHost() {
			t.Errorf("rank %d: %+v: %v", rank, g, err)
			return
		}
		if runtime.GOOS != "linux" {
			return
		}
		err = share(t, g)
		if err != nil || !g.OneHost() {
			t.Errorf("rank %d: %+v: %v", rank, g, err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	})
}

// Programs that do not fit together are an error with a remedy.
func TestDiffers(t *testing.T) {
	for _, other := range []Self{{Engine: "test", Version: 2}, {Engine: "test", Hidden: true}} {
		meet(t, []Self{{Engine: "test"}, other}, func(rank int, _ *Group, err error) {
			if err == nil || !strings.Contains(err.Error(), "rma/test: rank 1 has version") ||
				!strings.Contains(err.Error(), "the same program") {
				t.Errorf("rank %d: %v", rank, err)
			}
		})
	}
}

// A rank alone has a place, and closes nothing.
func TestAlone(t *testing.T) {
	g := Alone(1, 3)
	if !slices.Equal(g.Ranks, []int{1}) || !slices.Equal(g.Places, []int{-1, 0, -1}) ||
		g.OneHost() || g.Close() != nil {
		t.Errorf("%+v", g)
	}
}

// Errors of neighbours name ranks of the job.
func TestInWorld(t *testing.T) {
	g := &Group{Ranks: []int{4, 7}}
	var gone *rma.RankError
	if !errors.As(g.InWorld(&rma.RankError{Rank: 1, Left: true}), &gone) || gone.Rank != 7 ||
		!gone.Left {
		t.Errorf("%+v", gone)
	}
	var peer *rma.PeerError
	if !errors.As(g.InWorld(&rma.PeerError{What: "x", Rank: 0}), &peer) || peer.Rank != 4 {
		t.Errorf("%+v", peer)
	}
	if err := g.InWorld(context.Canceled); err != context.Canceled || g.InWorld(nil) != nil {
		t.Error(err)
	}
}
