// Command farhash explores the state spaces of Petri nets with the tables of this
// project, starts the ranks of a job, and makes nets to try it on.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/rma"
)

// Exit codes.
const (
	exitFailure    = 1 // it did not work
	exitUsage      = 2 // the command line makes no sense
	exitIncomplete = 3 // the answer is not complete: memory is full
	exitLost       = launch.ExitRankLost
	exitInterrupt  = 130 // Ctrl-C
	exitTerminate  = 143 // SIGTERM
)

// exitError carries an exit code. A nil err has been reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error of the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitUsage, err: err}
}

func main() {
	if err := checkLimits(); err != nil {
		os.Exit(report(nil, err))
	}
	root := newRoot()
	out := &output{Writer: os.Stdout} // of what cobra prints: help, version, completion
	root.SetOut(out)
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil && out.err != nil {
		err = fmt.Errorf("printing the answer: %w", out.err)
	}
	os.Exit(report(cmd, err))
}

// output remembers why a write has failed.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	o.err = errors.Join(o.err, err)
	return n, err
}

// report prints an error and returns the exit code.
func report(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	var exit *exitError
	var gone *rma.RankError
	code := exitFailure
	if errors.As(err, &gone) && !gone.Left {
		code = exitLost
		err = fmt.Errorf("%w; start all ranks again", err)
	} else if errors.As(err, &exit) {
		code = exit.code
		if exit.err == nil {
			return code
		}
	} else if text := err.Error(); strings.HasPrefix(text, "unknown command") ||
		strings.HasPrefix(text, "required flag") {
		code = exitUsage // cobra has no type for these
	}
	fmt.Fprintln(os.Stderr, "farhash:", brief(strings.TrimPrefix(err.Error(), "farhash: ")))
	if code == exitUsage {
		fmt.Fprintf(os.Stderr, "Run '%s --help' for how it is used.\n", cmd.CommandPath())
	}
	return code
}

// quoted is a long text in quotation marks.
var quoted = regexp.MustCompile(`"([^"\\]|\\.){100,}"`)

// brief shortens the flags and arguments that a message repeats.
func brief(message string) string {
	message = quoted.ReplaceAllStringFunc(message, func(text string) string {
		return `"` + launch.Cut(text[1:len(text)-1]) + `"`
	})
	const most, ends = 16 << 10, 1 << 10 // a few paths may be 4 KiB each
	if len(message) > most {
		message = message[:ends] + " ... " + message[len(message)-ends:]
	}
	return message
}

// version is that of the project, with the commit that it was built from where Go has recorded
// one: "0.1.0 (commit 5f9b9de2ad1c, go1.26.8)".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return farhash.Version()
	}
	commit := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "commit " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += ", modified"
		}
	}
	if commit != "" {
		commit += ", "
	}
	return farhash.Version() + " (" + commit + info.GoVersion + ")"
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "farhash",
		Version:       version(),
		Short:         "Hash tables in the memory of many processes, and what is built on them",
		SilenceErrors: true,
		SilenceUsage:  true,
		Long: `farhash explores the reachable markings of Petri nets with a visited set that lives
in the memory of many ranks: goroutines of one process, or processes of one host or many.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 incomplete because memory is full,
4 incomplete because a rank was lost, 130 interrupted by Ctrl-C, 143 by SIGTERM.`,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Help about a command",
		RunE: func(cmd *cobra.Command, given []string) error {
			about, _, err := root.Find(given)
			if err != nil {
				return usage(err)
			}
			return about.Help()
		}})
	root.AddCommand(newExplore(), newPetri(), newRun(), newBench(), newModel(),
		newCalibrate(), newDoctor())
	return root
}

// args wraps a check of the arguments, so that a failure counts as wrong usage.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error { return usage(check(cmd, given)) }
}
