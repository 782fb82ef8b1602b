// Command paths has the models of eval/check/paths/run, which compares properties along paths with
// SPIN: locks that each process gets that waits for one, if each that can go on does so.
package main

import (
	"fmt"

	"github.com/farhash/farhash/statespace/check"
)

func main() {
	check.Main(peterson[[4]contender]("peterson-4"), peterson[[3]contender]("peterson-3"),
		peterson[[5]contender]("peterson-5"), ticket[[7]customer]("ticket-7"),
		ticket[[4]customer]("ticket-4"), hygienic[[5]seat]("hygienic-5"),
		hygienic[[4]seat]("hygienic-4"), hygienic[[6]seat]("hygienic-6"))
}

// numbered are names of the steps of n processes.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(i, " steps"))
	}
	return names
}

// contender is a process of Peterson's lock, and what it shares with the others.
type contender struct {
	At    uint8 `bits:"2"` // rise, say, wait or inside
	Level uint8 `bits:"3"` // how far it has come; 0 is outside
	Other uint8 `bits:"3"` // whose level it reads next
	Last  uint8 `bits:"3"` // who came last to the level of this number
}

const (
	rise = iota
	say
	wait
	inside
)

type contenders interface {
	[3]contender | [4]contender | [5]contender
}

// lock is the state of all contenders.
type lock[P contenders] struct{ P P }

// peterson is Peterson's lock for several processes.
func peterson[P contenders](name string) check.Model[lock[P]] {
	m := check.Model[lock[P]]{Name: name, Init: make([]lock[P], 1),
		Properties: []check.Property[lock[P]]{check.LeadsTo("0 comes in",
			func(s lock[P]) bool { return s.P[0].Level > 0 },
			func(s lock[P]) bool { return s.P[0].At == inside })}}
	names := numbered(len(m.Init[0].P))
	m.Fair = names
	m.Next = func(s lock[P], emit func(string, lock[P])) {
		for i := range len(s.P) {
			n, p := s, s.P[i]
			switch p.At {
			case rise:
				n.P[i].At = say
				n.P[i].Level++
				if p.Level == 0 {
					emit("asks", n)
					continue
				}
			case say:
				n.P[i].At, n.P[i].Other = wait, 0
				n.P[p.Level].Last = uint8(i)
			case wait:
				switch {
				case s.P[p.Level].Last != uint8(i) || int(p.Other) == len(s.P):
					n.P[i].Other, n.P[i].At = 0, rise
					if int(p.Level) == len(s.P)-1 {
						n.P[i].At = inside
					}
				case int(p.Other) == i || s.P[p.Other].Level < p.Level:
					n.P[i].Other++
				default:
					continue
				}
			default:
				n.P[i].At, n.P[i].Level = rise, 0
			}
			emit(names[i], n)
		}
	}
	return m
}

// customer is a process of the ticket lock: 0 is outside, 1 has drawn a ticket, 2 is inside.
type customer struct {
	At     uint8 `bits:"2"`
	Ticket uint8 `bits:"3"`
}

type customers interface{ [4]customer | [7]customer }

// counter is the state of all customers. Tickets are numbers modulo 8.
type counter[P customers] struct {
	P             P
	Next, Serving uint8 `bits:"3"`
}

// ticket is a lock that serves in the order of tickets.
func ticket[P customers](name string) check.Model[counter[P]] {
	m := check.Model[counter[P]]{Name: name, Init: make([]counter[P], 1),
		Properties: []check.Property[counter[P]]{check.LeadsTo("0 comes in",
			func(s counter[P]) bool { return s.P[0].At == 1 },
			func(s counter[P]) bool { return s.P[0].At == 2 })}}
	names := numbered(len(m.Init[0].P))
	m.Fair = names
	m.Next = func(s counter[P], emit func(string, counter[P])) {
		for i := range len(s.P) {
			n, p := s, s.P[i]
			switch {
			case p.At == 0:
				n.P[i] = customer{1, s.Next}
				n.Next = (s.Next + 1) % 8
				emit("draws", n)
				continue
			case p.At == 1 && p.Ticket == s.Serving:
				n.P[i] = customer{2, 0}
			case p.At == 2:
				n.P[i].At, n.Serving = 0, (s.Serving+1)%8
			default:
				continue
			}
			emit(names[i], n)
		}
	}
	return m
}

// seat is a philosopher, who thinks (0), is hungry (1) or eats (2), and the fork on the right,
// which is on the left of the next one.
type seat struct {
	At    uint8 `bits:"2"`
	Next  bool  // the next one has the fork
	Dirty bool  // it was used since it was passed on
	Asked bool  // who has the fork has been asked for it
}

type seats interface{ [4]seat | [5]seat | [6]seat }

// table is the state of all philosophers.
type table[P seats] struct{ P P }

// hygienic is the philosophers of Chandy and Misra, The drinking philosophers problem, TOPLAS 1984.
// They ask for forks, and pass dirty ones on, clean.
func hygienic[P seats](name string) check.Model[table[P]] {
	m := check.Model[table[P]]{Name: name, Init: make([]table[P], 1),
		Properties: []check.Property[table[P]]{check.LeadsTo("0 eats",
			func(s table[P]) bool { return s.P[0].At == 1 },
			func(s table[P]) bool { return s.P[0].At == 2 })}}
	n := len(m.Init[0].P)
	for f := range n { // philosopher 0 has both forks, and others the right ones
		m.Init[0].P[f].Dirty, m.Init[0].P[f].Next = true, f == n-1
	}
	names := numbered(n)
	m.Fair = names
	m.Next = func(s table[P], emit func(string, table[P])) {
		for i := range n {
			left := (i + n - 1) % n
			forks := [2]int{left, i}
			ready := s.P[left].Next && !s.P[i].Next // has both, and passes none on before
			for side, f := range forks {
				fork, next := s.P[f], s
				switch has := fork.Next == (side == 0); {
				case has && fork.Dirty && fork.Asked && s.P[i].At != 2: // passes it on
					next.P[f].Next = !fork.Next
					next.P[f].Dirty, next.P[f].Asked = false, false
					ready = false
				case !has && !fork.Asked && s.P[i].At == 1: // asks for it
					next.P[f].Asked = true
				default:
					continue
				}
				emit(names[i], next)
			}
			next := s
			switch at := s.P[i].At; {
			case at == 0:
				next.P[i].At = 1
				emit("is hungry", next)
			case at == 1 && ready:
				next.P[i].At = 2
				next.P[left].Dirty, next.P[i].Dirty = true, true
				emit(names[i], next)
			case at == 2:
				next.P[i].At = 0
				emit(names[i], next)
			}
		}
	}
	return m
}
