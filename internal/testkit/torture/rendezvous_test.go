//go:build linux

package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farhash/farhash/internal/testkit/twohosts"
)

// clients are what connects to the rendezvous of a job, and does not belong there.
var clients = []func(c *net.TCPConn, rng *rand.Rand, done <-chan struct{}){
	func(_ *net.TCPConn, _ *rand.Rand, done <-chan struct{}) { <-done }, // says nothing
	func(c *net.TCPConn, _ *rand.Rand, _ <-chan struct{}) { _ = c.SetLinger(0) },
	func(c *net.TCPConn, _ *rand.Rand, _ <-chan struct{}) { _ = c.CloseWrite() },
	func(c *net.TCPConn, rng *rand.Rand, done <-chan struct{}) { // garbage
		_, _ = c.Write(noise(rng, 1+rng.IntN(1<<16)))
		<-done
	},
	func(c *net.TCPConn, _ *rand.Rand, _ <-chan struct{}) {
		_, _ = c.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		_, _ = c.Read(make([]byte, 1<<10))
	},
	func(c *net.TCPConn, rng *rand.Rand, done <-chan struct{}) { // slow
		for _, b := range greeting(rng) {
			_, _ = c.Write([]byte{b})
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	},
	func(c *net.TCPConn, rng *rand.Rand, done <-chan struct{}) { // goes no further
		_, _ = c.Write(greeting(rng))
		<-done
	},
	func(c *net.TCPConn, rng *rand.Rand, done <-chan struct{}) { // does not know the token
		_, _ = c.Write(append(greeting(rng), noise(rng, 32)...))
		_, _ = c.Read(make([]byte, 1<<10))
		_, _ = c.Write(noise(rng, 1+rng.IntN(1<<10)))
	},
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// greeting is how a member begins: the version, its rank, the ranks of the job, its port, a nonce
// (rma/internal/tree). One of four has an older version, which ends the handshake at once.
func greeting(rng *rand.Rand) []byte {
	version := byte(5)
	if rng.IntN(4) == 0 {
		version = 4
	}
	b := append([]byte("farhash"), version, byte(rng.IntN(5)), 0, 0, 0,
		byte(4+rng.IntN(2)), 0, 0, 0, byte(rng.IntN(2)), 0, 0, 0)
	return append(b, noise(rng, 32)...)
}

// strikeRendezvous has foreign clients connect to the port of the rendezvous.
func strikeRendezvous(r *round) error {
	m, err := r.family(7)
	if err != nil {
		return err
	}
	token := r.path("token")
	if err := os.WriteFile(token, []byte("token of the sweep"), 0o600); err != nil {
		return err
	}
	address := twohosts.FreeAddress(r.t)
	var nodes [2]*command
	for host := range nodes {
		line := append(r.node(host, 2, 2, address), r.programs["ucx"], "explore", m.path, "--json",
			"-q")
		nodes[host] = r.command([]string{"FARHASH_TOKEN_FILE=" + token}, line...)
	}
	// The second host is late, so that all are there before it.
	if err := nodes[0].begin(); err != nil {
		return err
	}
	done := make(chan struct{})
	var ended, connected sync.WaitGroup
	var made atomic.Int64 // connections
	for range pick(r, 1, 4, 16, 200) {
		client, rng := pick(r, clients...), rand.New(rand.NewPCG(r.Uint64(), 0))
		connected.Add(1)
		ended.Go(func() {
			c := connect(address, nodes[0].ended)
			connected.Done()
			for n := 0; c != nil && n < 20; n++ {
				client(c, rng, done)
				_ = c.Close()
				made.Add(1)
				c = connect(address, done)
			}
		})
	}
	connected.Wait()
	began := nodes[1].begin()
	err = errors.Join(began, nodes[0].finish(0))
	if began == nil {
		err = errors.Join(err, nodes[1].finish(0))
	}
	close(done)
	ended.Wait()
	r.count(int(made.Load()), "connections")
	if err == nil && nodes[0].code()+nodes[1].code() != 0 {
		err = errors.Join(nodes[0].wrong("one of the hosts fails"), nodes[1].wrong("the other"))
	}
	return errors.Join(err, nodes[0].answers(m))
}

// connect connects as soon as somebody listens; nil when that is over.
func connect(address string, over <-chan struct{}) *net.TCPConn {
	for {
		select {
		case <-over:
			return nil
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		cancel()
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			return c.(*net.TCPConn)
		}
		time.Sleep(time.Millisecond)
	}
}
