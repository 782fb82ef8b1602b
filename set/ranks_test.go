package set

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// engine is a way in which a set reaches its memory.
type engine int

const (
	engineDirect engine = iota // loops over memory
	engineHidden               // step machines; a request is done when it is submitted
	engineLate                 // step machines; requests are done late and out of order
	engines                    // those that all tests run on
)

// More engines for streams of operations.
const (
	engineSimulated = engines + iota // step machines on a simulated cluster
	engineShared                     // loops over memory of a file
	engineSharedHidden
	streamEngines // those that keep the order of a batch
)

// Engines that carry requests; sets on them ship all batches.
const (
	engineHosts    = streamEngines + iota // two hosts: loops over the memory of one's own
	engineCarriers                        // step machines, which answer requests as well
	allEngines
)

// ships reports whether an engine carries requests.
func (e engine) ships() bool { return e >= streamEngines }

// access is what sets on an engine are to take.
func (e engine) access() rma.Access {
	if e.ships() {
		return rma.Shipped
	}
	return rma.Auto
}

func (e engine) String() string {
	return [...]string{"direct", "hidden", "late", "simulated", "shared", "shared hidden",
		"hosts", "carriers"}[e]
}

// runShared is runEngine for memory of a file. On platforms without it takes other memory.
var runShared = func(hidden bool, n int, fn func(job rma.Job) error) error {
	return local.RunWith(local.Options{Hidden: hidden}, n, fn)
}

// runEngine runs fn on every rank of a job.
func runEngine(e engine, n int, seed uint64, fn func(job rma.Job) error) error {
	switch e {
	case engineSimulated:
		return runSimulated(n, seed, fn)
	case engineShared, engineSharedHidden:
		return runShared(e == engineSharedHidden, n, fn)
	case engineHosts:
		return local.RunWith(local.Options{Carries: true, Hosts: 2}, n, fn)
	case engineCarriers:
		return local.RunWith(local.Options{Carries: true, Hidden: true}, n, fn)
	}
	return local.RunWith(local.Options{Hidden: e != engineDirect}, n, func(job rma.Job) error {
		if e == engineLate {
			job = &lateJob{Job: job, seed: seed}
		}
		return fn(job)
	})
}

// startRanks starts a job of n ranks and returns them all, to be used from one
// goroutine or many. Collective calls go through onAll.
func startRanks(e engine, n int, seed uint64) (jobs []rma.Job, stop func() error) {
	jobs = make([]rma.Job, n)
	var joined sync.WaitGroup
	joined.Add(n)
	end, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- runEngine(e, n, seed, func(job rma.Job) error {
			jobs[job.Rank()] = job
			joined.Done()
			<-end
			return nil
		})
	}()
	joined.Wait()
	return jobs, func() error {
		close(end)
		return <-ended
	}
}

// ranksOf is startRanks for a test, at whose end the ranks stop.
func ranksOf(t testing.TB, e engine, n int) []rma.Job {
	t.Helper()
	jobs, stop := startRanks(e, n, 1)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return jobs
}

// onAll calls a collective function for every rank at once and joins the errors.
func onAll(n int, collective func(rank int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() { errs[rank] = collective(rank) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// newSets makes a set of words on every rank.
func newSets(jobs []rma.Job, cfg Config) ([]*Set, error) {
	sets := make([]*Set, len(jobs))
	err := onAll(len(jobs), func(rank int) (err error) {
		sets[rank], err = New(context.Background(), jobs[rank], cfg)
		return err
	})
	return sets, err
}

// newElements makes a set of elements on every rank.
func newElements(jobs []rma.Job, cfg BytesConfig) ([]*Bytes, error) {
	sets := make([]*Bytes, len(jobs))
	err := onAll(len(jobs), func(rank int) (err error) {
		sets[rank], err = NewBytes(context.Background(), jobs[rank], cfg)
		return err
	})
	return sets, err
}

// newStrings makes a set of strings on every rank.
func newStrings(jobs []rma.Job, cfg BytesConfig) ([]*Bytes, error) {
	cfg.ElementBytes = 0
	sets := make([]*Bytes, len(jobs))
	err := onAll(len(jobs), func(rank int) error {
		sets[rank] = new(Bytes)
		return sets[rank].open(context.Background(), jobs[rank], cfg)
	})
	return sets, err
}

// checkRanks checks the parts of all ranks.
func checkRanks(jobs []rma.Job, check func(rank int, ctx context.Context) error) error {
	return onAll(len(jobs), func(rank int) error {
		own := func(ctx context.Context) error { return check(rank, ctx) }
		return core.CheckAll(context.Background(), jobs[rank], "set", own)
	})
}

// checksOf are the checks of a set on all ranks.
func checksOf[S interface{ Check(context.Context) error }](sets []S) func(int,
	context.Context) error {
	return func(rank int, ctx context.Context) error { return sets[rank].Check(ctx) }
}

// readAll reads the whole table in order.
func (t *table) readAll() ([]uint64, error) {
	all := make([]uint64, t.buckets)
	for s, err := range t.occupied(context.Background(), 0, t.window.Size()) {
		if err != nil {
			return nil, err
		}
		all[s.at] = s.bucket
	}
	return all, nil
}

// must ends the test with the first error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unexpected is an error about a value.
func unexpected(what string, got, want any) error {
	return fmt.Errorf("%s is %v, not %v", what, got, want)
}
