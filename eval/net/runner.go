package net

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/redis"
)

// runner measures all cases.
type runner struct {
	impls           []impl
	directions      []direction
	batch, inFlight int
	getBytes        []int
	buckets         experiment.Count
	share           float64 // of words in a batch that are new
	piece           time.Duration

	perHost int // ranks of a host: rank r is on host r / perHost
	size    int // ranks of the job
	address string
	server  *redis.Server // started by this rank
	servers []string      // by rank: where they listen
	secret  string        // the password of these servers
}

func newRunner(flags *pflag.FlagSet) experiment.Runner {
	r := &runner{}
	experiment.ChoiceVar(flags, &r.impls, "impl", impls(), impls(), "what is measured, a list of")
	experiment.ChoiceVar(flags, &r.directions, "direction", []direction{oneWay, bothWays},
		[]direction{oneWay, bothWays}, "who works on what, a list of")
	flags.IntVar(&r.batch, "batch", usualBatch, "words of one call, and of a pipeline")
	flags.IntVar(&r.inFlight, "in-flight", 64,
		"gets in flight, and operations of a one-sided batch")
	flags.IntSliceVar(&r.getBytes, "get-bytes", []int{lineBytes, 8 * lineBytes}, "bytes of gets")
	experiment.CountVar(flags, &r.buckets, "buckets", 8<<20, "size of the table")
	flags.Float64Var(&r.share, "new", 0.5, "share of words in a batch that are new")
	flags.DurationVar(&r.piece, "piece", 300*time.Millisecond,
		"about how long one measurement takes")
	return r
}

// Check refuses what makes no sense.
func (r *runner) Check() error {
	err := errors.Join(experiment.InRange("batch", r.batch, 2, maxBatch),
		experiment.InRange("in-flight", r.inFlight, 2, maxInFlight),
		experiment.InRange("new", r.share, 0, 1),
		experiment.InRange("piece", r.piece.Seconds(), 0.001, 60))
	for _, bytes := range r.getBytes {
		if bytes < lineBytes || bytes > maxGetBytes || bytes%lineBytes != 0 {
			err = errors.Join(err, fmt.Errorf("--get-bytes must be %d to %d, a multiple of %d, "+
				"not %d", lineBytes, maxGetBytes, lineBytes, bytes))
		}
	}
	if err != nil {
		return err
	}
	return r.findHosts()
}

// findHosts finds out how many ranks each host has.
func (r *runner) findHosts() error {
	m, launched, err := launch.Detect()
	if err != nil {
		return err
	}
	if !launched || m.LocalSize < 1 || m.LocalSize >= m.Size {
		return errors.New("this needs ranks on two hosts: start it by farhash run --rendezvous " +
			"on each of them")
	}
	r.perHost, r.address = m.LocalSize, os.Getenv(launch.RendezvousVariable)
	return nil
}

// netCase is what a sample is of.
type netCase struct {
	impl      impl
	direction direction
	batch     int // words of one call, and for gets how many are in flight; 1: one at a time
	bytes     int // of a get; 0 for the others
}

// cases are what is measured in a direction, in the order of measuring: one at a time
// first, several times, one-way.
func (r *runner) cases(t direction) (all []netCase) {
	add := func(i impl, batch int) {
		if !i.gets() {
			all = append(all, netCase{i, t, batch, 0})
			return
		}
		for _, bytes := range r.getBytes {
			all = append(all, netCase{i, t, batch, bytes})
		}
	}
	if t == oneWay {
		for range turns {
			for _, i := range r.impls {
				if i != shipped { // a set does not ship one operation
					add(i, 1)
				}
			}
		}
	}
	for _, i := range r.impls {
		if i.gets() {
			add(i, r.inFlight)
		} else {
			add(i, r.batch)
		}
	}
	return all
}

// Round measures everything once.
func (r *runner) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	r.size = job.Size()
	if r.size%r.perHost != 0 {
		return fmt.Errorf("%d ranks, %d on each host, are not two hosts or more", r.size, r.perHost)
	}
	least := experiment.Count(2 * warmWords * r.perHost * r.size)
	if err := experiment.InRange("buckets", r.buckets, least, 1<<34); err != nil {
		return err
	}
	missing, err := r.missing(ctx, job)
	if err != nil {
		return err
	}
	if job.Rank() == 0 {
		for _, i := range r.impls {
			if why := missing[i]; why != "" {
				fmt.Fprintf(os.Stderr, "%s is left out: %s\n", i, why)
			}
		}
	}
	defer func() { err = errors.Join(err, r.stopServer()) }()
	for _, t := range r.directions {
		for _, of := range r.cases(t) {
			if missing[of.impl] != "" {
				continue
			}
			rec, err := newRun(r, job, of).measure(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s, %d at a time: %w", of.impl, t, of.batch, err)
			}
			emit(rec)
		}
	}
	return err
}
