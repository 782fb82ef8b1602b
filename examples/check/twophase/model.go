package main

import "github.com/farhash/farhash/statespace/check"

// manager is a resource manager, the messages that it has sent, and what the transaction manager
// knows about it.
type manager struct {
	State    uint8 `bits:"2"`
	Prepared bool  // it has sent the message Prepared
	Known    bool  // the transaction manager has received it
}

// The states of a manager; the transaction manager has all but prepared.
const (
	working = iota
	prepared
	committed
	aborted
)

// managers are that many resource managers.
type managers interface {
	[3]manager | [4]manager | [5]manager | [6]manager | [7]manager | [8]manager | [9]manager
}

// state is the state of a transaction. Messages that were sent stay: each can be received again.
type state[M managers] struct {
	RM M
	TM uint8 `bits:"2"` // it has sent Commit or Abort if that is its state
}

// twoPhase is two-phase commit. The wrong transaction manager commits when it knows of all but
// one that they are prepared.
func twoPhase[M managers](name string, right bool) check.Model[state[M]] {
	return check.Model[state[M]]{Name: name, Init: make([]state[M], 1), Deadlocks: true,
		Next: func(s state[M], emit func(string, state[M])) { next(s, right, emit) },
		Properties: []check.Property[state[M]]{
			check.Always("consistent", func(s state[M]) bool {
				return count(s, committed) == 0 || count(s, aborted) == 0
			}),
			check.Sometimes("all commit", func(s state[M]) bool {
				return count(s, committed) == len(s.RM)
			}),
			check.Sometimes("all abort", func(s state[M]) bool {
				return count(s, aborted) == len(s.RM)
			}),
		}}
}

func next[M managers](s state[M], right bool, emit func(string, state[M])) {
	known := 0
	for i := range len(s.RM) {
		n, rm := s, s.RM[i]
		if rm.Known {
			known++
		}
		if s.TM == working && rm.Prepared {
			n.RM[i].Known = true
			emit("TM receives Prepared", n)
		}
		if n = s; rm.State == working {
			n.RM[i] = manager{State: prepared, Prepared: true, Known: rm.Known}
			emit("RM prepares", n)
			n.RM[i] = manager{State: aborted, Prepared: rm.Prepared, Known: rm.Known}
			emit("RM aborts by itself", n)
		}
		if n = s; s.TM != working {
			n.RM[i].State = s.TM
			emit("RM receives the decision", n)
		}
	}
	if n := s; s.TM == working {
		n.TM = aborted
		emit("TM aborts", n)
		if n.TM = committed; known == len(s.RM) || !right && known == len(s.RM)-1 {
			emit("TM commits", n)
		}
	}
}

func count[M managers](s state[M], of uint8) (n int) {
	for i := range len(s.RM) {
		if s.RM[i].State == of {
			n++
		}
	}
	return n
}
