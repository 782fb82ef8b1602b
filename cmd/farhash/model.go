package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/farhash/farhash/internal/calibrate"
	"github.com/farhash/farhash/readsize"
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
		Use:   "model --load A --slot W",
		Short: "Tell how much to read at once from a remote hash table",
		Args:  args(cobra.NoArgs),
		Long: `Prints read sizes for lookups in a hash table in remote memory, and what a lookup is
expected to cost with them, by layout of the table and policy. The model is that of Wang
et al.: Efficient Usage of One-Sided RDMA for Linear Probing, 2020 ("LP"), and so is the
machine: InfiniBand EDR. --calibrated takes what farhash calibrate has measured instead,
and --latency-ns to --header change either.

Layouts: linear (linear probing), ordered (linear probing with the records in the order of
their homes), cuckoo (3 ways, 4 slots). Policies: fixed (256 bytes), capped (LP's model),
uncapped (the same without the bound of the link), adaptive (decides again after each read
that was not enough); for cuckoo parallel and sequential.

A search for a present key brings all matches; sequential cuckoo ends at the first.

--json prints one object: load, slotBytes, cap (the most slots that the link has room
for), uncapped, capped, adaptive (a list, first read first; the last is repeated), and
expected, an object by policy: fixed, capped, uncapped, adaptive, the same of ordered
tables as orderedFixed and so on, cuckooParallel, cuckooSequential. Each has requests,
bytes, ns for a key that is there, absent (the same for one that is not), and sizes (slots
of each read).

For sequential cuckoo this is LP's mean of three places in random order, 2.0 requests; an index
fills the first buckets first and needs 1.10 to 1.96, by load.`,
		Example: `  farhash model --load 0.8 --slot 8
  farhash model --load 0.95 --slot 5 --max-slots 512
  farhash model --load 0.65 --slot 32 --latency-ns 8000 --gbps 25 --mops 10 --json
  farhash calibrate -n 2 && farhash model --load 0.9 --slot 16 --calibrated`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run()
		},
	}
	f.register(cmd)
	return cmd
}

// register tells cobra of the flags.
func (f *modelFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&f.load, "load", 0, "occupied part of the table, above 0 and up to 0.99")
	flags.IntVar(&f.slotBytes, "slot", 8, "bytes of a slot")
	flags.Float64Var(&f.latencyNs, "latency-ns", 0, "c, what a read of no bytes takes (LP: 1290)")
	flags.Float64Var(&f.gbps, "gbps", 0,
		"bandwidth of the link, Gb/s, and so what a byte takes (LP: 100)")
	flags.Float64Var(&f.mops, "mops", 0, "rho0, million reads of no bytes a second (LP: 87.17)")
	flags.Float64Var(&f.headerBytes, "header", 0, "bytes of a message without payload (LP: 30)")
	flags.IntVar(&f.maxSlots, "max-slots", 0, "most slots of one read, 0: no limit")
	flags.BoolVar(&f.calibrated, "calibrated", false, "the machine that farhash calibrate measured")
	flags.StringVar(&f.file, "file", "", "with --calibrated: "+calibrationUsage)
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
}

// machine is LP's or the one that was measured, with what the flags change, and where its
// figures are from.
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
			return readsize.Machine{}, "", errors.New("--file is for --calibrated")
		}
		return readsize.EDR(), "LP 5.1, InfiniBand EDR", nil
	}
	path, err := calibrationPath(f.file)
	if err != nil {
		return readsize.Machine{}, "", err
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
func (f *modelFlags) check() error {
	switch {
	case !f.changed("load"):
		return errors.New("--load is needed: the occupied part of the table, such as 0.8")
	case !(f.load > 0 && f.load < 1):
		return fmt.Errorf("--load must lie between 0 and 1, exclusive, not be %v", f.load)
	case f.load > readsize.MaxLoad:
		return fmt.Errorf("--load %v is above %v, where runs of occupied slots have no end "+
			"worth reading to; give the table more slots", f.load, readsize.MaxLoad)
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
