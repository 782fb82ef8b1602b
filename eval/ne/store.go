package ne

import (
	"context"
	"time"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/redis"
	"github.com/farhash/farhash/eval/ne/nessie"
)

// impl is what is measured with the workloads.
type impl string

const (
	ours      impl = "kv"        // a map of package kv
	oneSided  impl = "one-sided" // the same with nothing but one-sided operations
	shipped   impl = "shipped"   // the same with batches shipped to other hosts
	thePapers impl = "nessie"    // the protocol of the paper
	aServer   impl = "redis"     // a server, and the ranks as its clients
)

// store is where the calls of one rank go: Get and Put, none other.
type store interface {
	// batch does calls, as kv.Map.Batch does.
	batch(calls []kv.Call) error
	// counts are of this rank so far.
	counts() counts
	// served is the CPU time of the server so far, 0 where there is none. Rank 0 asks.
	served() (time.Duration, error)
	// close is collective.
	close(ctx context.Context) error
}

type counts struct{ roundTrips, lost uint64 }

// open makes an empty store. Collective.
func (r *run) open(ctx context.Context) (store, error) {
	switch r.impl {
	case aServer:
		return r.openRedis(ctx)
	case thePapers:
		t, err := nessie.New(ctx, measure.TouchedJob{Job: r.job}, r.of.nessieConfig(r.job.Size()))
		return nessieStore{t}, err
	}
	return r.openMap(ctx)
}

// mapStore is a map of package kv.
type mapStore struct{ m *kv.Map }

// openMap makes an empty map. Collective.
func (r *run) openMap(ctx context.Context) (store, error) {
	cfg := r.of.mapConfig(r.job.Size())
	cfg.Access = map[impl]rma.Access{oneSided: rma.OneSided, shipped: rma.Shipped}[r.impl]
	m, err := kv.New(ctx, measure.TouchedJob{Job: r.job}, cfg)
	return mapStore{m}, err
}

func (s mapStore) batch(calls []kv.Call) (err error) {
	switch c := &calls[0]; {
	case len(calls) > 1:
		return s.m.Batch(calls)
	case c.Kind == kv.Get:
		c.Value, c.Version, c.Done, err = s.m.Get(c.Key, c.Value)
	default:
		c.Version, err = s.m.Put(c.Key, c.Value)
	}
	return err
}

func (s mapStore) counts() (sum counts) {
	for _, kind := range s.m.Stats().Kinds {
		sum.roundTrips += kind.RoundTrips
		sum.lost += kind.Lost
	}
	return sum
}

func (s mapStore) served() (time.Duration, error) { return 0, nil }

func (s mapStore) close(context.Context) error { return s.m.Close() }

// nessieStore is a table of the paper's protocol.
type nessieStore struct{ t *nessie.Table }

func (s nessieStore) batch(calls []kv.Call) (err error) {
	for i := 0; i < len(calls) && err == nil; i++ {
		if c := &calls[i]; c.Kind == kv.Get {
			c.Value, c.Done, err = s.t.Read(context.Background(), c.Key, c.Value)
		} else {
			err = s.t.Write(context.Background(), c.Key, c.Value)
		}
	}
	return err
}

func (s nessieStore) counts() (sum counts) {
	for _, kind := range s.t.Stats().Kinds {
		sum.roundTrips += kind.RoundTrips
		sum.lost += kind.Retries
	}
	return sum
}

func (s nessieStore) served() (time.Duration, error) { return 0, nil }

func (s nessieStore) close(context.Context) error { return s.t.Close() }

// redisStore is one rank's session with a server that all ranks share.
type redisStore struct {
	*redis.Session
	done counts
}

// openRedis connects to a server that has no keys. Collective.
func (r *run) openRedis(ctx context.Context) (store, error) {
	s, err := redis.Join(ctx, r.job, r.of.redis)
	return &redisStore{Session: s}, err
}

func (s *redisStore) batch(calls []kv.Call) error {
	s.done.roundTrips += uint64(len(calls))
	return s.Batch(calls)
}

func (s *redisStore) counts() counts { return s.done }

func (s *redisStore) served() (time.Duration, error) { return s.Served() }

func (s *redisStore) close(ctx context.Context) error { return s.Leave(ctx) }
