package symbolic_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/statespace/symbolic"
)

// Example finds all ways to distribute three tokens, one move at a time.
func Example() {
	s, err := symbolic.New(context.Background(), symbolic.Config{Levels: 2, MaxBytes: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	from, err := s.Vector([]uint32{3, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Hold(from)
	move, err := s.NewTransition(symbolic.Step{Level: 0, Need: 1, Change: -1},
		symbolic.Step{Level: 1, Change: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := s.Reach(from, []symbolic.Transition{move}, symbolic.Saturation)
	if err != nil {
		fmt.Println(err)
		return
	}
	count, err := s.Count(all)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(count)
	for v := range s.All(all) {
		fmt.Println(v)
	}
	// Output:
	// 4
	// [0 3]
	// [1 2]
	// [2 1]
	// [3 0]
}
