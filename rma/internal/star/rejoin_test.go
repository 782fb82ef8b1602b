package star

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// rejoining is the Config of a process that rejoins.
func rejoining(s *Star, rank int) Config {
	cfg := s.cfg
	cfg.Rank, cfg.Rejoin = rank, true
	return cfg
}

// rejoin rejoins as soon as the death of the old process is noticed.
func rejoin(t *testing.T, cfg Config) (*Star, error) {
	for {
		s, err := Join(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), "is still there") {
			return s, err
		}
		time.Sleep(time.Millisecond)
	}
}

// followEvents acts upon what happens to others until that, as text, is what is waited for.
func followEvents(s *Star, until func(text string) bool) string {
	var text strings.Builder
	for seen := 0; !until(text.String()); {
		events, change := s.Events(seen)
		for _, e := range events {
			fmt.Fprintf(&text, " %d.%d %s%s", e.Rank, e.Incarnation, [...]string{"gone", "back ",
				"notes "}[e.Kind], e.Data)
			s.Act(e)
		}
		if seen += len(events); len(events) == 0 {
			<-change
		}
	}
	return text.String()
}

// A rank that dies several times, and each time rejoins.
func TestRejoin(t *testing.T) {
	const rejoins = 3
	want := " 1.0 gone"
	for n := 1; n <= rejoins; n++ {
		want += fmt.Sprintf(" 1.%d back at %[1]d 1.%[1]d notes one", n)
		if n < rejoins {
			want += fmt.Sprintf(" 1.%d gone", n)
		}
	}
	want += fmt.Sprintf(" 1.%d notes end", rejoins)
	job(t, 3, func(s *Star) error {
		if s.hub != nil {
			s.Admit(func() []byte { return []byte("the snapshot") })
		}
		if _, err := s.Gather(t.Context(), nil); err != nil {
			return err
		}
		if s.cfg.Rank == 1 {
			return dieAndRejoin(t, s, rejoins)
		}
		end := func(text string) bool { return strings.HasSuffix(text, "end") }
		if got := followEvents(s, end); got != want {
			return fmt.Errorf("rank %d saw%s, want%s", s.cfg.Rank, got, want)
		}
		number, state := s.Incarnation(1)
		states, _ := s.States()
		if number != rejoins || state != Here && state != Left || states[1] != Died {
			return fmt.Errorf("incarnation %d of rank 1 is %v, and the first %v", number, state,
				states[1])
		}
		_, err := s.Gather(t.Context(), nil)
		var gone *rma.RankError
		if !errors.As(err, &gone) || gone.Rank != 1 || gone.Left {
			return fmt.Errorf("a gathering after the loss of rank 1: %w", err)
		}
		return nil
	})
}

// dieAndRejoin has rank 1 die and rejoin, so often.
func dieAndRejoin(t *testing.T, s *Star, rejoins int) error {
	for n := 1; n <= rejoins; n++ {
		_ = s.conn.Conn.Close()
		next, err := rejoin(t, rejoining(s, 1))
		if err != nil {
			return err
		}
		if snapshot := string(next.Snapshot()); snapshot != "the snapshot" {
			return fmt.Errorf("incarnation %d got %q", n, snapshot)
		}
		if number, state := next.Incarnation(1); number != n || state != Here {
			return fmt.Errorf("incarnation %d is said to be %d: %v", n, number, state)
		}
		if _, err := next.Gather(t.Context(), nil); !errors.Is(err, errRejoined) {
			return fmt.Errorf("a gathering of a rank that has rejoined: %w", err)
		}
		err = errors.Join(next.Return(t.Context(), fmt.Append(nil, "at ", n)),
			next.Note(t.Context(), []byte("one")))
		if err != nil {
			return err
		}
		s = next
	}
	defer s.Close()
	err := s.Note(t.Context(), []byte("end"))
	s.Leave()
	return errors.Join(err, s.AwaitOthers(t.Context()))
}

// Two ranks that rejoin learn of each other, in any order.
func TestTwoRejoin(t *testing.T) {
	job(t, 3, func(s *Star) error {
		if s.hub != nil {
			s.Admit(func() []byte { return nil })
		}
		if _, err := s.Gather(t.Context(), nil); err != nil {
			return err
		}
		if s.cfg.Rank > 0 {
			_ = s.conn.Conn.Close()
			next, err := rejoin(t, rejoining(s, s.cfg.Rank))
			if err != nil {
				return err
			}
			defer next.Close()
			s = next
		}
		done := make(chan string)
		go func() {
			done <- followEvents(s, func(text string) bool {
				return (s.cfg.Rank == 1 || strings.Contains(text, "1.1 notes")) &&
					(s.cfg.Rank == 2 || strings.Contains(text, "2.1 notes"))
			})
		}()
		if s.cfg.Rank > 0 {
			err := errors.Join(s.Return(t.Context(), nil), s.Note(t.Context(), []byte("note")))
			if err != nil {
				return err
			}
		}
		<-done
		if s.cfg.Rank > 0 {
			s.Leave()
			return s.AwaitOthers(t.Context())
		}
		return nil
	})
}

// The error of a process that cannot rejoin says why.
func TestRejoinRefused(t *testing.T) {
	address, ready, end := twohosts.FreeAddress(t), make(chan *Star), make(chan bool)
	cfg := Config{Size: 2, Address: address, Token: token, Timeout: time.Minute,
		Beat: time.Minute}
	go func() {
		s, err := Join(t.Context(), cfg)
		if err != nil {
			t.Error(err)
		}
		ready <- s
		<-end
		s.Leave()
		_ = s.AwaitOthers(t.Context())
		s.Close()
		close(ready)
	}()
	try := func(rank int, token, says string) {
		t.Helper()
		late := cfg
		late.Rank, late.Rejoin = rank, token != ""
		late.Token += strings.TrimPrefix(token, "x")
		s, err := Join(t.Context(), late)
		if err == nil {
			s.Close()
		}
		if !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	try(1, "x", "has not begun")
	first := cfg
	first.Rank = 1
	one, err := Join(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	zero := <-ready
	try(1, "x", "cannot join again")
	zero.Admit(func() []byte { return nil })
	try(1, "x", "rank 1 of the job at "+address+" is still there")
	try(1, "xy", "another token")
	try(0, "x", "rank 0 cannot join again")
	try(1, "", "has begun, and rank 1 was there")
	cfg.Size = 3
	try(1, "x", "has 2 ranks")
	cfg.Size = 2
	one.Leave()
	for states, change := zero.States(); states[1] == Here; states, change = zero.States() {
		<-change
	}
	try(1, "x", "has left it in good order")
	close(end)
	one.Close()
	<-ready
}
