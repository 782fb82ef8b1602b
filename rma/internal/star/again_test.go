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

// again is the Config of a rank that joins again.
func again(s *Star, rank int) Config {
	cfg := s.cfg
	cfg.Rank, cfg.Again = rank, true
	return cfg
}

// joinAgain joins again as soon as the old process is missed.
func joinAgain(t *testing.T, cfg Config) (*Star, error) {
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
			fmt.Fprintf(&text, " %d.%d %s%s", e.Rank, e.Life, [...]string{"gone", "back ",
				"notes "}[e.Kind], e.Data)
			s.Act(e)
		}
		if seen += len(events); len(events) == 0 {
			<-change
		}
	}
	return text.String()
}

// A rank that dies again and again, and each time comes back.
func TestAgain(t *testing.T) {
	const lives = 3
	want := " 1.0 gone"
	for life := 1; life <= lives; life++ {
		want += fmt.Sprintf(" 1.%d back at %[1]d 1.%[1]d notes one", life)
		if life < lives {
			want += fmt.Sprintf(" 1.%d gone", life)
		}
	}
	want += fmt.Sprintf(" 1.%d notes end", lives)
	job(t, 3, func(s *Star) error {
		if s.hub != nil {
			s.Admit(func() []byte { return []byte("the state") })
		}
		if _, err := s.Gather(t.Context(), nil); err != nil {
			return err
		}
		if s.cfg.Rank == 1 {
			return comeBack(t, s, lives)
		}
		end := func(text string) bool { return strings.HasSuffix(text, "end") }
		if got := followEvents(s, end); got != want {
			return fmt.Errorf("rank %d saw%s, want%s", s.cfg.Rank, got, want)
		}
		number, fate := s.Life(1)
		fates, _ := s.Fates()
		if number != lives || fate != Here && fate != Left || fates[1] != Died {
			return fmt.Errorf("life %d of rank 1 is %v, and the first %v", number, fate, fates[1])
		}
		_, err := s.Gather(t.Context(), nil)
		var gone *rma.RankError
		if !errors.As(err, &gone) || gone.Rank != 1 || gone.Left {
			return fmt.Errorf("a gathering after the loss of rank 1: %w", err)
		}
		return nil
	})
}

// comeBack has rank 1 die, so often.
func comeBack(t *testing.T, s *Star, lives int) error {
	for life := 1; life <= lives; life++ {
		_ = s.conn.Conn.Close()
		next, err := joinAgain(t, again(s, 1))
		if err != nil {
			return err
		}
		if state := string(next.State()); state != "the state" {
			return fmt.Errorf("life %d was told %q", life, state)
		}
		if number, fate := next.Life(1); number != life || fate != Here {
			return fmt.Errorf("life %d is told that it is %d: %v", life, number, fate)
		}
		if _, err := next.Gather(t.Context(), nil); !errors.Is(err, errAgain) {
			return fmt.Errorf("a gathering of who has joined again: %w", err)
		}
		err = errors.Join(next.Return(t.Context(), fmt.Append(nil, "at ", life)),
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

// Two ranks that join again learn of each other, whoever comes first.
func TestTwoAgain(t *testing.T) {
	job(t, 3, func(s *Star) error {
		if s.hub != nil {
			s.Admit(func() []byte { return nil })
		}
		if _, err := s.Gather(t.Context(), nil); err != nil {
			return err
		}
		if s.cfg.Rank > 0 {
			_ = s.conn.Conn.Close()
			next, err := joinAgain(t, again(s, s.cfg.Rank))
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

// Who cannot join again is told why.
func TestAgainRefused(t *testing.T) {
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
		late.Rank, late.Again = rank, token != ""
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
	for fates, change := zero.Fates(); fates[1] == Here; fates, change = zero.Fates() {
		<-change
	}
	try(1, "x", "has left it in good order")
	close(end)
	one.Close()
	<-ready
}
