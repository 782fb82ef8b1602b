package tree

import (
	"io"
	"net"
	"testing"
	"time"
)

// What waits for an answer is unanswered when none has come for the limit, by the time of this
// host, and however seldom this process looks.
func TestUnanswered(t *testing.T) {
	const limit, second = 2 * time.Second, time.Second
	type look struct {
		at    time.Duration
		acked uint64 // bytes; 0: no answer is due
		age   time.Duration
		lost  bool
	}
	for _, c := range []struct {
		name  string
		looks []look
	}{
		{"no answer", []look{{0, 1, 0, false}, {limit - 1, 1, limit - 1, false},
			{limit, 1, limit, true}}},
		{"stopped in between", []look{{0, 1, 0, false}, {60 * second, 1, 60 * second, true}}},
		{"stopped, and answered", []look{{0, 1, 0, false}, {60 * second, 2, 59 * second, false},
			{60*second + 1, 2, 59 * second, false}}},
		{"nothing was due in between", []look{{0, 1, 0, false}, {second, 0, 0, false},
			{60 * second, 1, 59 * second, false}}},
		{"takes nothing, and answers", []look{{0, 1, 0, false},
			{60 * second, 1, 20 * second, false},
			{81 * second, 1, 41 * second, false}, {82 * second, 1, 42 * second, true}}},
	} {
		var q question
		begin := time.Now()
		for _, l := range c.looks {
			a := answers{due: l.acked > 0, acked: l.acked, age: l.age}
			if q.unanswered(a, begin.Add(l.at), limit) != l.lost {
				t.Errorf("%s: after %v lost is %v", c.name, l.at, !l.lost)
			}
		}
	}
}

// A process of another host that reads nothing and writes nothing, because it is stopped, is not
// lost, for how long that ever is: its kernel answers. Neither is it when its buffers are full.
func TestStoppedProcess(t *testing.T) {
	c, other := newPair(t)
	c.limit = time.Second
	for _, bytes := range []int{0, 64 << 20} {
		if bytes > 0 {
			c.put('X', make([]byte, bytes))
		}
		for now := time.Now(); ; now = now.Add(time.Second) {
			c.mu.Lock()
			c.watched = true
			a, known := c.ask(c.Conn)
			c.mu.Unlock()
			if !known {
				t.Skip("this system does not say how its kernel is answered")
			}
			if c.look(now); a.due == (bytes > 0) && time.Until(now) > time.Hour {
				break
			}
		}
		if c.wasSilent(nil) {
			t.Errorf("a process that was stopped for an hour, with %d bytes, is lost", bytes)
		}
	}
	go io.Copy(io.Discard, other)
	c.end()
	<-c.written
}

// A host is asked when nothing has come from it for a while, and once: it owes an answer then.
func TestIdleHostIsAsked(t *testing.T) {
	c, other := newPair(t)
	now := answers{age: c.silence}
	c.mu.Lock()
	c.watched, c.ask = true, func(net.Conn) (answers, bool) { return now, true }
	c.mu.Unlock()
	c.look(time.Now())
	now.due = true
	c.look(time.Now())
	now = answers{}
	c.look(time.Now())
	c.put('X', nil)
	wants(t, other, "HX")
}

// Within a host nobody watches.
func TestWithinHost(t *testing.T) {
	c, _ := newPair(t)
	if !c.within || c.watched || len(c.watcher.conns) > 0 {
		t.Error("a connection within a host is watched")
	}
}
