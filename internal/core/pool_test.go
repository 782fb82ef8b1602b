package core

import (
	"errors"
	"testing"
)

// pooled counts how often it was closed.
type pooled struct {
	closed int
	err    error
}

func (p *pooled) Close() error {
	p.closed++
	return p.err
}

func TestPool(t *testing.T) {
	over, failed := errors.New("over"), errors.New("failed")
	p := Pool[*pooled]{Closed: over}
	if s, ok, err := p.Take(); ok || err != nil || p.Open() != nil {
		t.Fatalf("an empty pool gives %v, %v, %v", s, ok, err)
	}
	kept, broken, late := &pooled{err: failed}, new(pooled), new(pooled)
	another := &pooled{err: errors.New("another")}
	p.Give(kept, false)
	p.Give(broken, true)
	if broken.closed != 1 || kept.closed != 0 || p.Idle() != 1 {
		t.Fatalf("broken closed %d times, kept %d; %d idle", broken.closed, kept.closed, p.Idle())
	}
	if s, ok, err := p.Take(); s != kept || !ok || err != nil || p.Idle() != 0 {
		t.Fatalf("took %v, %v, %v", s, ok, err)
	}
	p.Give(kept, false)
	p.Give(another, false)
	if err := p.Close(); err != failed || kept.closed != 1 || another.closed != 1 {
		t.Fatalf("closing: %v; closed %d and %d times", err, kept.closed, another.closed)
	}
	p.Give(late, false)
	if _, ok, err := p.Take(); ok || err != over || p.Open() != over || late.closed != 1 {
		t.Fatalf("a closed pool: %v, %v; closed %d times", ok, err, late.closed)
	}
}

// asking is closed by a call on the pool, as calls of others are.
type asking struct{ pool *Pool[*asking] }

func (a *asking) Close() error {
	a.pool.Idle()
	return nil
}

// Who closes what a call has broken off may wait long for it, and others do not wait with it.
func TestPoolClosesAlone(t *testing.T) {
	var p Pool[*asking]
	p.Give(&asking{&p}, true) // would wait for ever
	if p.Idle() != 0 {
		t.Error("what was broken is idle")
	}
}

// What was born before a given time is not handed out again.
