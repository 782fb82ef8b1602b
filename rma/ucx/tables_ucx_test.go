//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/stream"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

func init() { roles["tables"] = tables }

// accessOf is how tables reach other ranks, which an argument ends with.
func accessOf(argument string) (rma.Access, error) {
	_, name, _ := strings.Cut(argument, "=")
	return rma.ParseAccess(name)
}

// tables has all ranks work on tables of each kind.
func tables(a *actor) error {
	access, err := accessOf(a.argument)
	if err != nil {
		return err
	}
	s, err := stream.Open(a.ctx, a.job, stream.Options{Seed: 1, Access: access})
	steps := 400
	if strings.HasPrefix(a.argument, "short-") {
		steps = 40
	}
	for i := 0; err == nil && i < steps; i++ {
		err = s.Step()
	}
	if err != nil {
		return err
	}
	if lost := s.Lost(); len(lost) > 0 {
		return fmt.Errorf("ranks %v were lost", lost)
	}
	if err := errors.Join(s.Finish(a.ctx), a.job.Barrier(a.ctx), s.Close()); err != nil {
		return err
	}
	fmt.Println("the tables are right")
	return nil
}

// accesses are the ways of tables to other ranks' memory.
var accesses = []rma.Access{rma.OneSided, rma.Shipped, rma.Auto}

// The tables give the answers of plain maps: everything through UCX, and on hosts that are
// pretended, with atomics of the processor and without.
func TestTables(t *testing.T) {
	for _, argument := range []string{"hidden=shipped", "pairs=one-sided",
		"pairs-incoherent=shipped", "pairs-incoherent=auto"} {
		ranks := 4
		if testing.Short() {
			ranks, argument = 2, "short-"+argument
		}
		for _, p := range start(t, ranks, "tables", argument) {
			p.expectEnd(t, "the tables are right")
		}
	}
}

// And on two hosts.
func TestTablesTwoHosts(t *testing.T) {
	hosts := twohosts.New(t)
	for _, access := range accesses {
		for _, p := range startWith(t, 4, "tables", fmt.Sprint("hosts=", access),
			hosts.Address(0)+":29500",
			func(rank int) *exec.Cmd { return hosts.Command(rank/2, os.Args[0]) }) {
			p.expectEnd(t, "the tables are right")
		}
	}
}
