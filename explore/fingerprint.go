package explore

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/set"
)

// fingerprintSet keeps of each state a fingerprint, which is its name. As that does not give the
// state back, a task is the state itself.
type fingerprintSet struct {
	wordSet // the fingerprints
	words   int
}

// fingerprint is 63 bits of a hash of a state.
func fingerprint(state []uint64) uint64 {
	return xxh3.Hash(bytesOf(state)) >> 1
}

// fingerprints reports whether the visited set keeps fingerprints of states.
func (s *search) fingerprints() bool { return s.encoding == EncodingFingerprint }

func (v *fingerprintSet) insert(states []uint64, results []set.Result, names []uint64) error {
	for i := range results {
		names[i] = fingerprint(states[i*v.words:][:v.words])
	}
	return v.s.FindOrPutBatch(names[:len(results)], results)
}

// name names state i of those that are being expanded.
func (w *worker) name(i int) uint64 {
	if w.fingerprints() {
		return fingerprint(w.states[i*w.words:][:w.words])
	}
	return w.todo[i]
}

// missed is the probability that a search which found so many states has missed one, if
// fingerprints are random. It is at most that of two equal fingerprints among those of the states,
// of which there are 2^63. And it is at most that of an equal one to any of the states that were
// generated and taken for known ones: TLC prints as much, of 2^64.
func missed(states, generated uint64) float64 {
	if states == 0 {
		return 0
	}
	n, known := float64(states), float64(generated-min(states, generated))
	return min(1, n*min((n-1)/2, known)/(1<<63))
}

// regenerate replaces fingerprints, from one of an initial state on, by the states that have them.
func (t *tracer) regenerate(way []Step) (err error) {
	defer t.recoverPanic(&err)
	next := t.initial
	for i := range way {
		action := slices.IndexFunc(slices.Collect(slices.Chunk(next, t.words)),
			func(state []uint64) bool { return fingerprint(state) == way[i].State[0] })
		if action < 0 {
			return errNoPredecessor
		}
		state := slices.Clone(next[action*t.words:][:t.words])
		if i == 0 {
			action = -1
		}
		way[i] = Step{State: state, Action: action}
		if i+1 == len(way) {
			break
		}
		if next, err = t.Expand(state, nil); err != nil {
			return err
		}
	}
	return nil
}
