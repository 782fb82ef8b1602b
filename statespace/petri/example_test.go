package petri_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/farhash/farhash/statespace/petri"
)

func ExampleRead() {
	const file = `<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
  <net id="pair" type="http://www.pnml.org/version-2009/grammar/ptnet">
    <page id="page">
      <place id="socks"><initialMarking><text>5</text></initialMarking></place>
      <transition id="wear"/>
      <arc id="a" source="socks" target="wear"><inscription><text>2</text></inscription></arc>
    </page>
  </net>
</pnml>`
	n, err := petri.Read(strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := n.Initial()
	for t := &n.Transitions[0]; t.Enabled(m); {
		t.Fire(m)
		fmt.Println(t.ID, m)
	}
	// Output:
	// wear [3]
	// wear [1]
}

func ExampleRead_error() {
	const file = `<pnml>
  <net id="pair" type="symmetricnet"/>
</pnml>`
	_, err := petri.Read(strings.NewReader(file))
	fmt.Println(strings.Replace(err.Error(), "; ", ";\n", 1))
	// Output:
	// line 2: the net type "symmetricnet" is not a place/transition net (ptnet);
	// unfold the coloured net into a place/transition net first
}

func ExampleWrite() {
	n := &petri.Net{
		Name:   "coin",
		Places: []petri.Place{{ID: "heads", Name: "heads up", Initial: 1}},
		Transitions: []petri.Transition{
			{ID: "toss", Name: "toss", In: []petri.Arc{{Place: 0, Weight: 1}}},
		},
	}
	if err := petri.Write(os.Stdout, n); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
	//   <net id="coin" type="http://www.pnml.org/version-2009/grammar/ptnet">
	//     <page id="_page">
	//       <place id="heads">
	//         <name><text>heads up</text></name>
	//         <initialMarking><text>1</text></initialMarking>
	//       </place>
	//       <transition id="toss">
	//         <name><text>toss</text></name>
	//       </transition>
	//       <arc id="_1" source="heads" target="toss"/>
	//     </page>
	//   </net>
	// </pnml>
}

func ExampleFamily() {
	n, err := petri.Family("philosophers", 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.Name, len(n.Places), len(n.Transitions))
	_, err = petri.Family("philosophers", 1)
	fmt.Println(err)
	// Output:
	// Philosophers-5 25 25
	// the number of philosophers is 1; it must be 2 to 100000
}
