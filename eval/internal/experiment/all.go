package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// All is the command that runs experiments one after the other. It has the flags that several
// of them have in common.
func All(all []*Experiment) *cobra.Command {
	var o output
	var sessions []*session
	var names []string
	flags := map[string][]*pflag.Flag{}
	for _, e := range all {
		if e.Hosts {
			continue
		}
		own := pflag.NewFlagSet(e.Name, pflag.ContinueOnError)
		sessions = append(sessions, newSession(e, own))
		own.VisitAll(func(f *pflag.Flag) { flags[f.Name] = append(flags[f.Name], f) })
		took, _, _ := strings.Cut(cmp.Or(e.Takes, "0 s"), ",")
		names = append(names, fmt.Sprintf("  %-20s %5s  %s", e.path(), took, e.Short))
	}
	cmd := &cobra.Command{Use: "all", Args: noArgs,
		Short: "Run all of these one after the other",
		Long: "Runs, one after the other, in so much time on two cores:\n\n" +
			strings.Join(names, "\n") + `

With --plot x.svg each has a plot of its own, such as x-` + all[0].Views[0].Name + `.svg. What was
measured before a signal or an error is printed, and marked INCOMPLETE.`}
	o.runFlags(cmd)
	for _, of := range flags {
		shareFlag(cmd.Flags(), of)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd, sessions...) }
	return cmd
}

// shareFlag adds a flag that means the same for several experiments.
func shareFlag(flags *pflag.FlagSet, of []*pflag.Flag) {
	one := *of[0]
	if len(of) == 1 || slices.ContainsFunc(of, func(f *pflag.Flag) bool {
		return f.Usage != one.Usage
	}) {
		return
	}
	var values shared
	for _, f := range of {
		values = append(values, f.Value)
		if f.DefValue != one.DefValue {
			one.DefValue = "" // help has none
		}
	}
	one.Value = values
	flags.AddFlag(&one)
}

// shared is a flag that several experiments have.
type shared []pflag.Value

// Set sets it for all of them.
func (s shared) Set(text string) (err error) {
	for _, v := range s {
		err = errors.Join(err, v.Set(text))
	}
	return err
}

// Type is how help calls the value.
func (s shared) Type() string { return s[0].Type() }

// String is the value for the first of them.
func (s shared) String() string {
	if len(s) == 0 {
		return ""
	}
	return s[0].String()
}
