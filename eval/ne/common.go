package ne

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/measure"
)

// common is the store that the ranks of this process share.
type common struct {
	mu    sync.Mutex
	store store
}

func (c *common) set(s store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store = s
}

func (c *common) get() store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store
}

// shared reports whether the ranks share one store, and so have to be of one process.
func (i impl) shared() bool { return i == sharedMap || i == xsyncMap }

// dropShared leaves out what ranks share if they are processes.
func (y *ycsb) dropShared() error {
	_, processes, err := farhash.Launched()
	if err != nil || !processes {
		return err
	}
	if y.impls = slices.DeleteFunc(y.impls, impl.shared); len(y.impls) == 0 {
		return fmt.Errorf("--impl %s and %s need ranks of one process: start without a launcher",
			sharedMap, xsyncMap)
	}
	return nil
}

// openCommon has rank 0 make a store for all. Collective.
func (r *run) openCommon(ctx context.Context, open func(context.Context) (store, error)) (
	store, error) {
	var err error
	if r.job.Rank() == 0 {
		var s store
		s, err = open(ctx)
		r.of.common.set(s)
	}
	if err := rma.AllSucceeded(ctx, r.job, "opening "+string(r.impl), err); err != nil {
		return nil, err
	}
	s := commonStore{r.of.common.get(), r.job}
	return s, r.job.Barrier(ctx)
}

// commonStore is what one rank has of a store that all share. It counts on rank 0, which closes
// it as well.
type commonStore struct {
	store
	job rma.Job
}

func (s commonStore) counts() counts {
	if s.job.Rank() != 0 {
		return counts{}
	}
	return s.store.counts()
}

func (s commonStore) close(ctx context.Context) error {
	err := s.job.Barrier(ctx)
	if s.job.Rank() == 0 {
		err = errors.Join(err, s.store.close(ctx))
	}
	return err
}

// newMap makes a map of one rank, with the memory that all have in the other case.
func (r *run) newMap(ctx context.Context) (store, error) {
	job := local.SingleWith(local.Options{Hidden: !r.of.direct})
	m, err := kv.New(ctx, measure.TouchedJob{Job: job}, r.of.mapConfig(r.job.Size()))
	return singleStore{mapStore{m}, job}, err
}

// singleStore is a map in a job of its own.
type singleStore struct {
	mapStore
	job rma.Job
}

func (s singleStore) close(ctx context.Context) error {
	return errors.Join(s.mapStore.close(ctx), s.job.Close())
}

// newXsync makes an xsync.Map.
func (r *run) newXsync(context.Context) (store, error) {
	const wordBytes = 8
	if r.of.keyBytes == wordBytes {
		return newXsyncStore(int(r.of.records), binary.LittleEndian.Uint64), nil
	}
	return newXsyncStore(int(r.of.records), func(key []byte) string { return string(key) }), nil
}

// xsyncStore is an xsync.Map. Values are copied into it and out of it, as with a kv.Map.
type xsyncStore[K comparable] struct {
	m   *xsync.Map[K, []byte]
	key func([]byte) K
}

func newXsyncStore[K comparable](records int, key func([]byte) K) store {
	return xsyncStore[K]{xsync.NewMap[K, []byte](xsync.WithPresize(records)), key}
}

func (s xsyncStore[K]) batch(calls []kv.Call) error {
	for i := range calls {
		c := &calls[i]
		if c.Kind != kv.Get {
			s.m.Store(s.key(c.Key), bytes.Clone(c.Value))
			c.Done = true
			continue
		}
		var value []byte
		value, c.Done = s.m.Load(s.key(c.Key))
		c.Value = append(c.Value, value...)
	}
	return nil
}

func (s xsyncStore[K]) counts() counts { return counts{} }

func (s xsyncStore[K]) served() (time.Duration, error) { return 0, nil }

func (s xsyncStore[K]) close(context.Context) error { return nil }
