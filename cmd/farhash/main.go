// Command farhash runs and measures the tables of this project: it explores the state spaces of
// Petri nets, benchmarks the tables, starts the ranks of a job, and diagnoses a machine.
package main

//go:generate go test -run TestManualPage -update

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
	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"
)

// Exit codes.
const (
	exitFailure    = 1 // files, memory or other ranks did not allow it
	exitUsage      = 2 // wrong usage, whatever files there are
	exitIncomplete = 3 // the answer is not complete: memory is full, or at a limit
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

// usage marks an error of the command line. An error that has an exit code keeps it.
func usage(err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &exitError{code: exitUsage, err: err}
}

// failure marks an error that is found while flags are checked and depends on files.
func failure(err error) error { return &exitError{code: exitFailure, err: err} }

func main() { os.Exit(exitCode()) }

// exitCode does what the command line asks for.
func exitCode() int {
	if err := checkLimits(); err != nil {
		return printError(nil, err)
	}
	root := newRoot()
	out := &output{Writer: os.Stdout} // of what cobra prints: help, version, completion
	root.SetOut(out)
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil && out.err != nil {
		err = fmt.Errorf("printing the answer: %w", out.err)
	}
	return printError(cmd, err)
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

// printError prints an error and returns the exit code.
func printError(cmd *cobra.Command, err error) int {
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
	} else if strings.HasPrefix(err.Error(), "unknown command") {
		code = exitUsage // cobra has no type for it
	}
	fmt.Fprintln(os.Stderr, "farhash:", brief(strings.TrimPrefix(err.Error(), "farhash: ")))
	if code == exitUsage {
		fmt.Fprintf(os.Stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
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
	const maxBytes, ends = 16 << 10, 1 << 10 // a few paths may be 4 KiB each
	if len(message) > maxBytes {
		message = message[:ends] + " ... " + message[len(message)-ends:]
	}
	return message
}

// version is the version of the project, with the commit that it was built from where Go has
// recorded one: "0.1.0 (commit 5f9b9de2ad1c, go1.26.8)".
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
