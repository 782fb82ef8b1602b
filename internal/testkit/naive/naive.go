// Package naive explores place/transition nets in the most obvious way. Tests
// compare faster explorers with it. It shares nothing with them: markings are
// keys of a Go map, and every transition is tried in every marking.
package naive

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/farhash/farhash/statespace/petri"
)

// ErrTokens reports a reachable marking with more than petri.MaxTokens tokens
// in one place.
var ErrTokens = errors.New("too many tokens in a place")

// Result is what an exploration found.
type Result struct {
	States    int // reachable markings
	Arcs      int // firings: one for each transition that a state enables
	Depth     int // the deepest level of the search; the initial marking is level 0
	Widest    int // states on the largest level
	Deadlocks int // states that enable no transition

	DeadlockDepth int // the lowest level that has one, where there are any

	MaxTokensPlace   int64 // most tokens in one place of one state
	MaxTokensMarking int64 // most tokens in one state, all places together

	// Complete is false where the search found more states than the limit. The
	// other fields then count a part of the states, which is at least a
	// proof that there are more than the limit.
	Complete bool
}

// Explore visits the reachable markings of n breadth first and gives up at the
// first that exceeds limit. Its error is one of n.Check, of a limit below 1,
// or wraps ErrTokens.
func Explore(n *petri.Net, limit int) (Result, error) {
	if err := n.Check(); err != nil {
		return Result{}, fmt.Errorf("exploring: %w", err)
	}
	if limit < 1 {
		return Result{}, fmt.Errorf("exploring: the limit is %d; it must be at least 1", limit)
	}
	s := search{net: n, limit: limit, seen: make(map[string]struct{})}
	if _, err := s.visit(n.Initial()); err != nil {
		return Result{}, err
	}
	for depth := 0; len(s.next) > 0; depth++ {
		level := s.next
		s.next = nil
		s.res.Depth = depth
		s.res.Widest = max(s.res.Widest, len(level))
		for _, key := range level {
			full, err := s.expand(key)
			if err != nil || full {
				return s.res, err
			}
		}
	}
	s.res.Complete = true
	return s.res, nil
}

type search struct {
	net   *petri.Net
	limit int
	seen  map[string]struct{}
	next  []string // the level being found
	res   Result
}

// expand fires all that the state enables. It reports whether the limit was
// reached.
func (s *search) expand(key string) (full bool, err error) {
	m := decode(key, len(s.net.Places))
	enabled := 0
	for i := range s.net.Transitions {
		t := &s.net.Transitions[i]
		if !t.Enabled(m) {
			continue
		}
		enabled++
		succ := append([]int64(nil), m...)
		t.Fire(succ)
		if full, err := s.visit(succ); full || err != nil {
			return full, err
		}
	}
	s.res.Arcs += enabled
	if enabled == 0 {
		if s.res.Deadlocks == 0 {
			s.res.DeadlockDepth = s.res.Depth
		}
		s.res.Deadlocks++
	}
	return false, nil
}

// visit counts a marking if it is new. It reports whether there is no room.
func (s *search) visit(m []int64) (full bool, err error) {
	key := encode(m)
	if _, old := s.seen[key]; old {
		return false, nil
	}
	if len(s.seen) == s.limit {
		return true, nil
	}
	var total int64
	for i, tokens := range m {
		if tokens > petri.MaxTokens {
			return false, fmt.Errorf("exploring: place %q: %w", s.net.Places[i].ID, ErrTokens)
		}
		total += tokens
		s.res.MaxTokensPlace = max(s.res.MaxTokensPlace, tokens)
	}
	s.res.MaxTokensMarking = max(s.res.MaxTokensMarking, total)
	s.seen[key] = struct{}{}
	s.next = append(s.next, key)
	s.res.States++
	return false, nil
}

// encode returns a key that differs for different markings: no varint is the
// beginning of another.
func encode(m []int64) string {
	b := make([]byte, 0, len(m))
	for _, tokens := range m {
		b = binary.AppendUvarint(b, uint64(tokens))
	}
	return string(b)
}

func decode(key string, places int) []int64 {
	m := make([]int64, places)
	b := []byte(key)
	for i := range m {
		tokens, size := binary.Uvarint(b)
		m[i], b = int64(tokens), b[size:]
	}
	return m
}
