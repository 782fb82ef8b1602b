package explore_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
)

// jugs is the riddle of two jugs of 3 and 5 litres: fill, empty, pour over. A state
// has the content of the small jug in its low bits.
type jugs struct{}

func (jugs) StateBits() int                     { return 5 }
func (jugs) StateWords() int                    { return 1 }
func (jugs) Initial(out []uint64) []uint64      { return append(out, 0) }
func (jugs) Findings() int                      { return 1 }
func (jugs) NewExpander() explore.Expander      { return &pourer{} }
func (*pourer) packed(small, big uint64) uint64 { return big<<2 | small }

// Decided: four litres have been measured out.
func (jugs) Decided(findings []uint64) bool { return findings[0] != 0 }

// pourer notes one finding: whether the large jug has had four litres.
type pourer struct{ four [1]uint64 }

func (p *pourer) Findings() []uint64 { return p.four[:] }
func (p *pourer) Found() int         { return int(p.four[0]) }

func (p *pourer) Expand(state, out []uint64) ([]uint64, error) {
	small, big := state[0]&3, state[0]>>2
	if big == 4 {
		p.four[0] = 1
	}
	toBig, toSmall := min(small, 5-big), min(big, 3-small)
	return append(out,
		p.packed(3, big), p.packed(0, big), p.packed(small, 5), p.packed(small, 0),
		p.packed(small-toBig, big+toBig), p.packed(small+toSmall, big-toSmall)), nil
}

func Example() {
	err := local.Run(2, func(job rma.Job) error {
		opts := explore.Options{Trace: []int{0}} // a shortest way to the finding
		res, err := explore.Run(context.Background(), job, jugs{}, opts)
		if err == nil && job.Rank() == 0 {
			fmt.Println(res.Reason, "after", len(res.Trace)-1, "steps:")
			for _, step := range res.Trace {
				fmt.Print(" ", step.State[0]&3, "+", step.State[0]>>2)
			}
			fmt.Println()
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// decided after 6 steps:
	//  0+0 0+5 3+2 0+2 2+0 2+5 3+4
}
