package core

import (
	"io"
	"sync"
)

// Pool keeps the resources that the calls of a table need, such as a queue with step machines
// on it, from one call to the next. It is safe for concurrent use. A Pool must not be copied.
type Pool[S io.Closer] struct {
	// Closed is the error of Take and Open after Close.
	Closed error

	mu     sync.Mutex
	idle   []S
	closed bool
}

// Take returns an idle one; ok is false if there is none, and the caller makes one.
func (p *Pool[S]) Take() (s S, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return s, false, p.Closed
	}
	n := len(p.idle) - 1
	if n < 0 {
		return s, false, nil
	}
	s = p.idle[n]
	p.idle = p.idle[:n]
	return s, true, nil
}

// Give takes one back after a call. If the call ended early, operations may still be in flight,
// and it is closed.
func (p *Pool[S]) Give(s S, broken bool) {
	p.mu.Lock()
	keep := !broken && !p.closed
	if keep {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep { // Close may wait for what is in flight, so the lock is not held
		_ = s.Close()
	}
}

// Open is nil until the pool is closed.
func (p *Pool[S]) Open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.Closed
	}
	return nil
}

// Idle is the number of idle ones.
func (p *Pool[S]) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// Close closes all, those in use when they are given back.
func (p *Pool[S]) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first error
	for _, s := range p.idle {
		if err := s.Close(); first == nil {
			first = err
		}
	}
	p.idle, p.closed = nil, true
	return first
}
