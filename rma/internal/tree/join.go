package tree

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farhash/farhash/rma"
)

// Join connects this rank to the others of the job.
func Join(ctx context.Context, cfg Config) (*Tree, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	t := newTree(cfg)
	if cfg.Rank == 0 {
		if err := openRoot(within, t); err != nil {
			return nil, err
		}
		return t, t.closeIf(t.root.assemble(within))
	}
	c, d, err := connect(within, cfg)
	if err != nil {
		return nil, err
	}
	t.line = newConn(c, &t.cfg)
	t.up = t.line
	if t.door = d; d != nil {
		go d.admit(t)
	}
	address, err := t.begin(within)
	if err != nil {
		t.Leave() // so that for rank 0 this one has not died
		return nil, t.closeIf(err)
	}
	if address != "" {
		t.moveTo(address)
	}
	t.readers.Go(func() { t.listen(t.line) })
	return t, nil
}

// closeIf closes a tree that was not joined.
func (t *Tree) closeIf(err error) error {
	if err != nil {
		t.Close()
	}
	return err
}

// begin waits until all ranks have connected, and returns the address of the parent, empty if that
// is rank 0.
func (t *Tree) begin(ctx context.Context) (address string, err error) {
	type answer struct {
		address string
		err     error
	}
	start, began := time.Now(), make(chan answer, 1)
	go func() {
		address, err := t.awaitBeginning()
		began <- answer{address, err}
	}()
	select {
	case a := <-began:
		return a.address, a.err
	case <-ctx.Done(): // rank 0 sends a better error a moment later, unless it is gone
		err = fmt.Errorf("rank %d waited %v for all ranks to come to %s: %w", t.cfg.Rank,
			t.cfg.waited(start), t.cfg.Address, ctx.Err())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		select {
		case a := <-began:
			return a.address, a.err
		case <-time.After(t.cfg.Silence):
		}
	}
	return "", err
}

// awaitBeginning is begin without a limit.
func (t *Tree) awaitBeginning() (address string, err error) {
	var gone *rma.RankError
	for {
		kind, payload, err := t.line.receive(maxFrame(t.cfg.Size))
		switch {
		case err != nil:
			return "", early(t.cfg.Address, nil, &rma.RankError{Rank: 0})
		case kind == 'S':
			return string(payload), nil
		case kind == 'F':
			states, err := decodeStates(payload, t.cfg.Size)
			if err != nil {
				return "", err
			}
			t.mu.Lock()
			t.learn(states)
			t.mu.Unlock()
			gone = t.Gone()
		case gone != nil:
			return "", &earlyError{string(payload), gone}
		default:
			return "", errors.New(string(payload))
		}
	}
}

// moveTo connects to the parent at an address. Where that cannot be reached the line remains.
func (t *Tree) moveTo(address string) {
	c := tryParent(t.cfg, address)
	if c == nil {
		t.line.put('O', nil)
		return
	}
	up := newConn(c, &t.cfg)
	t.mu.Lock()
	t.up = up
	t.mu.Unlock()
	t.line.put('M', nil)
	t.line.watch(false)
	t.readers.Go(func() { t.listen(up) })
}

// earlyError is the error of rank 0 for a rank that is gone before all have connected.
type earlyError struct {
	text string
	gone *rma.RankError
}

func (e *earlyError) Error() string { return e.text }
func (e *earlyError) Unwrap() error { return e.gone }
