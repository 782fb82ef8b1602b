package main

import "github.com/farhash/farhash/statespace/check"

// process is a process, and what it shares with the others.
type process struct {
	At    uint8 `bits:"2"`
	Level uint8 `bits:"3"` // shared: how far it has come; 0 is outside
	Other uint8 `bits:"3"` // whose level it reads next
	Last  uint8 `bits:"3"` // shared: who came last to the level of this number
}

// Where a process is.
const (
	rise = iota // it goes to the next level
	say         // it says that it is the last one there
	wait        // it reads the levels of the others, one by one
	inside
)

// processes are that many of them.
type processes interface {
	[2]process | [3]process | [4]process | [5]process
}

// state is the state of all processes.
type state[P processes] struct{ P P }

// peterson is the lock: a process leaves a level when no other is as high, or another one has come
// to that level. In the wrong version a process says that it comes before it does.
func peterson[P processes](name string, right bool) check.Model[state[P]] {
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
				step(s, i, right, emit)
			}
		},
		Properties: []check.Property[state[P]]{
			check.Always("mutual exclusion", func(s state[P]) bool { return inside(s) <= 1 }),
			check.Sometimes("one is inside", func(s state[P]) bool { return inside(s) == 1 }),
		}}
}

// step is what process i can do.
func step[P processes](s state[P], i int, right bool, emit func(string, state[P])) {
	n, p := s, s.P[i]
	switch p.At {
	case rise:
		if n.P[i].At = say; right {
			n.P[i].Level++
		} else {
			n.P[p.Level+1].Last = uint8(i)
		}
		emit("rises", n)
	case say:
		if n.P[i].At, n.P[i].Other = wait, 0; right {
			n.P[p.Level].Last = uint8(i)
		} else {
			n.P[i].Level++
		}
		emit("says that it came", n)
	case wait:
		free := s.P[p.Level].Last != uint8(i)
		if free || int(p.Other) == len(s.P) {
			n.P[i].Other, n.P[i].At = 0, rise
			if int(p.Level) == len(s.P)-1 {
				n.P[i].At = inside
			}
			emit("continues", n)
		} else if int(p.Other) == i || s.P[p.Other].Level < p.Level {
			n.P[i].Other++
			emit("sees one below", n)
		}
	case inside:
		n.P[i].At, n.P[i].Level = rise, 0
		emit("leaves", n)
	}
}
