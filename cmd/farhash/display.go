package main

import (
	"fmt"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/internal/memory"
)

// display shows a search on standard error: the plan always, the progress when that is a
// terminal.
type display struct {
	quiet bool
	plan  explore.Plan
	bar   *progressbar.ProgressBar
	last  explore.Snapshot
}

// update shows a snapshot. One without elapsed time has the plan only, of a search
// that begins, maybe anew because markings needed more bits than was guessed.
func (d *display) update(s explore.Snapshot) {
	if d.quiet {
		return
	}
	if s.Elapsed == 0 {
		d.last = s
		d.announce(s.Plan)
		return
	}
	if d.bar == nil {
		if !term.IsTerminal(int(os.Stderr.Fd())) {
			d.quiet = true
			return
		}
		d.bar = newSpinner()
	}
	since := s.Elapsed - d.last.Elapsed
	level := ""
	if s.Level > 0 { // there are none in any order
		level = fmt.Sprintf("level %d  ", s.Level)
	}
	d.bar.Describe(cut(fmt.Sprintf("%s  %s  %sload %.2f  %s  %v",
		humanize.SIWithDigits(float64(s.States), 2, "states"),
		rate(s.States-d.last.States, since.Seconds(), "states/s"),
		level, s.LoadFactor, memory.Format(s.Bytes), s.Elapsed.Round(time.Second))))
	d.last = s
}

// newSpinner is a line of progress on standard error.
func newSpinner() *progressbar.ProgressBar {
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth(),
		progressbar.OptionUseANSICodes(true)) // wipes the ^C of the terminal as well
}

// cut shortens a line of progress to what the terminal has room for beside the
// spinner and a ^C. A line that wraps could not be written over.
func cut(line string) string {
	const margin = 8
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || width < margin || len(line) <= width-margin {
		return line
	}
	return line[:width-margin]
}

// announce prints a plan, if it is not the one that was printed before.
func (d *display) announce(p explore.Plan) {
	if p == d.plan {
		return
	}
	d.plan = p
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	fmt.Fprintf(os.Stderr, "plan: up to %s, enough for about %s (%.1f bytes each, stored "+
		"as %s)\n", memory.Format(p.Mem), humanize.SIWithDigits(float64(p.States), 1, "states"),
		p.StateBytes, p.Encoding)
}

// close takes the progress line away.
func (d *display) close() {
	if d.bar != nil {
		_ = d.bar.Finish()
	}
}
