package tree

import (
	"net"
	"slices"
	"testing"
	"time"
)

// newPair is both ends of a connection within this host: what one end sends, and the other end as
// a plain connection.
func newPair(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	n := newConn(c, &Config{Silence: never, watcher: newWatcher(never)})
	t.Cleanup(func() { n.close(); _ = other.Close() })
	return n, other
}

// wants reads frames, which must be of these kinds.
func wants(t *testing.T, c net.Conn, kinds string) (last []byte) {
	t.Helper()
	for _, want := range kinds {
		kind, payload, err := readFrame(c, 1000)
		if err != nil || rune(kind) != want {
			t.Fatalf("the frame %c, %v; want %c of %s", kind, err, want, kinds)
		}
		last = payload
	}
	return last
}

// newRank is a rank of a job of 7 with two children each, without connections.
func newRank(rank int) *Tree {
	return newTree(Config{Rank: rank, Size: 7, fan: 2, Silence: time.Minute})
}

// A rank whose parent is lost says so on its line, and gives there what the parent has had.
func TestUseLine(t *testing.T) {
	r := newRank(2)
	var line, up net.Conn
	r.line, line = newPair(t)
	r.up, up = newPair(t)
	r.line.within = false
	r.mu.Lock()
	r.own = 1
	r.add([]run{{2, 1, []byte{9}}})
	r.mu.Unlock()
	given := wants(t, up, "G")
	r.mu.Lock()
	r.useLine()
	watched := r.line.watched
	r.line.put('H', nil) // the end of what is to come
	r.mu.Unlock()
	if again := wants(t, line, "OG"); !slices.Equal(again, given) || !watched {
		t.Errorf("on the line comes %v, and on the other connection came %v; watched: %v", again,
			given, watched)
	}
}

// Who is connected late learns who is gone, and what all gave.
func TestAttach(t *testing.T) {
	r := newRank(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn([]state{{3, peer{state: Left, given: 1}}, {3, peer{state: Died, given: 1}}})
	r.finish(1, nil, encodeRuns(1, []run{{0, 7, nil}}))
	c, other := newPair(t)
	r.attach(2, c)
	c.put('H', nil)
	states, err := decodeStates(wants(t, other, "F"), 7)
	if err != nil || len(states) != 2 || states[0].state != Left || states[1].state != Died {
		t.Errorf("known is %v, %v", states, err)
	}
	wants(t, other, "R")
}

// A rank that is gone before all have given does not give any more, on whatever way that comes.
func TestGivesNoMore(t *testing.T) {
	top := newRank(0)
	r := &root{Tree: top, members: make([]member, 7), missed: make(chan struct{}, 1), began: true,
		gave: make([]bool, 7), payloads: make([][]byte, 7), lacking: 7}
	top.root = r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add([]run{{0, 3, nil}})
	r.part(2, peer{state: Died})
	r.part(4, peer{state: Died})
	r.add([]run{{2, 5, nil}})
	if r.gathered != 0 || r.lacking != 1 || r.peers[2].given != 1 || r.peers[4].given != 0 {
		t.Errorf("%d gatherings have ended, %d ranks lack, rank 2 gave %d times, rank 4 %d",
			r.gathered, r.lacking, r.peers[2].given, r.peers[4].given)
	}
}

// The error of a gathering names all ranks that were lost in the same way, and how.
func TestLoss(t *testing.T) {
	r := newRank(1)
	r.given = 1
	r.learn([]state{{5, peer{state: Died, silent: true}}, {3, peer{state: Died}},
		{4, peer{state: Died, silent: true}}, {6, peer{state: Left}}})
	for rank, want := range map[int]string{
		3: "rank 3 has died",
		4: "ranks [4 5] have been out of reach for 1m0s and so taken for dead (--timeout-lost " +
			"sets the limit)",
		6: "rank 6 has left the job",
	} {
		if said := r.Loss(rank); said != want {
			t.Errorf("of rank %d it says: %s", rank, said)
		}
	}
	err := r.absent()
	if want := "rma: rank 3 has died, and this call needs every rank"; err.Error() != want ||
		!isLost(err, 3) {
		t.Errorf("the error is: %v", err)
	}
}
