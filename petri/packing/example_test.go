package packing_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/petri/packing"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// A net is read, and its reachable markings are counted by two ranks.
func ExampleExplore() {
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
	err = local.Run(2, func(job rma.Job) error {
		res, p, err := packing.Explore(context.Background(), job, net, explore.Options{})
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

// A marking of 65 places becomes 26 bits, and the same marking again.
func ExamplePacking() {
	net, err := petri.Philosophers(13)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := packing.New(net, packing.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	marking := net.Initial()
	net.Transitions[0].Fire(marking) // the first philosopher takes a fork
	state, again := make([]uint64, p.StateWords()), make([]int64, len(marking))
	if err := p.Pack(marking, state); err != nil {
		fmt.Println(err)
		return
	}
	p.Unpack(state, again)
	fmt.Println(len(marking), "places,", p.StateBits(), "bits")
	fmt.Println(fmt.Sprint(again) == fmt.Sprint(marking))
	// Output:
	// 65 places, 26 bits
	// true
}
