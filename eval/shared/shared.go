package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

const (
	maxProcesses = 64
	maxRecords   = 1 << 26
	loadCalls    = 4096 // in one transaction
)

// Experiment is a map opened by name beside other stores.
func Experiment() *experiment.Experiment {
	times := view.Column{Unit: "ns/op", Head: "times", Digits: 2,
		Over: record.K("store", string(farhash))}
	single := func(w workload, title string) view.View {
		return view.View{Name: "Shared", Title: title + ": ns of each, as its process sees it",
			Where: []record.Key{record.K("batch", 1), record.K("workload", string(w))},
			Rows:  []string{"store"}, Across: "processes",
			Columns: []view.Column{{Unit: "ns/op", Whole: true}, times}}
	}
	return &experiment.Experiment{
		Name:  "shared",
		Short: "A map opened by name, beside LMDB, Redis, memcached and others",
		Long: `Measures stores that processes of this host share: a map that is opened by name,
LMDB, Redis and memcached on Unix sockets, bbolt, and SharedHashFile. Processes make gets and puts
of records of 8 and 100 bytes, drawn with a skew of 0.99 (Zipf), one at a time and 64 together. The
workloads are C (gets) of YCSB, puts, A (50% of each) and B (95% gets). Every value has to belong to
its key. LMDB is measured without sync, and with sync on --disk. bbolt is for one process at a time.

"times" is how many times as long as the map a store takes. An operation of a batch takes its part
of the time of the batch.

Redis, memcached: apt-get install redis-server memcached. LMDB: apt-get install liblmdb-dev, and
build with -tags lmdb. What is missing is left out, and the command says how to install it.`,
		Takes:   "15 minutes",
		Example: "-n 1,2 --store farhash,lmdb,redis --seconds 0.5",
		Runs:    3,
		Views: []view.View{
			single(workloadC, "gets one at a time"), single(puts, "puts one at a time"),
			{Name: "Shared", Title: "thousand operations a second of all processes",
				Across: "workload", Rows: []string{"processes", "batch"},
				Columns: []view.Column{{Unit: "kop/s"}, times},
				Plots:   []view.Plot{{Panel: "workload", X: "processes", Y: "kop/s", LogY: true}}},
		},
		New: newRunner,
	}
}

// runner measures all stores in all cases.
type runner struct {
	peers        []peer
	workloads    []workload
	processes    []int
	batches      []int
	records      experiment.Count
	seconds      float64
	folder, disk string

	labels map[peer]string // of what is installed
}

func newRunner(flags *pflag.FlagSet) experiment.Runner {
	r := &runner{}
	experiment.ChoiceVar(flags, &r.peers, "store", peers(), peers(), "what is measured, a list of")
	experiment.ChoiceVar(flags, &r.workloads, "workload", workloads(), workloads(),
		"what processes do, a list of")
	flags.IntSliceVarP(&r.processes, "processes", "n", []int{1, 2, 8}, "processes, a list")
	flags.IntSliceVar(&r.batches, "batch", []int{1, step},
		"operations of one call, a list; 1: one at a time")
	experiment.CountVar(flags, &r.records, "records", 1_000_000, "records of a store")
	flags.Float64Var(&r.seconds, "seconds", 1, "how long a case is measured")
	flags.StringVar(&r.folder, "folder", sharedMemory(), "`folder` for stores")
	flags.StringVar(&r.disk, "disk", os.TempDir(), "`folder` on a disk, for what is synced")
	return r
}

// sharedMemory is a folder of files that are in memory, or else one for files that are not kept.
func sharedMemory() string {
	const folder = "/dev/shm"
	if is, err := os.Stat(folder); err == nil && is.IsDir() {
		return folder
	}
	return os.TempDir()
}

// Check refuses what makes no sense, and finds out what is installed.
func (r *runner) Check() error {
	const longest = 3600
	err := errors.Join(experiment.InRange("records", r.records, 1, maxRecords),
		experiment.InRange("seconds", r.seconds, .001, longest))
	for _, n := range r.processes {
		err = errors.Join(err, experiment.InRange("processes", n, 1, maxProcesses))
	}
	for _, batch := range r.batches {
		err = errors.Join(err, experiment.InRange("batch", batch, 1, pieceCalls))
	}
	if err != nil || r.labels != nil {
		return err
	}
	r.labels = map[peer]string{}
	for _, p := range r.peers {
		label, err := p.label()
		if err != nil {
			fmt.Fprintf(os.Stderr, "farhash-eval: %s is left out: %v\n", p, err)
			continue
		}
		r.labels[p] = label
	}
	return nil
}

// Round measures everything once, by processes of its own.
func (r *runner) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) (err error) {
	if job.Rank() > 0 {
		return nil
	}
	var places []*place
	defer func() {
		for _, at := range places {
			err = errors.Join(err, at.stop())
		}
	}()
	for _, p := range r.peers {
		if r.labels[p] == "" {
			continue
		}
		folder := r.folder
		if p == lmdbSync {
			folder = r.disk
		}
		at, err := newPlace(ctx, p, folder, uint64(r.records))
		if err != nil {
			return err
		}
		places = append(places, at)
		if err := at.load(ctx); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	for _, n := range r.processes {
		if err := r.share(ctx, places, n, emit); err != nil {
			return err
		}
	}
	return nil
}

// load puts all records.
func (at *place) load(ctx context.Context) error {
	s, err := at.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(newPiece(loadCalls, 0).load(s, at.Records), s.Close())
}

// share measures all stores with so many processes each. The stores take turns in each case.
func (r *runner) share(ctx context.Context, places []*place, n int,
	emit experiment.Emit) (err error) {
	crews := map[peer]crew{}
	defer func() {
		for _, c := range crews {
			err = errors.Join(err, c.dismiss())
		}
	}()
	for _, at := range places {
		if n > 1 && at.Peer.alone() {
			continue
		}
		c, err := newCrew(ctx, at, n)
		if err != nil {
			return fmt.Errorf("%s: %w", at.Peer, err)
		}
		crews[at.Peer] = c
	}
	for _, batch := range r.batches {
		for _, w := range r.workloads {
			for _, at := range places {
				if crews[at.Peer] == nil {
					continue
				}
				all, err := crews[at.Peer].obey(order{w, batch, r.seconds})
				if err != nil {
					err = fmt.Errorf("%s, workload %s: %w", at.Peer, w, err)
					return errors.Join(ctx.Err(), err)
				}
				emit(result(all, record.K("processes", n), record.K("batch", batch),
					record.K("workload", string(w)), record.K("store", r.labels[at.Peer])))
			}
		}
	}
	return nil
}

// result adds up what processes have done. The rate is what all do at the mean time of a call: a
// process whose calls take longer has made fewer of them.
func result(all []outcome, keys ...record.Key) record.Record {
	calls, took := uint64(0), time.Duration(0)
	for _, is := range all {
		calls += is.Calls
		took += is.Took
	}
	ns := float64(took) / float64(calls)
	return record.Record{Name: "Shared", N: int(calls), Keys: keys, Values: []record.Value{
		{Value: float64(len(all)) * 1e6 / ns, Unit: "kop/s"}, {Value: ns, Unit: "ns/op"}}}
}
