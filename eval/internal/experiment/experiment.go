package experiment

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Experiment is something that can be measured and shown.
type Experiment struct {
	Group   string   // the command above it, such as op
	Name    string   // of the command, such as table1
	Aliases []string // other tables and figures that it has
	Short   string   // one line
	Long    string   // what is measured and how
	// Takes is about how long the command takes with its usual flags, as a part of a sentence.
	Takes string
	// Example is flags that show what the command can do besides.
	Example string
	// Ranks are the numbers of ranks that are measured one after the other unless the
	// command line says otherwise; none: one rank, and there is no flag for it.
	Ranks []int
	// Runs is how often everything is measured unless the command line says otherwise.
	Runs int
	// Computed says that nothing is measured: there are neither runs nor progress.
	Computed bool
	// Reproducible says that all is the same on every machine except the columns and plots that
	// are measured here. There is a flag to leave these out.
	Reproducible bool
	Hosts        bool // it needs ranks on several hosts, so that All leaves it out
	// OneSided takes the one-sided path even where memory is addressable.
	OneSided bool
	Views    []view.View
	// New makes a runner whose parameters are flags.
	New func(flags *pflag.FlagSet) Runner
}

// path is what the experiment is called by on the command line.
func (e *Experiment) path() string { return strings.TrimSpace(e.Group + " " + e.Name) }

// help is Long and how long it takes.
func (e *Experiment) help() string {
	text := e.Long
	if text == "" {
		text = e.Short + "."
	}
	if e.Takes != "" {
		text += "\n\nTakes about " + e.Takes + " on two cores."
	}
	return text
}

// Runner measures.
type Runner interface {
	// Check refuses flags that make no sense and fills in defaults.
	Check() error
	// Round measures every case once. Collective. emit counts on rank 0 only. seed differs from
	// round to round.
	Round(ctx context.Context, job rma.Job, seed uint64, emit Emit) error
}

// Emit takes a record of what was measured.
type Emit func(record.Record)

// OneSider is a Runner that decides by its flags whether the one-sided path is taken.
type OneSider interface{ OneSided() bool }

// session is a command under way.
type session struct {
	of       *Experiment
	runner   Runner
	ranks    []int
	runs     int
	progress func(format string, args ...any)

	records []record.Record // where this process has rank 0
}

// run measures all rounds. Where a launcher has started this process all rounds are done in
// its job, else numbers of ranks take turns.
func (s *session) run(ctx context.Context) error {
	launcher, launched, err := farhash.Launched()
	if err != nil {
		return err
	}
	var opts []farhash.Option
	oneSided := s.of.OneSided
	if o, ok := s.runner.(OneSider); ok {
		oneSided = o.OneSided()
	}
	if oneSided {
		opts = append(opts, farhash.OneSided())
	}
	if launched {
		if len(s.ranks) > 1 {
			s.progress("-n is ignored: %s has started the ranks\n", launcher)
		}
		return farhash.Run(ctx, 1, func(job rma.Job) error {
			for round := range s.runs {
				if err := s.round(ctx, job, round); err != nil {
					return err
				}
			}
			return nil
		}, opts...)
	}
	for round := range s.runs {
		for _, n := range s.ranks {
			err := farhash.Run(ctx, n, func(job rma.Job) error {
				return s.round(ctx, job, round)
			}, opts...)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// round measures every case once on the ranks of a job.
func (s *session) round(ctx context.Context, job rma.Job, round int) error {
	emit := func(record.Record) {}
	if job.Rank() == 0 {
		emit = func(r record.Record) {
			if len(s.of.Ranks) > 0 {
				r.Keys = append(r.Keys[:len(r.Keys):len(r.Keys)], record.K("ranks", job.Size()))
			}
			s.records = append(s.records, r)
			if !s.of.Computed {
				s.progress("%s\n", line(&r))
			}
		}
	}
	if err := s.runner.Round(ctx, job, uint64(round), emit); err != nil {
		return fmt.Errorf("%s: %w", s.of.path(), err)
	}
	return nil
}

// line is a record as progress shows it.
func line(r *record.Record) string {
	text := r.Name
	for _, k := range r.Keys {
		text += " " + k.Name + "=" + k.Value
	}
	if len(r.Values) > 0 {
		text += fmt.Sprintf(": %.4g %s", r.Values[0].Value, r.Values[0].Unit)
	}
	return text
}
