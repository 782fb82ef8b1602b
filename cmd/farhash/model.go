package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/calibrate"
	"github.com/farhash/farhash/internal/readsize"
)

// modelFlags are the flags of model as given.
type modelFlags struct {
	load                  float64
	slotBytes, maxSlots   int
	latencyNs, gbps, mops float64
	headerBytes           float64
	calibrated, json      bool
	file                  string

	changed func(flag string) bool
}

func newModel() *cobra.Command {
	var f modelFlags
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
probability, so its lookup needs (1+2+3)/3 = 2.0 requests at any load. The tables of
package index fill the first bucket of a key first, and need fewer: 1.10 to 1.96 requests,
more at higher load. Take that into account where the table prints sequential cuckoo.

--json prints one object:

  load, slotBytes   as given
  cap               slots of the largest read that the link has room for
  uncapped, capped  slots of a read
  adaptive          slots of the first read, the second and so on; the last is repeated
  expected          an object by policy: fixed, capped, uncapped, adaptive, orderedFixed,
                    orderedCapped, orderedUncapped, orderedAdaptive, cuckooParallel,
                    cuckooSequential. Each has requests, bytes and ns for a present key,
                    absent (the same for an absent key), and sizes (slots of each read)`,
		Example: `  farhash model --load 0.8 --slot 8
  farhash model --load 0.95 --slot 5 --max-slots 512
  farhash model --load 0.65 --latency-ns 8000 --gbps 25 --mops 10 --json
  farhash calibrate -n 2 && farhash model --load 0.9 --calibrated`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run()
		},
	}
	f.register(cmd)
	return cmd
}

// register adds the flags to the command.
func (f *modelFlags) register(cmd *cobra.Command) {
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
	flags.StringVar(&f.file, "file", "", "with --calibrated: "+calibrationUsage)
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	completeFlags(cmd, nil)
}

// machine is the machine of LP or the one that was measured, with the changes of the flags, and
// the source of its figures.
func (f *modelFlags) machine() (m readsize.Machine, source string, err error) {
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
			return m, "", fmt.Errorf("--%s must be positive, not %v", over.flag, over.given)
		}
		over.set(over.given)
		changed = append(changed, "--"+over.flag)
	}
	if len(changed) > 0 {
		source += ", changed by " + strings.Join(changed, ", ")
	}
	return m, source, m.Check()
}

// preset is the machine before flags change it.
func (f *modelFlags) preset() (readsize.Machine, string, error) {
	if !f.calibrated {
		if f.file != "" {
			return readsize.Machine{}, "", errors.New("--file needs --calibrated")
		}
		return readsize.EDR(), "LP 5.1, InfiniBand EDR", nil
	}
	path, err := calibrationPath(f.file)
	if err != nil {
		return readsize.Machine{}, "", err
	}
	r, err := calibrate.Load(path)
	if err != nil {
		return readsize.Machine{}, "", failure(fmt.Errorf("--calibrated: %w", err))
	}
	return readsize.Machine{LatencyNs: r.LatencyNs, ByteNs: r.ByteNs,
			LinkBytesPerSecond: r.LinkBytesPerSecond, MessagesPerSecond: r.MessagesPerSecond,
			HeaderBytes: r.HeaderBytes},
		fmt.Sprintf("calibrated: %s with %s, %s", r.Engine, english.Plural(r.Ranks, "rank", ""),
			r.Time.Format("2006-01-02 15:04")), nil
}

// check refuses flags that make no sense.
func (f *modelFlags) check() error {
	switch {
	case !f.changed("load"):
		return errors.New("--load LOAD is missing: the load factor of the table; for example: " +
			"farhash model --load 0.8 --slot 8")
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

// run computes and prints.
func (f *modelFlags) run() error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	m, source, err := f.machine()
	if err != nil {
		return usage(err)
	}
	c := readsize.Config{Machine: m, SlotBytes: f.slotBytes, MaxSlots: f.maxSlots}
	if err := c.Check(); err != nil {
		return usage(err)
	}
	r, err := newModelReport(c, f.load, source)
	if err != nil {
		return err
	}
	write := r.writeText
	if f.json {
		write = r.writeJSON
		if f.calibrated { // which the object has no room for
			fmt.Fprintf(os.Stderr, "farhash: %s\n", source)
		}
	}
	return printResults(write)
}
