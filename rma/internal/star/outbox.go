package star

import "sync"

type frame struct {
	kind    byte
	payload []byte
}

// outbox is what a member is to be told. It is never full: who does not take what is sent for
// too long is found out by who sends it.
type outbox struct {
	mu     sync.Mutex
	news   sync.Cond
	frames []frame
	closed bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.news.L = &o.mu
	return o
}

func (o *outbox) put(f frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.frames = append(o.frames, f)
	o.news.Signal()
}

// close says that there is no more to come.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.news.Signal()
}

// next waits for the next frame; more is false when there is none to come.
func (o *outbox) next() (f frame, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.frames) == 0 && !o.closed {
		o.news.Wait()
	}
	if len(o.frames) == 0 {
		return f, false
	}
	f, o.frames = o.frames[0], o.frames[1:]
	return f, true
}
