package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"
)

// Exit codes of all commands but farhash run.
const (
	ExitFailure    = 1 // files, memory or other ranks did not allow it
	ExitUsage      = 2 // wrong usage, whatever files there are
	ExitIncomplete = 3 // the answer is not complete: memory is full, or at a limit
	ExitLost       = launch.ExitRankLost
	ExitUnbounded  = 5   // a net has markings without end
	ExitFalse      = 12  // a property is false, where the exit code is to say so
	ExitInterrupt  = 130 // Ctrl-C
	ExitTerminate  = 143 // SIGTERM
)

// ExitCodes are the same for people. docs/explore.md has them too.
const ExitCodes = `  0    done
  1    failed: files, memory or other ranks did not allow it
  2    wrong usage
  3    incomplete: memory is full, or a limit that was given is reached
  4    incomplete: a rank was lost
  5    the net is unbounded: it has markings without end
  12   a property is false, with --exit-code
  130  interrupted by Ctrl-C (SIGINT)
  143  interrupted by SIGTERM`

// ExitCodeList is the end of a help text.
const ExitCodeList = "\n\nExit codes:\n\n" + ExitCodes

// ExitError carries an exit code. A nil err has been reported already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usage marks an error of the command line. An error that has an exit code keeps it.
func Usage(err error) error {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &ExitError{Code: ExitUsage, Err: err}
}

// Failure marks an error that is found while flags are checked and depends on files.
func Failure(err error) error { return &ExitError{Code: ExitFailure, Err: err} }

// Run does what the command line asks root for, and returns the exit code.
func Run(root *cobra.Command) int {
	out := &Output{Writer: os.Stdout} // of what cobra prints: help, version, completion
	root.SetOut(out)
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil && out.Err != nil {
		err = fmt.Errorf("printing the answer: %w", out.Err)
	}
	return Report(cmd, err)
}

// Report prints an error and returns the exit code.
func Report(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	var exit *ExitError
	var gone *rma.RankError
	code := ExitFailure
	if errors.As(err, &gone) && !gone.Left {
		code = ExitLost
		err = fmt.Errorf("%w; start all ranks again", err)
	} else if errors.As(err, &exit) {
		code = exit.Code
		if exit.Err == nil {
			return code
		}
	} else if strings.HasPrefix(err.Error(), "unknown command") {
		code = ExitUsage // cobra has no type for it
	}
	fmt.Fprintln(os.Stderr, "farhash:", brief(strings.TrimPrefix(err.Error(), "farhash: ")))
	if code == ExitUsage {
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

// InterruptCode is the exit code after a signal to this rank, which has ended ctx, or to another.
func InterruptCode(ctx context.Context) int {
	var caught Caught
	if errors.As(context.Cause(ctx), &caught) && caught.Signal == syscall.SIGTERM {
		return ExitTerminate
	}
	return ExitInterrupt
}

// Interrupted is the error of a command that a signal has ended before it printed anything.
func Interrupted(ctx context.Context, what string) error {
	return &ExitError{Code: InterruptCode(ctx),
		Err: fmt.Errorf("INCOMPLETE: interrupted: %s", what)}
}
