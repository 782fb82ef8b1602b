package direct

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

// A segment ends where it ends: appending to it leaves the segment of the next rank as it is.
func TestSegmentsEnd(t *testing.T) {
	flat := make([]uint64, 6)
	w := NewWindow(0, 3, flat, false, func() error { return nil })
	_ = append(w.Words(1), 7)
	if flat[4] != 0 || len(w.Words(1)) != 2 {
		t.Errorf("the segments are %v", flat)
	}
}

// A window is released once, by Close or at the end of the job.
func TestCloseAll(t *testing.T) {
	var r Registry
	released := [3]int{}
	broken := errors.New("cannot be released")
	var windows []*Window
	for i := range released {
		windows = append(windows, r.Open(0, 1, make([]uint64, 1), false, func() error {
			released[i]++
			return broken
		}))
	}
	for range 2 {
		if err := windows[1].Close(); err != broken {
			t.Errorf("Close: %v", err)
		}
	}
	if len(r.open) != 2 {
		t.Errorf("%d of 2 windows are open", len(r.open))
	}
	if err := r.CloseAll(); !errors.Is(err, broken) || released != [3]int{1, 1, 1} {
		t.Errorf("CloseAll: %v; the windows were released %v times", err, released)
	}
	if err := r.CloseAll(); err != nil || len(r.open) > 0 {
		t.Errorf("CloseAll again: %v; %d are open", err, len(r.open))
	}
}

// Ranks that make different windows learn which, whatever rank it is and however long the names.
func TestAgreeOnSpec(t *testing.T) {
	long := strings.Repeat("long ", 20)
	for _, c := range []struct{ one, other rma.Spec }{
		{rma.Spec{Name: "a", Words: 1}, rma.Spec{Name: "b", Words: 1}},
		{rma.Spec{Name: "a", Words: 1}, rma.Spec{Name: "a", Words: 2}},
		{rma.Spec{Name: long + "a", Words: 1}, rma.Spec{Name: long + "b", Words: 1}},
		{rma.Spec{Name: "a", Words: 1}, rma.Spec{Name: "a", Key: "b", Words: 1}},
		{rma.Spec{Name: "a", Words: 1}, rma.Spec{Name: "a", Words: 1, Reserve: true}},
	} {
		for odd := range 3 {
			groups, _ := newGroups(3)
			errs := onAll(groups, func(rank int, g *Group) error {
				if rank == odd {
					return AgreeOnSpec(t.Context(), g, c.other)
				}
				return AgreeOnSpec(t.Context(), g, c.one)
			})
			says := fmt.Sprintf("rank %d makes", max(odd, 1))
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("rank %d where rank %d makes %v and not %v: %v", rank, odd, c.other,
						c.one, err)
				}
			}
		}
		groups, _ := newGroups(3)
		errs := onAll(groups, func(_ int, g *Group) error {
			return AgreeOnSpec(t.Context(), g, c.other)
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}

// A rank that leaves between two looks at it, and ends, has not died.
func TestLeftBetweenChecks(t *testing.T) {
	words := make([]uint64, 2*LineWords)
	var other *Group
	g := NewGroup(0, 2, words, func(int) bool {
		other.Close()
		return false
	})
	other = NewGroup(1, 2, words, func(int) bool { return true })
	g.SetState(0, Joined)
	other.SetState(1, Joined)
	if s := g.state(1); s != Left {
		t.Errorf("the rank is in state %d, want %d", s, Left)
	}
}
