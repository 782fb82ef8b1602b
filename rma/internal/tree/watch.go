package tree

import (
	"sync"
	"time"
)

const (
	// looksPerSilence is how often a watcher looks at a connection within Config.Silence.
	looksPerSilence = 32
	// askedPerSilence is how often an idle host is asked within that time. 1/8 of it until it is
	// asked, three looks and the 3/4 for which an answer may be due are less than all of it.
	askedPerSilence = 8
	// minLimit is more than a kernel may delay an answer, which is half a second.
	minLimit = 600 * time.Millisecond
	// maxGap is the longest time between two questions of a kernel to a process that takes nothing:
	// TCP_RTO_MAX of Linux.
	maxGap = 2 * time.Minute
)

// answers is what the kernel of this host knows about the one at the other end of a connection.
type answers struct {
	due   bool          // it has not confirmed all that was sent
	acked uint64        // how many bytes it has confirmed
	age   time.Duration // of the last segment that came from it
}

// question is what this end has asked the kernel at the other end, and not been answered.
type question struct {
	since time.Time // an answer is due since then, or longer; zero: none is
	acked uint64
}

// unanswered looks at the answers, and reports whether one has been due for the limit in which none
// came. The kernel here repeats the question also while this process does not run.
//
// A process that does not read, because it is stopped, may have full buffers. Then its kernel
// answers each time that it takes no more, and the kernel here doubles the time between two
// questions. So after an answer that came late the next one may take as long again.
func (q *question) unanswered(a answers, now time.Time, limit time.Duration) bool {
	switch {
	case !a.due:
		q.since = time.Time{}
		return false
	case q.since.IsZero() || a.acked != q.acked:
		q.since, q.acked = now, a.acked
		return false
	}
	due := now.Sub(q.since)
	answered := max(0, due-a.age) // after so much time an answer came, that it takes no more
	return due-answered >= limit+min(answered, maxGap)
}

// watcher looks at connections to other hosts, and asks whether the kernels there answer. It need
// not look at processes: when one ends, its kernel ends its connections.
type watcher struct {
	tick time.Duration

	mu    sync.Mutex
	conns map[*conn]struct{}
	runs  bool
	ended bool
}

func newWatcher(silence time.Duration) *watcher {
	return &watcher{tick: max(silence/looksPerSilence, time.Millisecond),
		conns: map[*conn]struct{}{}}
}

// set has a connection watched, or not any more.
func (w *watcher) set(c *conn, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !yes {
		delete(w.conns, c)
		return
	}
	w.conns[c] = struct{}{}
	if !w.runs && !w.ended {
		w.runs = true
		go w.run()
	}
}

// run looks at the connections as long as there are any.
func (w *watcher) run() {
	for {
		time.Sleep(w.tick)
		w.mu.Lock()
		var all []*conn
		for c := range w.conns {
			all = append(all, c)
		}
		w.runs = len(all) > 0 && !w.ended
		again := w.runs
		w.mu.Unlock()
		if !again {
			return
		}
		for _, c := range all {
			c.look(time.Now())
		}
	}
}

// end ends the watch of all connections.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
