package experiment

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Show is the command that shows files in the benchmark format.
func Show(all []*Experiment) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "show FILE...",
		Short: "Show what was measured before, from files made by --benchfmt",
		Long: `Prints and draws what farhash-eval or farhash bench have measured before, from
files made by --benchfmt. Runs of several files count as runs of one.`,
		Example: `  farhash-eval op table1 --benchfmt > table1.txt
  farhash-eval show table1.txt --plot table1.svg
  farhash bench --benchfmt | farhash-eval show -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("show needs a file; - is standard input")
			}
			return nil
		},
	}
	o.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if err := o.checkPlot(o.plot, args...); err != nil {
			return err
		}
		var config record.Config
		var records []record.Record
		for _, path := range args {
			c, some, err := readFile(cmd.InOrStdin(), path)
			if err != nil {
				return err
			}
			if reason := config.Get(record.Incomplete); reason != "" &&
				c.Get(record.Incomplete) == "" {
				c = append(c, record.Key{Name: record.Incomplete, Value: reason})
			}
			config, records = c, append(records, some...)
		}
		views := viewsOf(all, records)
		if len(views) == 0 {
			return fmt.Errorf("%s has no results of farhash-eval or farhash bench; make it with "+
				"the --benchfmt of either. benchstat shows other benchmarks of Go",
				strings.Join(args, ", "))
		}
		err := o.print(cmd.OutOrStdout(), config, records, views)
		if err == nil && o.plot != "" {
			err = o.draw(o.plot, records, views)
		}
		return err
	}
	return cmd
}

// benchViews are of what farhash bench prints with --benchfmt.
var benchViews = []view.View{{Name: "Farhash",
	Title: "farhash bench, million operations a second of all ranks",
	Columns: []view.Column{{Unit: "Mop/s", Spread: true},
		{Unit: "of-limit", Head: "of the limit", Digits: 2}},
	Plots: []view.Plot{{Panel: "batch", X: "op", Y: "Mop/s", YName: "million operations/s"}}}}

func readFile(stdin io.Reader, path string) (record.Config, []record.Record, error) {
	if path == "-" {
		return record.Read(stdin, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return record.Read(f, path)
}

// viewsOf are the views of the experiments that the records are of.
func viewsOf(all []*Experiment, records []record.Record) (views []view.View) {
	for _, e := range append(slices.Clip(all), &Experiment{Views: benchViews}) {
		known := func(r record.Record) bool {
			return slices.ContainsFunc(e.Views, func(v view.View) bool { return v.Name == r.Name })
		}
		if slices.ContainsFunc(records, known) {
			views = append(views, e.Views...)
		}
	}
	return views
}
