package tree

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/internal/testkit/twohosts"
)

// refusing is a listener that refuses a connection each time that it gets an error.
type refusing struct {
	net.Listener
	errs chan error
}

func (r refusing) Accept() (net.Conn, error) {
	if err := <-r.errs; err != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return r.Listener.Accept()
}

// entered tells which ranks have entered.
type entered struct {
	*root
	ranks chan int
}

func (e entered) enter(rank int, c net.Conn, port uint32) {
	e.root.enter(rank, c, port)
	e.ranks <- rank
}

// If the system refuses a connection, ranks that connect later are admitted all the same, and the
// error for those that do not come names the limit until then.
func TestAcceptFails(t *testing.T) {
	cfg := Config{Size: 2, Address: twohosts.FreeAddress(t), Token: token, Timeout: never,
		Silence: never, fan: maxChildren}
	top := newTree(cfg)
	l, err := net.Listen("tcp", cfg.Address)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	top.door = &door{Listener: refusing{l, errs}, cfg: cfg}
	top.root = &root{Tree: top, members: make([]member, 2), arrived: make(chan struct{}, 2),
		missed: make(chan struct{}, 1), gave: make([]bool, 2), payloads: make([][]byte, 2)}
	e := entered{top.root, make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		top.door.admit(e)
	}()
	for _, err := range []error{syscall.ECONNABORTED, syscall.EMFILE, syscall.EMFILE} {
		select {
		case errs <- err:
		case <-ended:
			t.Fatal("nobody is admitted any more")
		}
	}
	said := top.root.remedy()
	errs <- nil
	cfg.Rank = 1
	c, _, err := connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if rank := <-e.ranks; rank != 1 {
		t.Errorf("rank %d has entered", rank)
	}
	if !strings.Contains(said, "too many open files; raise the limit of open files (ulimit -n)") {
		t.Errorf("while connections are refused it says: %s", said)
	}
	if said := top.root.remedy(); strings.Contains(said, "ulimit") {
		t.Errorf("when they are accepted again it says: %s", said)
	}
	_ = c.Close()
	close(errs)
	top.Close()
	<-ended
}
