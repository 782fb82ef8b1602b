package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// must ends a test after an error.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// engine runs ranks.
type engine = lab.Engine

var engines = lab.Engines()

var modes = []Mode{LockFree, Fine, Coarse}

// carriers are those on which batches can be shipped.
var carriers = lab.Carriers()

// eachCase runs a test on every engine, in every mode and with both kinds of addressing. Where
// batches can be shipped they are.
func eachCase(t *testing.T, fn func(t *testing.T, e engine, cfg Config)) {
	each := func(e engine, access rma.Access) {
		for _, mode := range modes {
			for _, addressing := range []Addressing{Groups, Paper} {
				cfg := Config{Mode: mode, Addressing: addressing, Access: access}
				t.Run(fmt.Sprintf("%s/%v/addressing=%d", e.Name, mode, addressing),
					func(t *testing.T) { fn(t, e, cfg) })
			}
		}
	}
	for _, e := range engines {
		each(e, rma.Auto)
	}
	for _, e := range carriers {
		each(e, rma.Shipped)
	}
}

// together waits for goroutines and joins their errors.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// withCache runs fn with a cache on every rank.
func withCache(e engine, ranks int, cfg Config, fn func(c *Cache) error) error {
	return e.Run(ranks, func(job rma.Job) error {
		c, err := New(context.Background(), job, cfg)
		if err != nil {
			return err
		}
		return errors.Join(fn(c), c.Close())
	})
}
