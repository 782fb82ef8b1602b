package net

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/measure"
)

// setParticipant works on a set.
type setParticipant struct {
	r       *run
	set     *set.Set
	words   *batches
	results []set.Result
}

// openSet makes an empty set. Collective.
func (r *run) openSet(ctx context.Context) (participant, error) {
	s, err := set.New(ctx, measure.TouchedJob{Job: r.job}, r.setConfig())
	if err != nil {
		return nil, err
	}
	return &setParticipant{r: r, set: s, words: newBatches(r),
		results: make([]set.Result, max(r.of.batch, usualBatch))}, nil
}

func (r *run) setConfig() set.Config {
	access := rma.OneSided
	if r.of.impl == shipped {
		access = rma.Shipped
	}
	return set.Config{Buckets: uint64(r.buckets), Depth: r.inFlight, Access: access}
}

// canShip reports whether batches are shipped here. Collective.
func canShip(ctx context.Context, job rma.Job) (bool, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "eval: whether batches are shipped", Words: 1})
	if err != nil {
		return false, err
	}
	_, can := w.(rma.Server)
	return can, w.Close()
}

func (p *setParticipant) warm(n int) error {
	for some := range slices.Chunk(p.words.warm(n), usualBatch) {
		if err := p.set.FindOrPutBatch(some, p.results[:len(some)]); err != nil {
			return err
		}
	}
	return nil
}

func (p *setParticipant) ready(n int) { p.words.ready(n) }

func (p *setParticipant) run(ctx context.Context, s *sample) error {
	before := p.set.Stats().Queues
	var err error
	if p.r.of.batch == 1 {
		err = p.singles(ctx, s)
	} else {
		err = p.words.run(ctx, s, p.batch)
	}
	asked := p.set.Stats().Queues.Since(before)
	if p.r.of.impl == shipped {
		// The rest is for requests of others: hidden memory is reached by a queue here as well.
		asked = rma.Stats{Ships: asked.Ships}
	}
	s.asked(asked)
	return err
}

// batch returns how many words were new.
func (p *setParticipant) batch(words []uint64) (fresh int, err error) {
	results := p.results[:len(words)]
	if err := p.set.FindOrPutBatch(words, results); err != nil {
		return 0, err
	}
	for _, result := range results {
		if result == set.Inserted {
			fresh++
		}
	}
	return fresh, nil
}

// singles asks for words that are there.
func (p *setParticipant) singles(ctx context.Context, s *sample) error {
	for _, word := range p.words.all {
		begin := time.Now()
		result, err := p.set.FindOrPut(word)
		if err == nil && result != set.Found {
			err = fmt.Errorf("word %#x is %v, and was there before", word, result)
		}
		if err != nil {
			return err
		}
		measure.Add(s.took, time.Since(begin), 1)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// close leaves when nobody works on the set any more.
func (p *setParticipant) close(ctx context.Context) error {
	return errors.Join(p.r.job.Barrier(ctx), p.set.Close())
}

// run does all batches by do, which returns how many words were new.
func (b *batches) run(ctx context.Context, s *sample,
	do func(words []uint64) (fresh int, err error)) error {
	for i, want := range b.fresh {
		words := b.all[i*b.batch : min((i+1)*b.batch, len(b.all))]
		fresh, err := do(words)
		if err == nil && fresh != want {
			err = fmt.Errorf("of %d words %d were new, and %d were inserted", len(words), want,
				fresh)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		s.fresh += uint64(fresh)
	}
	return nil
}
