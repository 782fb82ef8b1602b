package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/rma"
)

// TestBadRequests: a malformed request is answered by an error, and never with more words than
// there is room for. A malformed answer is an error of its calls.
func TestBadRequests(t *testing.T) {
	eachCarrier(t, 2, small(false), func(m *Map) error {
		if m.job.Rank() == 1 {
			return m.job.Barrier(context.Background())
		}
		rng := rand.New(rand.NewPCG(5, 6))
		for range 3000 {
			request, n := someRequest(m, rng)
			answer := make([]uint64, rng.IntN(40))
			words, err := m.answer(uint32(rng.IntN(8)/7), n, request, answer)
			if words > len(answer) || err == nil && words < n*answerHead {
				return fmt.Errorf("%d calls in %d words are answered by %d", n, len(request), words)
			}
			s := batch{calls: make([]Call, 8)}
			for i := range s.calls {
				s.calls[i].Kind = Kind(i % int(kinds))
				for j := range answer {
					if rng.IntN(4) == 0 {
						answer[j] = rng.Uint64() >> rng.IntN(64)
					}
				}
				if len(answer) == 0 {
					continue // internal/core sees to those
				}
				used, _, err := s.Unpack(0, i, answer)
				if used > len(answer) {
					return fmt.Errorf("an answer of %d words has %d", len(answer), used)
				} else if len(answer) < answerHead && err == nil {
					return errors.New("no words are taken for an answer")
				}
			}
		}
		return m.job.Barrier(context.Background())
	})
}

// TestErrorsAreShipped: the requesting rank gets the errors that one-sided calls would return.
func TestErrorsAreShipped(t *testing.T) {
	key := []byte("key")
	for _, sent := range []error{
		&rma.RankError{Rank: 5, Left: true},
		&rma.RankError{Rank: 6},
		errors.New("something else"),
	} {
		answer := make([]uint64, 40)
		words := packAnswer(answer, &Call{Kind: Put, Key: key, Err: sent})
		s := batch{calls: []Call{{Kind: Put, Key: key}}}
		if _, _, err := s.Unpack(2, 0, answer[:words]); err != nil {
			t.Errorf("%v: %v", sent, err)
			continue
		}
		got := s.calls[0].Err
		var gone, sentGone *rma.RankError
		switch {
		case errors.As(sent, &sentGone):
			if !errors.As(got, &gone) || *gone != *sentGone {
				t.Errorf("%v arrives as %v", sent, got)
			}
		case got == nil || got.Error() != "kv: rank 2: something else":
			t.Errorf("%v arrives as %v", sent, got)
		}
	}
}

// TestRefusedAddsAreHandedBack: the requesting rank gets the error itself that says why.
func TestRefusedAddsAreHandedBack(t *testing.T) {
	c := Call{Kind: Add, Key: []byte("key"), Err: &CounterError{Size: 5}}
	answer := make([]uint64, 40)
	words := packAnswer(answer, &c)
	s := batch{calls: []Call{{Kind: Add, Key: c.Key}}}
	used, again, err := s.Unpack(2, 0, answer[:words])
	if err != nil || !again || used != words || s.calls[0].Done {
		t.Errorf("%d words of %d, again %v, %+v, %v", used, words, again, s.calls[0], err)
	}
}

// someRequest is a request of some calls that was damaged, most times.
func someRequest(m *Map, rng *rand.Rand) (request []uint64, n int) {
	n = rng.IntN(6)
	s := batch{calls: make([]Call, n)}
	for i := range s.calls {
		s.calls[i] = Call{Kind: Kind(rng.IntN(int(kinds))), Key: sized("k", i, rng.IntN(20)),
			Value: sized("v", i, rng.IntN(50)), Delta: rng.Int64()}
		words, _ := s.Size(i)
		request = append(request, make([]uint64, words)...)
		s.Pack(i, request[len(request)-words:])
	}
	switch rng.IntN(4) {
	case 0:
		return request, n
	case 1:
		return request, n + rng.IntN(3) - 1 + rng.IntN(2)<<31
	case 2:
		return request[:rng.IntN(len(request)+1)], n
	}
	for range rng.IntN(4) {
		if len(request) > 0 {
			request[rng.IntN(len(request))] ^= 1 << rng.IntN(64)
		}
	}
	return request, n
}
