//go:build linux

package torture

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

type hostTest struct{ binary, folder, pattern string }

// hostTests are tests of other packages that have ranks work on two hosts, which lose ranks
// and the cable between them. Those that take a seed get one.
var hostTests = []hostTest{
	{"ucx.test", "rma/ucx", "^TestSoak$"},
	{"ucx.test", "rma/ucx", "^TestTablesTwoHosts$"},
	{"command.test", "cmd/farhash/internal/explore", "^TestUCX(Loses|Resume)"},
	{"openmpi.test", "rma/mpi", "^Test(TwoHosts|Tables|Killed)$"},
	{"mpich.test", "rma/mpi", "^Test(TwoHosts|Tables|Killed)$"},
}

// strikeHosts runs one of them.
func strikeHosts(r *round) error {
	h := pick(r, slices.DeleteFunc(slices.Clone(hostTests), func(h hostTest) bool {
		return r.programs[h.binary] == ""
	})...)
	seed := fmt.Sprint(1 + r.Uint64()>>1)
	line := []string{r.programs[h.binary], "-test.timeout", "10m", "-test.run", h.pattern}
	if h.pattern == "^TestSoak$" {
		line = append(line, "-seed", seed)
	}
	c := r.command([]string{"MPI_TEST_SEED=" + seed}, line...)
	c.Dir = filepath.Join("..", "..", "..", h.folder)
	c.any = true
	if err := c.run(0); err != nil {
		return err
	}
	r.count(1, h.binary+" "+strings.Trim(h.pattern, "^$"))
	if c.code() != 0 {
		return c.wrong("it fails")
	}
	return nil
}
