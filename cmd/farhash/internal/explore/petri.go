package explore

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/statespace/petri"
)

// NewPetri is the command farhash petri.
func NewPetri() *cobra.Command {
	var n int
	var out string
	families := strings.Join(petri.FamilyNames(), ", ")
	cmd := &cobra.Command{
		Use:       "petri " + strings.Join(petri.FamilyNames(), "|") + " -n N",
		Short:     "Write a Petri net with a known number of states",
		ValidArgs: petri.FamilyNames(),
		Args: cli.OneArg("FAMILY", "the family of the net, one of "+families+
			"; for example: farhash petri philosophers -n 12"),
		Long: `Writes a place/transition net of a family and size N, as PNML. The numbers of its
states (reachable markings) and arcs are known:

  philosophers  3^N states, 7N*3^(N-2) arcs
  rwmutex       2^N + N states, N*2^N + 2N arcs (N readers, N writers)
  referendum    3^N + 1 states, 2N*3^(N-1) + 1 arcs
  dekker        2^(N-1)*(N+2) states
  kanban        160, 4600, 58400, 454475, 2546432, ... states
  walker        2, 5, 19, 47, 115, 275, ... states from N = 2 on`,
		Example: `  farhash petri philosophers -n 12 -o philosophers-12.pnml
  farhash petri kanban -n 4 | farhash explore -`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if !slices.Contains(petri.FamilyNames(), given[0]) {
				_, err := petri.Family(given[0], n)
				return cli.Usage(err)
			}
			if !cmd.Flags().Changed("size") {
				return cli.Usage(fmt.Errorf("-n N is missing: the size of the net; for example: "+
					"farhash petri %s -n 12", given[0]))
			}
			net, err := petri.Family(given[0], n)
			if err != nil {
				return cli.Usage(err)
			}
			return writeNet(out, net)
		},
	}
	cmd.Flags().IntVarP(&n, "size", "n", 0, "size `N` of the net")
	cmd.Flags().StringVarP(&out, "output", "o", "-", "`FILE` to write, - for standard output")
	cli.CompleteFlags(cmd, nil)
	return cmd
}

// pnml is the format of nets.
var pnml = replace.Format{Name: "net in PNML", Known: func(head []byte) bool {
	return bytes.Contains(head, []byte("<pnml"))
}}

// writeNet writes to a file by way of a temporary one, so that a failure leaves
// what was there.
func writeNet(path string, net *petri.Net) error {
	if path == "-" {
		return petri.Write(os.Stdout, net)
	}
	err := replace.File(path, pnml, func(w io.Writer) error { return petri.Write(w, net) })
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
