package twohosts

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The ports of FreeAddress are below those that systems give to connections by themselves.
const (
	portLeast = 20_000
	portMost  = 32_000
)

var given sync.Map // the ports that FreeAddress has returned

// FreeAddress is an address of this host where nobody listens, and another one in each call: tests
// run at the same time, and listen some time later.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range portMost - portLeast {
		port := portLeast + rand.IntN(portMost-portLeast)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		_ = l.Close()
		if _, twice := given.LoadOrStore(port, true); !twice {
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}
