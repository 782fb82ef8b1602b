package bench

import (
	"context"
	"errors"
	"time"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// KVImpl names what is measured with the workloads.
type KVImpl string

const (
	KVMap      KVImpl = "kv"        // a map of package kv
	KVOneSided KVImpl = "one-sided" // the same with nothing but one-sided operations
	KVShipped  KVImpl = "shipped"   // the same with batches that travel to other hosts
	KVRedis    KVImpl = "redis"     // a server, and the ranks as its clients
)

// KVImpls lists them.
func KVImpls() []KVImpl { return []KVImpl{KVMap, KVOneSided, KVShipped, KVRedis} }

// access is how batches of a map reach other hosts.
func (i KVImpl) access() ship.Access {
	return map[KVImpl]ship.Access{KVOneSided: ship.OneSided, KVShipped: ship.Shipped}[i]
}

// kvStore is where the calls of one rank go: Get and Put, none other.
type kvStore interface {
	// batch carries out calls, as kv.Map.Batch does.
	batch(calls []kv.Call) error
	counts() kvCounts
	// served is the CPU time of the server so far, 0 where there is none. Rank 0 asks.
	served() (time.Duration, error)
	// close is collective.
	close(ctx context.Context) error
}

// kvCounts is what a rank has done with a store so far.
type kvCounts struct {
	calls, roundTrips, lost, ships uint64
}

// mapStore is a map of package kv.
type mapStore struct{ m *kv.Map }

// openMap makes an empty map. Collective.
func (r *kvRun) openMap(ctx context.Context) (kvStore, error) {
	cfg := r.bench.cfg.mapConfig(r.job.Size())
	cfg.Access = r.of.Impl.access()
	huge := newHugeCount()
	m, err := kv.New(ctx, touchedJob{r.job}, cfg)
	if err != nil {
		return nil, err
	}
	if r.job.Rank() == 0 {
		r.bench.sawHuge(huge.since(cfg.BytesPerRank))
	}
	return mapStore{m}, nil
}

func (s mapStore) batch(calls []kv.Call) error { return s.m.Batch(calls) }

func (s mapStore) counts() (sum kvCounts) {
	for _, kind := range s.m.Stats().Kinds {
		sum.calls += kind.Calls
		sum.roundTrips += kind.RoundTrips
		sum.lost += kind.Lost
	}
	sum.ships = s.m.Stats().Queues.Ships
	return sum
}

func (s mapStore) served() (time.Duration, error) { return 0, nil }

func (s mapStore) close(context.Context) error { return s.m.Close() }

// redisStore is one rank's connection to a server that all ranks share.
type redisStore struct {
	job     rma.Job
	address string
	conn    *redisConn
	done    kvCounts
}

// openRedis connects to a server that has no keys. Collective.
func (r *kvRun) openRedis(ctx context.Context) (kvStore, error) {
	address, err := r.bench.redisAddress(ctx, r.job)
	if err != nil {
		return nil, err
	}
	s := &redisStore{job: r.job, address: address}
	if s.conn, err = dialRedis(ctx, address); err != nil {
		return nil, err
	}
	if r.job.Rank() == 0 {
		err = errors.Join(s.conn.mustBeEmpty(), r.bench.sawRedis(s.conn))
	}
	if err == nil {
		err = r.job.Barrier(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.conn.close())
	}
	return s, nil
}

// sawRedis keeps which server it is.
func (b *KVBench) sawRedis(c *redisConn) error {
	version, err := c.info("server", "redis_version")
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.redis = version + " over " + c.conn.RemoteAddr().Network()
	return nil
}

func (s *redisStore) batch(calls []kv.Call) error {
	s.done.calls += uint64(len(calls))
	s.done.roundTrips += uint64(len(calls))
	return s.conn.batch(calls)
}

func (s *redisStore) counts() kvCounts { return s.done }

func (s *redisStore) served() (time.Duration, error) {
	if s.job.Rank() != 0 {
		return 0, nil
	}
	return s.conn.cpuTime()
}

// close leaves the server without keys, as it was, also when ctx has ended.
func (s *redisStore) close(ctx context.Context) error {
	err := s.conn.close()
	if s.job.Rank() == 0 {
		err = errors.Join(err, emptyRedis(context.WithoutCancel(ctx), s.address))
	}
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, s.job.Barrier(ctx))
}
