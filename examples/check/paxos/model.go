package main

import "github.com/farhash/farhash/statespace/check"

const (
	ballots = 2 // numbered from 1; each has a leader
	values  = 2 // numbered from 1
)

// vote is a ballot, and the value that an acceptor has voted for there; 0 is none.
type vote struct {
	Ballot uint8 `bits:"2"`
	Value  uint8 `bits:"2"`
}

// acceptor is an acceptor, with the messages that it has sent.
type acceptor struct {
	Ballot  uint8 `bits:"2"` // the largest that it has seen
	Last    vote
	Promise [ballots + 1]promise // message 1b of a ballot
	Voted   [ballots + 1]bool    // message 2b of a ballot
}

// promise is to vote in no ballot before, and the last vote.
type promise struct {
	Sent bool
	Last vote
}

// acceptors are that many of them.
type acceptors interface{ [2]acceptor | [3]acceptor }

// state is the state of all acceptors, and the messages.
type state[A acceptors] struct {
	A        A
	Begun    [ballots + 1]bool  // message 1a of a ballot
	Proposed [ballots + 1]uint8 `bits:"2"` // value in message 2a of a ballot; 0 is none
}

// paxos is the protocol. In the wrong version a leader proposes any value.
func paxos[A acceptors](name string, right bool) check.Model[state[A]] {
	return check.Model[state[A]]{Name: name, Init: make([]state[A], 1), Deadlocks: true,
		Next: func(s state[A], emit func(string, state[A])) {
			for b := range uint8(ballots + 1) {
				if b > 0 {
					lead(s, b, right, emit)
					accept(s, b, emit)
				}
			}
		},
		Properties: []check.Property[state[A]]{
			check.Always("agreement", func(s state[A]) bool {
				return chosen(s) != 1<<1|1<<2
			}),
			check.Sometimes("2 is chosen", func(s state[A]) bool { return chosen(s) == 1<<2 }),
		}}
}

// lead is what the leader of ballot b can do.
func lead[A acceptors](s state[A], b uint8, right bool, emit func(string, state[A])) {
	if n := s; !s.Begun[b] {
		n.Begun[b] = true
		emit("a ballot begins", n)
	}
	if s.Proposed[b] != 0 {
		return
	}
	// Any majority of the promises serves: each leaves others out.
	for quorum := range 1 << len(s.A) {
		size, last := 0, vote{}
		for a := range len(s.A) {
			if quorum>>a&1 == 0 {
				continue
			}
			p := s.A[a].Promise[b]
			if !p.Sent {
				size = -len(s.A)
			}
			if size++; p.Last.Ballot > last.Ballot {
				last = p.Last
			}
		}
		for v := range uint8(values + 1) {
			free := last.Value == 0 || last.Value == v || !right
			if n := s; v > 0 && size > len(s.A)/2 && free {
				n.Proposed[b] = v
				emit("a value is proposed", n)
			}
		}
	}
}

// accept is what acceptors do with the messages of ballot b.
func accept[A acceptors](s state[A], b uint8, emit func(string, state[A])) {
	for a := range len(s.A) {
		if n := s; s.Begun[b] && s.A[a].Ballot < b {
			n.A[a].Ballot, n.A[a].Promise[b] = b, promise{true, s.A[a].Last}
			emit("an acceptor promises", n)
		}
		if n := s; s.Proposed[b] != 0 && s.A[a].Ballot <= b {
			n.A[a].Ballot, n.A[a].Last, n.A[a].Voted[b] = b, vote{b, s.Proposed[b]}, true
			emit("an acceptor votes", n)
		}
	}
}

// chosen has a bit for each value that a majority has voted for in a ballot.
func chosen[A acceptors](s state[A]) (all int) {
	for b, value := range s.Proposed {
		votes := 0
		for a := range len(s.A) {
			if s.A[a].Voted[b] {
				votes++
			}
		}
		if votes > len(s.A)/2 {
			all |= 1 << value
		}
	}
	return all
}
