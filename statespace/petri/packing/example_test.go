package packing_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// A net is read, and its reachable markings are counted by two ranks.
func ExampleSearch() {
	const lamp = `<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
  <net id="lamp" type="http://www.pnml.org/version-2009/grammar/ptnet">
    <page id="page">
      <place id="off"><initialMarking><text>3</text></initialMarking></place>
      <place id="on"/>
      <transition id="switch"/>
      <arc id="a" source="off" target="switch"/>
      <arc id="b" source="switch" target="on"/>
    </page>
  </net>
</pnml>`
	net, err := petri.Read(strings.NewReader(lamp))
	if err != nil {
		fmt.Println(err)
		return
	}
	search := packing.NewSearch(net)
	err = local.Run(2, func(job rma.Job) error {
		res, p, err := search.Run(context.Background(), job, explore.Options{})
		if err == nil && job.Rank() == 0 {
			fmt.Println(res.States, "states,", res.Deadlocks, "deadlock,", p.StateBits(), "bits")
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 4 states, 1 deadlock, 2 bits
}

// A marking of 65 places becomes 26 bits.
func ExampleNew() {
	net, err := petri.Family("philosophers", 13)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := packing.New(net, packing.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(net.Places), "places,", p.StateBits(), "bits")
	// Output: 65 places, 26 bits
}
