package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

// A text is cut where it does not fit, and words in disorder are a text all the same.
func TestTexts(t *testing.T) {
	for room := range 6 {
		for size := range 50 {
			text := strings.Repeat("abcdefg", 8)[:size]
			to := make([]uint64, room)
			words := packText(to, text)
			want := text[:min(size, max(0, room-1)*8)]
			if got := unpackText(to[:words]); got != want {
				t.Errorf("%q in %d words is %q, not %q", text, room, got, want)
			}
		}
	}
	if got := unpackText([]uint64{1 << 63, 'a'}); len(got) != 8 || got[0] != 'a' {
		t.Errorf("a text of too many bytes is %q", got)
	}
}

// An error arrives whatever room there is for its answer, and with some room what it says.
func TestErrorsAreAnswers(t *testing.T) {
	long := strings.Repeat("too long ", 100)
	for _, failed := range []error{errors.New(long), &rma.RankError{Rank: 5},
		fmt.Errorf("on the way: %w", &rma.RankError{Rank: 6, Left: true})} {
		answer := func(uint32, int, []uint64, []uint64) (int, error) { return 0, failed }
		for room := range 9 {
			to := make(rma.Buf, room)
			words := respond(answer, []uint64{header(0, 1)}, to)
			_, err := check(3, to[:words])
			var want, gone *rma.RankError
			var remote *rma.RemoteError
			switch {
			case err == nil:
				t.Errorf("%v in %d words is no error", failed, room)
			case room < 3:
			case errors.As(failed, &want):
				if !errors.As(err, &gone) || *gone != *want {
					t.Errorf("%v in %d words is %v", failed, room, err)
				}
			case !errors.As(err, &remote) || remote.Rank != 3 ||
				remote.Text != long[:8*(room-2)]:
				t.Errorf("a long text in %d words is %v", room, err)
			}
		}
	}
}
