// Package model is the command farhash-eval model: the sizes of reads and the costs that LP's model
// expects, on the machine of the paper or on one that farhash calibrate has measured.
package model

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/internal/calibrate"
	"github.com/farhash/farhash/internal/readsize"
)

// options are the flags of model as given.
type options struct {
	load                  float64
	slotBytes, maxSlots   int
	latencyNs, gbps, mops float64
	headerBytes           float64
	calibrated, json      bool
	file                  string

	changed func(flag string) bool
}

// Command is the command.
func Command() *cobra.Command {
	var f options
	cmd := &cobra.Command{
		Use:               "model --load LOAD [--slot BYTES]",
		Short:             "Compute how much to read at once from a remote hash table",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Prints sizes of reads for lookups in a hash table in remote memory, and the expected
cost of a lookup with them: requests, bytes and ns, for each layout and policy. The model
is from Wang et al., Efficient Usage of One-Sided RDMA for Linear Probing, 2020 ("LP").
So is the machine, InfiniBand EDR; --calibrated takes the figures that farhash calibrate
has measured instead. --latency-ns, --gbps, --mops and --header change single figures.

Layouts of a table:

  linear      linear probing
  ordered     linear probing, records in the order of their home slots
  cuckoo      3 hash functions, buckets of 4 slots

Policies of reading:

  fixed       256 bytes at a time
  uncapped    the size of least cost by LP's model
  capped      the same, but no more than the link carries at its rate of messages
  adaptive    as uncapped, with a new size after each read that did not suffice
  parallel    cuckoo: the 3 buckets of a key at once
  sequential  cuckoo: one bucket after the other, up to the first match

A lookup finds all records of a present key; with sequential cuckoo it ends at the first.

Sequential cuckoo is costed as in LP: a key is in each of its 3 buckets with the same
probability, so its lookup needs (1+2+3)/3 = 2.0 requests at any load. A table that fills
the first bucket of a key first needs fewer: 1.10 to 1.96, more at higher load.

--json prints one object:

  load, slotBytes   as given
  cap               slots of the largest read that the link has room for
  uncapped, capped  slots of a read
  adaptive          slots of the first read, the second and so on; the last is repeated
  expected          an object by policy: fixed, capped, uncapped, adaptive, orderedFixed,
                    orderedCapped, orderedUncapped, orderedAdaptive, cuckooParallel,
                    cuckooSequential. Each has requests, bytes and ns for a present key,
                    absent (the same for an absent key), and sizes (slots of each read)`,
		Example: `  farhash-eval model --load 0.8 --slot 8
  farhash-eval model --load 0.95 --slot 5 --max-slots 512
  farhash-eval model --load 0.65 --latency-ns 8000 --gbps 25 --mops 10 --json
  farhash calibrate -n 2 && farhash-eval model --load 0.9 --calibrated`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.OutOrStdout())
		},
	}
	f.register(cmd)
	return cmd
}

// register adds the flags to the command.
func (f *options) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&f.load, "load", 0, "`LOAD` factor of the table, above 0 and up to 0.99")
	flags.IntVar(&f.slotBytes, "slot", 8, "`BYTES` of a slot")
	flags.Float64Var(&f.latencyNs, "latency-ns", 0,
		"latency: `NS` that a read of no bytes takes (c; LP: 1290)")
	flags.Float64Var(&f.gbps, "gbps", 0, "bandwidth of the link in `GBIT` per second (l), which "+
		"also gives the ns per byte (alpha; LP: 100)")
	flags.Float64Var(&f.mops, "mops", 0, "`MILLION` reads of no bytes per second (rho0; LP: 87.17)")
	flags.Float64Var(&f.headerBytes, "header", 0, "`BYTES` of a message without payload (LP: 30)")
	flags.IntVar(&f.maxSlots, "max-slots", 0, "at most `N` slots in a read; 0: no limit")
	flags.BoolVar(&f.calibrated, "calibrated", false, "take the figures of farhash calibrate")
	flags.StringVar(&f.file, "file", "", "with --calibrated: `FILE` of the result (default: "+
		"farhash/calibration.json in the user's cache folder)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
}

// machine is the machine of LP or the one that was measured, with the changes of the flags, and
// the source of its figures.
func (f *options) machine() (m readsize.Machine, source string, err error) {
	m, source, err = f.preset()
	if err != nil {
		return m, source, err
	}
	var changed []string
	for _, over := range []struct {
		flag  string
		given float64
		set   func(given float64)
	}{
		{"latency-ns", f.latencyNs, func(v float64) { m.LatencyNs = v }},
		{"gbps", f.gbps, func(v float64) { m.LinkBytesPerSecond, m.ByteNs = v/8*1e9, 8/v }},
		{"mops", f.mops, func(v float64) { m.MessagesPerSecond = v * 1e6 }},
		{"header", f.headerBytes, func(v float64) { m.HeaderBytes = v }},
	} {
		if !f.changed(over.flag) {
			continue
		}
		if !(over.given > 0) {
			return m, "", usage(fmt.Errorf("--%s must be positive, not %v", over.flag, over.given))
		}
		over.set(over.given)
		changed = append(changed, "--"+over.flag)
	}
	if len(changed) > 0 {
		source += ", changed by " + strings.Join(changed, ", ")
	}
	return m, source, usage(m.Check())
}

// preset is the machine before flags change it.
func (f *options) preset() (readsize.Machine, string, error) {
	if !f.calibrated {
		if f.file != "" {
			return readsize.Machine{}, "", usage(errors.New("--file needs --calibrated"))
		}
		return readsize.EDR(), "LP 5.1, InfiniBand EDR", nil
	}
	path := f.file
	if path == "" {
		var err error
		if path, err = calibrate.DefaultPath(); err != nil {
			return readsize.Machine{}, "", err
		}
	}
	r, err := calibrate.Load(path)
	if err != nil {
		return readsize.Machine{}, "", fmt.Errorf("--calibrated: %w", err)
	}
	return readsize.Machine{LatencyNs: r.LatencyNs, ByteNs: r.ByteNs,
			LinkBytesPerSecond: r.LinkBytesPerSecond, MessagesPerSecond: r.MessagesPerSecond,
			HeaderBytes: r.HeaderBytes},
		fmt.Sprintf("calibrated: %s with %s, %s", r.Engine, english.Plural(r.Ranks, "rank", ""),
			r.Time.Format("2006-01-02 15:04")), nil
}

// check refuses flags that make no sense.
func (f *options) check() error {
	switch {
	case !f.changed("load"):
		return errors.New("--load LOAD is missing: the load factor of the table; for example: " +
			"farhash-eval model --load 0.8 --slot 8")
	case !(f.load > 0 && f.load <= readsize.MaxLoad):
		return fmt.Errorf("--load must be above 0 and up to %v, not %v; in a fuller table runs of "+
			"occupied slots are too long to be read", readsize.MaxLoad, f.load)
	case f.slotBytes < 1:
		return fmt.Errorf("--slot must be at least 1 byte, not %d", f.slotBytes)
	case f.maxSlots < 0:
		return fmt.Errorf("--max-slots must be positive, or 0 for no limit, not %d", f.maxSlots)
	}
	return nil
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return usage(fmt.Errorf("%s takes no arguments, but %q was given", cmd.Name(), given[0]))
	}
	return nil
}

// usage marks an error of the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", experiment.ErrUsage, err)
}

// run computes and prints.
func (f *options) run(w io.Writer) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	m, source, err := f.machine()
	if err != nil {
		return err
	}
	c := readsize.Config{Machine: m, SlotBytes: f.slotBytes, MaxSlots: f.maxSlots}
	if err := c.Check(); err != nil {
		return usage(err)
	}
	r, err := newReport(c, f.load, source)
	if err != nil {
		return err
	}
	if !f.json {
		return r.writeText(w)
	}
	if f.calibrated { // which the object has no room for
		fmt.Fprintf(os.Stderr, "farhash-eval: %s\n", source)
	}
	return r.writeJSON(w)
}
