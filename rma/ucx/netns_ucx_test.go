//go:build ucx && cgo

package ucx

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/twohosts"
)

// onTwoHosts starts four ranks, two on each of two hosts.
func onTwoHosts(t *testing.T, role, argument string) ([]*process, *twohosts.Pair) {
	t.Helper()
	hosts := twohosts.New(t)
	address := net.JoinHostPort(hosts.Address(0), "29500")
	return startWith(t, 4, role, argument, address,
		func(rank int) *exec.Cmd { return hosts.Command(rank/2, os.Args[0]) }), hosts
}

// Ranks on two hosts, over TCP between them and with direct memory within.
func TestTwoHosts(t *testing.T) {
	for _, c := range []struct{ role, argument, says string }{
		{"sum", "hosts", ": 40, flat false"}, {"visited", "hosts", "the set is right"},
		{"compute", "hosts", "computed"}, {"lose", "1,hosts", ""},
		{"shipAll", "hosts", "all is answered"}, {"shipCompute", "hosts", "computed"},
	} {
		ranks, _ := onTwoHosts(t, c.role, c.argument)
		for rank, p := range ranks {
			if c.role != "lose" {
				p.expectEnd(t, c.says)
			} else if rank != 1 {
				p.expectEnd(t, "continued without it")
			}
		}
	}
}

// A cable that is cut in the middle of operations: each host loses the ranks of the other, and
// nobody waits for ever.
func TestCutOff(t *testing.T) {
	sign := filepath.Join(t.TempDir(), "working")
	ranks, hosts := onTwoHosts(t, "cutOff", "hosts-silent,"+sign)
	for working := 0; working < len(ranks); {
		signs, err := filepath.Glob(sign + "*")
		if err != nil {
			t.Fatal(err)
		}
		working = len(signs)
		select {
		case <-ranks[0].ended: // too early: it says below what was wrong
			working = len(ranks)
		case <-time.After(time.Millisecond):
		}
	}
	hosts.Cut(t)
	begin := time.Now()
	for rank, p := range ranks {
		p.expectEnd(t, fmt.Sprintf("rank %d was cut off", rank))
	}
	t.Log("all had noticed after ", time.Since(begin))
}

// A cable that is cut while the ranks connect, or soon after, has them fail or continue without the
// others, and wait for nobody.
func TestCutOffEarly(t *testing.T) {
	for range 4 {
		after := time.Duration(rand.IntN(200)) * time.Millisecond
		ranks, hosts := onTwoHosts(t, "cutOff",
			"hosts-silent-hurried,"+filepath.Join(t.TempDir(), "sign"))
		time.Sleep(after)
		hosts.Cut(t)
		for rank, p := range ranks {
			_ = p.wait()
			said := p.out.String()
			ended := p.cmd.ProcessState.ExitCode() < 2 // it neither panics nor is aborted
			reported := slices.ContainsFunc([]string{"was cut off", "rank 0", "died",
				"taken for dead", "deadline exceeded"}, func(why string) bool {
				return strings.Contains(said, why)
			})
			if !ended || !reported {
				t.Errorf("rank %d, cut off after %v, said:\n%s", rank, after, said)
			}
		}
	}
}
