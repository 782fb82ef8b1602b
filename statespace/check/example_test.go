package check_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/check"
)

// locking is a lock that two processes want: 0 away, 1 waiting, 2 inside.
type locking struct {
	At [2]uint8 `bits:"2"`
}

// A process that waits can enter now and then, but not at any time: the other one may be inside. So
// weak fairness does not bring it in, and strong fairness does.
func Example_strongFairness() {
	enters := [2]string{"0 enters", "1 enters"}
	leaves := [2]string{"0 leaves", "1 leaves"}
	m := check.Model[locking]{Name: "lock", Init: []locking{{}},
		Next: func(s locking, emit func(string, locking)) {
			for i, at := range s.At {
				n := s
				switch {
				case at == 0:
					n.At[i] = 1
					emit("asks", n)
				case at == 1 && s.At[1-i] != 2:
					n.At[i] = 2
					emit(enters[i], n)
				case at == 2:
					n.At[i] = 0
					emit(leaves[i], n)
				}
			}
		},
		Properties: []check.Property[locking]{check.LeadsTo("0 enters when it has asked",
			func(s locking) bool { return s.At[0] == 1 },
			func(s locking) bool { return s.At[0] == 2 })},
	}
	m.Fair = append(enters[:], leaves[:]...)
	weak := m
	m.Fair, m.StronglyFair = leaves[:], enters[:]
	for _, m := range []check.Model[locking]{weak, m} {
		err := local.Run(1, func(job rma.Job) error {
			r, err := check.Run(context.Background(), job, m, check.Options{Mem: 64 << 20})
			if err == nil {
				fmt.Println(r.Properties[0].Verdict)
			}
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// false
	// true
}
