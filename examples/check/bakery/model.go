package main

import "github.com/farhash/farhash/statespace/check"

// process is a process, and what it shares with the others.
type process struct {
	At       uint8 `bits:"3"`
	Other    uint8 `bits:"3"` // whom it looks at next
	Largest  uint8 `bits:"3"` // ticket that it has seen
	Choosing bool  // shared: it draws a ticket
	Ticket   uint8 `bits:"3"` // shared; 0 is none
}

// Where a process is.
const (
	outside  = iota
	draw     // it reads the tickets of the others
	announce // it writes its own
	chosen   // it has its ticket
	waitDraw // it waits until the other does not draw
	waitTurn // it waits until the other has no smaller ticket
	inside
)

// processes are that many of them.
type processes interface {
	[2]process | [3]process | [4]process
}

// state is the state of all processes.
type state[P processes] struct{ P P }

// bakery is the lock. So that there are finitely many states, a process that has seen the ticket
// limit gives up and tries again. In the wrong version nobody waits for those that draw.
func bakery[P processes](name string, limit uint8, right bool) check.Model[state[P]] {
	inside := func(s state[P]) (n int) {
		for i := range len(s.P) {
			if s.P[i].At == inside {
				n++
			}
		}
		return n
	}
	return check.Model[state[P]]{Name: name, Init: make([]state[P], 1),
		Next: func(s state[P], emit func(string, state[P])) {
			for i := range len(s.P) {
				step(s, i, limit, right, emit)
			}
		},
		Properties: []check.Property[state[P]]{
			check.Always("mutual exclusion", func(s state[P]) bool { return inside(s) <= 1 }),
			check.Sometimes("one is inside", func(s state[P]) bool { return inside(s) == 1 }),
		}}
}

// step is what process i can do.
func step[P processes](s state[P], i int, limit uint8, right bool, emit func(string, state[P])) {
	n, all := s, len(s.P)
	p := &n.P[i]
	other := &s.P[min(int(p.Other), all-1)]
	switch p.At {
	case outside:
		p.At, p.Choosing = draw, true
		emit("begins to draw", n)
	case draw:
		if p.Largest = max(p.Largest, other.Ticket); int(p.Other) == all-1 {
			p.At, p.Other = announce, 0
		} else {
			p.Other++
		}
		emit("reads a ticket", n)
	case announce:
		if p.Largest == limit {
			*p = process{}
			emit("gives up", n)
			return
		}
		p.At, p.Ticket, p.Largest = chosen, p.Largest+1, 0
		emit("has a ticket", n)
	case chosen:
		p.At, p.Choosing = waitDraw, false
		emit("has drawn", n)
	case waitDraw:
		if p.At = waitTurn; !right || !other.Choosing {
			emit("sees that one does not draw", n)
		}
	case waitTurn:
		before := other.Ticket < p.Ticket || other.Ticket == p.Ticket && int(p.Other) < i
		if other.Ticket != 0 && before {
			return
		}
		if p.At = waitDraw; int(p.Other) == all-1 {
			p.At, p.Other = inside, 0
		} else {
			p.Other++
		}
		emit("sees that it comes first", n)
	case inside:
		p.At, p.Ticket = outside, 0
		emit("leaves", n)
	}
}
