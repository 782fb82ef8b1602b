package star

import "sync"

type frame struct {
	kind    byte
	payload []byte
}

// outbox is the queue of frames for a member. It is never full: a member that does not take what
// is sent for too long is found by the writer.
type outbox struct {
	mu     sync.Mutex
	filled sync.Cond
	frames []frame
	closed bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.filled.L = &o.mu
	return o
}

func (o *outbox) put(f frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.frames = append(o.frames, f)
	o.filled.Signal()
}

// close has next return no more frames after those in the queue.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.filled.Signal()
}

// next waits for the next frame; more is false when none comes any more.
func (o *outbox) next() (f frame, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.frames) == 0 && !o.closed {
		o.filled.Wait()
	}
	if len(o.frames) == 0 {
		return f, false
	}
	f, o.frames = o.frames[0], o.frames[1:]
	return f, true
}
