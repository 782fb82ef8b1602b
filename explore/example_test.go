package explore_test

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// jugs is the riddle of two jugs of 3 and 5 litres: fill, empty, pour over. A state
// has the content of the small jug in its low bits.
type jugs struct{}

func (jugs) StateBits() int                     { return 5 }
func (jugs) StateWords() int                    { return 1 }
func (jugs) Initial(dst []uint64)               { dst[0] = 0 }
func (jugs) NewExpander() explore.Expander      { return &pourer{} }
func (*pourer) packed(small, big uint64) uint64 { return big<<2 | small }

type pourer struct{ peaks explore.Peaks }

func (p *pourer) Expand(state, out []uint64) ([]uint64, error) {
	small, big := state[0]&3, state[0]>>2
	p.peaks.TokensPlace = max(p.peaks.TokensPlace, small, big)
	p.peaks.TokensMarking = max(p.peaks.TokensMarking, small+big)
	toBig, toSmall := min(small, 5-big), min(big, 3-small)
	return append(out,
		p.packed(3, big), p.packed(0, big), p.packed(small, 5), p.packed(small, 0),
		p.packed(small-toBig, big+toBig), p.packed(small+toSmall, big-toSmall)), nil
}

// Predecessors is needed for traces only.
func (p *pourer) Predecessors(_, preds []uint64, transitions []int) ([]uint64, []int) {
	return preds, transitions
}

func (p *pourer) Peaks() explore.Peaks { return p.peaks }

func Example() {
	err := local.Run(2, func(job rma.Job) error {
		res, err := explore.Run(context.Background(), job, jugs{}, explore.Options{})
		if err == nil && job.Rank() == 0 {
			fmt.Println(res.States, "states,", res.Arcs, "arcs,", res.Depth, "levels deep")
			fmt.Println("most litres:", res.Peaks.TokensMarking, "- complete:", res.Complete)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 16 states, 96 arcs, 7 levels deep
	// most litres: 8 - complete: true
}
