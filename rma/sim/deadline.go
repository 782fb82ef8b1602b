package sim

import "context"

// deadline is a context that ends at a moment of virtual time.
type deadline struct {
	context.Context
	cancel  context.CancelFunc
	r       *rank
	expired bool
}

// WithTimeout returns a context that ends after so much virtual time. It is for the
// calls of this rank. Call cancel when it is not needed any more.
func (j *Job) WithTimeout(parent context.Context, ns int64) (context.Context, context.CancelFunc) {
	j.r.enter()
	c := j.r.c
	d := &deadline{r: j.r}
	d.Context, d.cancel = context.WithCancel(parent)
	c.deadlines = append(c.deadlines, d)
	c.schedule(j.r.clock+duration(ns), event{kind: expire, n: uint32(len(c.deadlines) - 1)})
	return d, d.cancel
}

// Err is DeadlineExceeded when the time is over.
func (d *deadline) Err() error {
	if d.expired {
		return context.DeadlineExceeded
	}
	return d.Context.Err()
}

// expire ends the context and has its rank examine it.
func (d *deadline) expire() {
	if d.Context.Err() != nil {
		return
	}
	d.expired = true
	d.cancel()
	if d.r.blocked {
		d.r.c.wakeAt(d.r, d.r.c.now)
	}
}
