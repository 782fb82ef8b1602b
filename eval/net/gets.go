package net

import (
	"context"
	"errors"
	"time"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/net/rawucx"
)

// rawParticipant does gets by a loop in C, with a worker of UCX and connections of its own.
type rawParticipant struct {
	r    *run
	side *rawucx.Side
	each []int64
	n    int
}

// openRaw connects a client to the memory of its targets. Collective.
func (r *run) openRaw(ctx context.Context) (participant, error) {
	p := &rawParticipant{r: r}
	var card []byte
	side, err := rawucx.Open(int(r.segmentWords()) * 8)
	if err == nil {
		card, err = side.Card()
	}
	if err != nil {
		return nil, err
	}
	p.side = side
	cards, err := measure.GatherTexts(ctx, r.job, card)
	if err != nil {
		side.Close()
		return nil, err
	}
	for _, target := range r.targets {
		if r.client() && err == nil {
			err = side.Connect(cards[target])
		}
	}
	if err == nil && r.owner() && !r.client() {
		err = side.Serve(false)
	}
	if err != nil {
		side.Close()
		return nil, err
	}
	return p, nil
}

func (p *rawParticipant) gets(n int, each []int64) (time.Duration, error) {
	return p.side.Gets(n, p.r.of.bytes, p.r.of.batch, uint64(p.r.job.Rank())+1, each)
}

// warm does some gets. A rank that serves as well does so again when it is done: others are not.
func (p *rawParticipant) warm(n int) error {
	p.side.Stop()
	_, err := p.gets(n, nil)
	return errors.Join(err, p.serve())
}

func (p *rawParticipant) serve() error {
	if !p.r.owner() {
		return nil
	}
	return p.side.Serve(false)
}

func (p *rawParticipant) ready(n int) {
	p.n = n
	if p.r.of.batch == 1 {
		p.each = make([]int64, n)
	}
}

func (p *rawParticipant) run(_ context.Context, s *sample) error {
	p.side.Stop()
	_, err := p.gets(p.n, p.each)
	for _, ns := range p.each {
		measure.Add(s.took, time.Duration(ns), 1)
	}
	s.messages = uint64(p.n)
	return errors.Join(err, p.serve())
}

// close leaves when nobody gets from here any more.
func (p *rawParticipant) close(ctx context.Context) error {
	err := p.r.job.Barrier(ctx)
	p.side.Close()
	return err
}

// engineParticipant does gets by a queue.
type engineParticipant struct {
	r      *run
	window rma.Window
	queue  rma.Queue
	bufs   []rma.Buf
	flying []rma.Handle // in the order in which they were posted
	n      int
	words  words // for random numbers
}

// openEngine makes a window. Collective.
func (r *run) openEngine(ctx context.Context) (participant, error) {
	w, err := measure.TouchedJob{Job: r.job}.NewWindow(ctx, rma.Spec{
		Name: "eval: memory to get from", Words: int(r.segmentWords())})
	if err != nil {
		return nil, err
	}
	q, err := r.job.NewQueue(r.of.batch)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	p := &engineParticipant{r: r, window: w, queue: q, words: *newWords(r)}
	for range r.of.batch {
		buf, err := q.Alloc(r.of.bytes / 8)
		if err != nil {
			return nil, errors.Join(err, q.Close(), w.Close())
		}
		p.bufs = append(p.bufs, buf)
	}
	return p, nil
}

// post asks for the get with that number.
func (p *engineParticipant) post(i int) {
	rank := p.r.targets[p.words.below(len(p.r.targets))]
	lines := (p.window.Len()*8-p.r.of.bytes)/lineBytes + 1
	off := p.words.below(lines) * lineBytes / 8
	p.flying = append(p.flying, p.queue.Get(p.bufs[i%len(p.bufs)], p.window, rank, off))
}

// gets keeps as many under way as there are buffers.
func (p *engineParticipant) gets(ctx context.Context, n int, took func(time.Duration)) error {
	begin := time.Now()
	for posted, done := 0, 0; done < n; {
		for ; posted < n && posted-done < len(p.bufs); posted++ {
			p.post(posted)
		}
		err := p.queue.Submit()
		if err == nil {
			err = p.queue.Wait(ctx, p.flying[0])
		}
		if err != nil {
			return err
		}
		end := 0
		for ; end < len(p.flying) && (end == 0 || p.queue.Done(p.flying[end])); end++ {
			if _, err := p.queue.Value(p.flying[end]); err != nil {
				return err
			}
		}
		p.flying = append(p.flying[:0], p.flying[end:]...)
		done += end
		if took != nil {
			now := time.Now()
			took(now.Sub(begin))
			begin = now
		}
	}
	return nil
}

func (p *engineParticipant) warm(n int) error { return p.gets(context.Background(), n, nil) }

func (p *engineParticipant) ready(n int) { p.n = n }

func (p *engineParticipant) run(ctx context.Context, s *sample) error {
	before := *p.queue.Stats()
	var took func(time.Duration)
	if p.r.of.batch == 1 {
		took = func(d time.Duration) { measure.Add(s.took, d, 1) }
	}
	err := p.gets(ctx, p.n, took)
	s.asked(p.queue.Stats().Since(before))
	return err
}

func (p *engineParticipant) close(ctx context.Context) error {
	return errors.Join(p.queue.Close(), p.r.job.Barrier(ctx), p.window.Close())
}

// segmentWords is how much of the table each rank has.
func (r *runner) segmentWords() uint64 {
	const line = lineBytes / 8
	return max(uint64(r.buckets)/uint64(r.size)/line*line, maxGetBytes/8)
}
