package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Stdout returns standard output, unless it was closed when this program began. Writing to a
// pipe without a reader fails then, and does not kill the process.
func Stdout() (*os.File, error) {
	if stdoutClosed() {
		return nil, errors.New("printing the answer: standard output is closed, or a null device " +
			"that is open for reading as well; to discard the answer give >" + os.DevNull)
	}
	signal.Ignore(syscall.SIGPIPE)
	return os.Stdout, nil
}

// Output remembers why a write has failed.
type Output struct {
	io.Writer
	Err error
}

func (o *Output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	o.Err = errors.Join(o.Err, err)
	return n, err
}

// Warn reports what does not end a search.
func Warn(err error) { fmt.Fprintln(os.Stderr, "farhash: warning:", err) }

// Rate prints n per second: "1.6 Mstates/s".
func Rate(n uint64, seconds float64, unit string) string {
	if seconds <= 0 {
		return "- " + unit
	}
	return humanize.SIWithDigits(math.Round(float64(n)/seconds), 2, unit)
}

// Spinner is a line of progress on standard error.
func Spinner() *progressbar.ProgressBar {
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth(),
		progressbar.OptionUseANSICodes(true)) // wipes the ^C of the terminal as well
}

// CutLine shortens a line of progress to what the terminal has room for beside the
// spinner and a ^C. A line that wraps could not be written over.
func CutLine(line string) string {
	const margin = 8
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || width < margin || len(line) <= width-margin {
		return line
	}
	return line[:width-margin]
}

// Columns is the width of text for people.
const Columns = 80

// Wrap formats text after head and below, from a column on, in lines of columns at most. A word
// that is longer than a line has one of its own.
func Wrap(head string, column int, text string) string {
	var b strings.Builder
	b.WriteString(head)
	at, begin := utf8.RuneCountInString(head), true
	for word := range strings.FieldsSeq(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case begin:
		case at+1+length <= Columns:
			b.WriteByte(' ')
			at++
		default:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		}
		b.WriteString(word)
		at += length
		begin = false
	}
	b.WriteByte('\n')
	return b.String()
}
