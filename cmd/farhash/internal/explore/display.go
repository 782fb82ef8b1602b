package explore

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri/diagram"
)

// display shows a search on standard error: the plan always, the progress when that is a
// terminal.
type display struct {
	quiet   bool
	alone   bool               // the symbolic engine alone explores, and shows its progress
	planned func(explore.Plan) // is told each plan; nil: nobody is

	asked int // properties

	mu       sync.Mutex
	answered int // of them
	closed   bool
	plan     explore.Plan
	bar      *progressbar.ProgressBar
	last     explore.Snapshot
	begin    time.Time // of sets of markings
	drawn    time.Time
	most     int // levels that a strategy has saturated
}

// update shows a snapshot. One without elapsed time has the plan only, of a search
// that begins, maybe anew because markings needed more bits than was guessed.
func (d *display) update(s explore.Snapshot) {
	if s.Elapsed == 0 && d.planned != nil {
		d.planned(s.Plan)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet || d.closed {
		return
	}
	if s.Elapsed == 0 {
		d.last = s
		d.announce(s.Plan)
		return
	}
	if !d.draws() {
		return
	}
	since := s.Elapsed - d.last.Elapsed
	level := ""
	if s.Level > 0 { // there are none in any order
		level = fmt.Sprintf("level %d  ", s.Level)
	}
	answered := ""
	if d.asked > 0 {
		answered = fmt.Sprintf("%d of %d answered  ", d.answered, d.asked)
	}
	waiting := strings.ReplaceAll(humanize.SIWithDigits(float64(s.Waiting), 0, ""), " ", "")
	d.bar.Describe(cli.CutLine(fmt.Sprintf("%s%s  %s  %s%s waiting  %s  %v  load %.2f", answered,
		humanize.SIWithDigits(float64(s.States), 2, "states"),
		cli.Rate(s.States-d.last.States, since.Seconds(), "states/s"), level, waiting,
		memory.Format(s.Bytes), s.Elapsed.Round(time.Second), s.LoadFactor)))
	d.last = s
}

// draws reports whether there is a line of progress, which it begins.
func (d *display) draws() bool {
	if d.bar == nil && !term.IsTerminal(int(os.Stderr.Fd())) {
		d.quiet = true
		return false
	}
	if d.bar == nil {
		d.bar = cli.Spinner()
	}
	return true
}

// announceSets prints the plan of the symbolic engine.
func (d *display) announceSets(mem uint64, ranks int) {
	switch {
	case d.quiet:
	case ranks == 1:
		fmt.Fprintf(os.Stderr, "plan: up to %s for sets of markings\n", memory.Format(mem))
	default:
		fmt.Fprintf(os.Stderr, "plan: up to %s for sets of markings in each of %d ranks, by other "+
			"orders and strategies\n", memory.Format(mem), ranks)
	}
}

// sets shows how far sets of markings have come, of the strategy that has come farthest.
func (d *display) sets(s diagram.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.begin.IsZero() {
		d.begin = now
	}
	if d.quiet || d.closed || !d.alone || s.Saturated < d.most ||
		now.Sub(d.drawn) < time.Second || now.Sub(d.begin) < time.Second || !d.draws() {
		return
	}
	d.drawn, d.most = now, s.Saturated
	d.bar.Describe(cli.CutLine(fmt.Sprintf("%s  %d of %s saturated  fill %.2f  %s  %v",
		humanize.SIWithDigits(float64(s.Stats.Nodes), 2, "nodes"), s.Saturated,
		plural.Of(s.Levels, "level"), float64(s.Stats.Bytes)/float64(max(s.MaxBytes, 1)),
		memory.Format(s.Stats.Bytes), now.Sub(d.begin).Round(time.Second))))
}

// announce prints a plan, if it is not the one that was printed before.
func (d *display) announce(p explore.Plan) {
	if p == d.plan {
		return
	}
	d.plan = p
	d.hide()
	fmt.Fprintf(os.Stderr, "plan: up to %s, enough for about %s (%.1f bytes each, stored "+
		"as %s)\n", memory.Format(p.Mem), humanize.SIWithDigits(float64(p.States), 1, "states"),
		p.StateBytes, p.Encoding)
}

// knows takes the progress line away until there is news, as one more answer is about to be printed
// if that is asked for.
func (d *display) knows(prints bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answered++; prints {
		d.hide()
	}
}

// hide takes the progress line away until there is news.
func (d *display) hide() {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
}

// close takes the progress line away.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.bar != nil {
		_ = d.bar.Finish()
	}
}

// continueAlone shows the progress of the symbolic engine after the end of a search.
func (d *display) continueAlone() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed, d.alone, d.bar, d.most = false, true, nil, 0
}
