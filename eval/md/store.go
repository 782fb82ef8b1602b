package md

import (
	"context"
	"fmt"
	"time"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/redis"
	"github.com/farhash/farhash/eval/md/mpidht"
)

// aServer is the name of the Redis server, beside the modes of the cache.
const aServer = "redis"

// store is where the operations of one rank go.
type store interface {
	// run does the operations of a piece from begin to end.
	run(p *piece, begin, end int) error
	// counts are of this rank so far.
	counts() counts
	// served is the CPU time of the server so far, 0 where there is none. Rank 0 asks.
	served() (time.Duration, error)
	// close is collective.
	close(ctx context.Context) error
}

type counts struct {
	reads, writes, hits, evicted uint64
	mismatches                   uint64 // checksums that were wrong
	marked                       uint64 // buckets that were marked as invalid for it
	failed                       uint64 // reads that found nothing for it
	gets                         uint64
}

func (c counts) plus(d counts) counts {
	return counts{c.reads + d.reads, c.writes + d.writes, c.hits + d.hits, c.evicted + d.evicted,
		c.mismatches + d.mismatches, c.marked + d.marked, c.failed + d.failed, c.gets + d.gets}
}

func (c counts) minus(d counts) counts {
	return counts{c.reads - d.reads, c.writes - d.writes, c.hits - d.hits, c.evicted - d.evicted,
		c.mismatches - d.mismatches, c.marked - d.marked, c.failed - d.failed, c.gets - d.gets}
}

// open makes an empty store. Collective.
func (c *cacheCase) open(ctx context.Context) (store, error) {
	if c.mode == aServer {
		s, err := redis.Join(ctx, c.job, c.r.redis)
		return &redisStore{Session: s}, err
	}
	return openTable(ctx, measure.TouchedJob{Job: c.job}, c.mode, c.access, c.piece,
		uint64(c.r.buckets))
}

// openTable makes an empty cache, or an empty table with a protocol of the paper. Collective.
func openTable(ctx context.Context, job rma.Job, mode, access string, p *piece,
	buckets uint64) (store, error) {
	if protocol, ok := protocols[mode]; ok {
		table, err := mpidht.New(ctx, job, mpidht.Config{Protocol: protocol, KeyBytes: p.keyBytes,
			ValueBytes: p.valueBytes, Buckets: buckets})
		return paperStore{table}, err
	}
	table, err := cache.New(ctx, job, cache.Config{KeySize: p.keyBytes, ValueSize: p.valueBytes,
		Buckets: buckets * uint64(job.Size()), Mode: modes[mode], Access: accesses[access]})
	return cacheStore{table}, err
}

// paperStore is a table with a protocol of the paper. It does one operation at a time, also in a
// batch.
type paperStore struct{ t *mpidht.Table }

func (s paperStore) run(p *piece, begin, end int) (err error) {
	for i := begin; i < end && err == nil; i++ {
		if p.puts[i] {
			err = s.t.Write(p.key(i), p.value(i))
		} else {
			p.found[i], err = s.t.Read(p.key(i), p.value(i))
		}
	}
	return err
}

func (s paperStore) counts() counts {
	is := &s.t.Stats
	return counts{is.Reads, is.Writes, is.Hits, is.Evicted, is.Mismatches, is.Marked, is.Failed,
		is.Gets}
}

func (s paperStore) served() (time.Duration, error) { return 0, nil }

func (s paperStore) close(context.Context) error { return s.t.Close() }

// cacheStore is a cache.
type cacheStore struct{ c *cache.Cache }

func (s cacheStore) run(p *piece, begin, end int) (err error) {
	if p.batch > 1 {
		for ; begin < end && err == nil; begin += p.batch {
			err = s.batch(p, begin, min(begin+p.batch, end))
		}
		return err
	}
	for i := begin; i < end && err == nil; i++ {
		if p.puts[i] {
			_, err = s.c.Put(p.key(i), p.value(i))
		} else {
			p.found[i], err = s.c.Get(p.key(i), p.value(i))
		}
	}
	return err
}

// batch does one, in which reads stand before puts.
func (s cacheStore) batch(p *piece, begin, end int) error {
	puts := begin
	for puts < end && !p.puts[puts] {
		puts++
	}
	k, v := p.keyBytes, p.valueBytes
	if begin < puts {
		err := s.c.GetBatch(p.keys[begin*k:puts*k], p.values[begin*v:puts*v], p.found[begin:puts])
		if err != nil {
			return err
		}
	}
	if puts == end {
		return nil
	}
	return s.c.PutBatch(p.keys[puts*k:end*k], p.values[puts*v:end*v], p.results[puts:end])
}

func (s cacheStore) counts() counts {
	is := s.c.Stats().Counts
	return counts{is.Reads(), is.Writes(), is.Hits, is.Evicted, is.Mismatches, is.Invalid,
		is.Invalid, is.Queues.Gets}
}

func (s cacheStore) served() (time.Duration, error) { return 0, nil }

func (s cacheStore) close(context.Context) error { return s.c.Close() }

// redisStore is one rank's session with a server that all ranks share.
type redisStore struct {
	*redis.Session
	calls []kv.Call
	done  counts
}

func (s *redisStore) run(p *piece, begin, end int) error {
	for ; begin < end; begin += p.batch {
		if err := s.batch(p, begin, min(begin+p.batch, end)); err != nil {
			return err
		}
	}
	return nil
}

// batch does one as a pipeline.
func (s *redisStore) batch(p *piece, begin, end int) error {
	s.calls = s.calls[:0]
	for i := begin; i < end; i++ {
		call := kv.Call{Kind: kv.Get, Key: p.key(i), Value: p.value(i)[:0]}
		if p.puts[i] {
			call.Kind, call.Value = kv.Put, p.value(i)
			s.done.writes++
		} else {
			s.done.reads++
		}
		s.calls = append(s.calls, call)
	}
	if err := s.Batch(s.calls); err != nil {
		return err
	}
	for i := range s.calls {
		call := &s.calls[i]
		if call.Kind == kv.Put || !call.Done {
			continue
		}
		if len(call.Value) != p.valueBytes {
			return fmt.Errorf("a value of %d bytes was put, and one of %d read", p.valueBytes,
				len(call.Value))
		}
		p.found[begin+i] = true
		s.done.hits++
	}
	return nil
}

func (s *redisStore) counts() counts { return s.done }

func (s *redisStore) served() (time.Duration, error) { return s.Served() }

func (s *redisStore) close(ctx context.Context) error { return s.Leave(ctx) }
