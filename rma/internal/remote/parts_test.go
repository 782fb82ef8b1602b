package remote_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
	"github.com/farhash/farhash/rma/local"
)

const (
	unitWords = memory.UnitBytes / 8
	partWords = 5*unitWords - 100
)

// ownedBy makes two ranks on two hosts, of which rank 1 takes memory by take, and runs fn on rank
// 0. With deaf set the owner answers nothing.
func ownedBy(t *testing.T, deaf bool, take remote.Take,
	fn func(p *remote.Parts) error) {
	t.Helper()
	err := local.RunWith(local.Options{Hosts: 2}, 2, func(job rma.Job) error {
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "parts", Words: partWords,
			Reserve: true})
		if err != nil {
			return err
		}
		control, err := job.NewWindow(t.Context(), rma.Spec{Name: "control",
			Words: remote.ControlWords(partWords)})
		if err != nil {
			return err
		}
		takes := make([]remote.Take, 2)
		takes[job.Rank()] = take
		p := remote.NewParts(job, "parts", w, control, control.Words(job.Rank()), takes)
		var owner remote.Owner
		defer owner.End()
		if !deaf {
			owner.Add(p)
			defer owner.Remove(p)
		}
		if job.Rank() == 0 {
			err = fn(p)
		}
		return errors.Join(err, job.Barrier(t.Context()))
	})
	if err != nil {
		t.Error(err)
	}
}

// An owner takes the units that are asked for, each once, and the last one as long as it is.
func TestOwnerTakesUnits(t *testing.T) {
	var mu sync.Mutex
	var taken []string
	take := func(off, words int) error {
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, fmt.Sprintf("%d+%d", off/unitWords, words))
		return nil
	}
	ownedBy(t, false, take, func(p *remote.Parts) error {
		for _, c := range []struct {
			off, words int
			want       []string
		}{
			{unitWords, 1, []string{fmt.Sprint("1+", unitWords)}},
			{unitWords + 5, unitWords - 5, nil},
			{2*unitWords - 1, 2, []string{fmt.Sprint("2+", unitWords)}},
			{partWords - 1, 1, []string{fmt.Sprint("4+", unitWords-100)}},
			{0, partWords, []string{fmt.Sprint("0+", unitWords), fmt.Sprint("3+", unitWords)}},
			{0, partWords, nil},
		} {
			if err := p.Commit(1, c.off, c.words); err != nil {
				return err
			}
			mu.Lock()
			if !slices.Equal(taken, c.want) {
				t.Errorf("%d words at %d: took %v, want %v", c.words, c.off, taken, c.want)
			}
			taken = nil
			mu.Unlock()
		}
		return nil
	})
}

// An owner without memory refuses, and is asked again.
func TestOwnerRefuses(t *testing.T) {
	var refusal atomic.Value
	var calls atomic.Int64
	take := func(int, int) error {
		calls.Add(1)
		if code := refusal.Load().(syscall.Errno); code != 0 {
			return fmt.Errorf("full: %w", code)
		}
		return nil
	}
	refusal.Store(syscall.ENOSPC)
	ownedBy(t, false, take, func(p *remote.Parts) error {
		for i, code := range []syscall.Errno{syscall.ENOSPC, syscall.ENOMEM, 0, 0} {
			refusal.Store(code)
			err := p.Commit(1, 0, 1)
			if code == 0 && err != nil || code != 0 && !errors.Is(err, code) {
				t.Errorf("%v: %v", code, err)
			}
			if got, want := calls.Load(), int64(min(i+1, 3)); got != want {
				t.Errorf("the owner has tried %d times, want %d", got, want)
			}
		}
		return nil
	})
}

// A Commit that nobody answers ends when the window is closed.
func TestCommitEndsWithTheWindow(t *testing.T) {
	take := func(int, int) error { return nil }
	ownedBy(t, true, take, func(p *remote.Parts) error {
		result := make(chan error)
		go func() { result <- p.Commit(1, 0, 1) }()
		go p.End()
		if err := <-result; !errors.Is(err, rma.ErrClosed) {
			t.Errorf("the error is %v", err)
		}
		if err := p.Commit(1, 0, 1); !errors.Is(err, rma.ErrClosed) {
			t.Errorf("after it: %v", err)
		}
		return nil
	})
}
