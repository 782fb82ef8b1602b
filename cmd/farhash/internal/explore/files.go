package explore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/system/replace"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/report"
)

// checkFiles refuses a checkpoint that would take the place of a file of another format or of one
// that is read, and one to continue from that is not there.
func (f *exploreFlags) checkFiles(net string) error {
	if f.checkpoint != "" {
		read := append([]string{cli.InputFile(net)}, f.asked.files...)
		if err := replace.Spares(f.checkpoint, read...); err != nil {
			return fmt.Errorf("--checkpoint: %w", err)
		}
		_, err := archive.Writable(f.checkpoint, archive.Format(archive.Exploration))
		if err != nil {
			return cli.Failure(fmt.Errorf("--checkpoint: %w", err))
		}
	}
	if f.html != "" {
		read := append([]string{cli.InputFile(net), f.checkpoint, f.resume}, f.asked.files...)
		err := report.PageWritable(f.html, append(read, f.asked.formulaFiles...)...)
		if err != nil {
			return cli.Failure(fmt.Errorf("--html: %w", err))
		}
	}
	if f.itf != "" {
		read := append([]string{cli.InputFile(net), f.checkpoint, f.resume, f.html, f.export.Path},
			f.asked.files...)
		if err := report.ITFWritable(f.itf, append(read, f.asked.formulaFiles...)...); err != nil {
			return cli.Failure(fmt.Errorf("--itf: %w", err))
		}
	}
	if f.export.Path != "" {
		read := append([]string{cli.InputFile(net), f.checkpoint, f.resume, f.html},
			f.asked.files...)
		err := report.GraphWritable(f.export.Path, append(read, f.asked.formulaFiles...)...)
		if err != nil {
			return cli.Failure(fmt.Errorf("--export: %w", err))
		}
	}
	if f.resume != "" {
		var missing *fs.PathError
		if _, err := os.Stat(f.resume); errors.As(err, &missing) {
			return cli.Failure(fmt.Errorf("--resume %s: %w", f.resume, missing.Err))
		}
	}
	return nil
}

// readNet reads the net in a file of at most so many bytes, or what it is without timing and
// priorities.
func readNet(path string, maxBytes uint64, untimed bool) (*petri.Net, error) {
	path = cli.InputFile(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; name one net in it, such as %s", path,
			filepath.Join(path, "net.pnml"))
	}
	opts := petri.Options{FileBytes: int64(maxBytes)}
	var first error
	n := 0
	if untimed {
		opts.LeaveOut = func(err *petri.SyntaxError) {
			first = cmp.Or(first, error(err))
			n++
		}
	}
	net, err := opts.ReadFile(path)
	if err == nil && n > 0 {
		cli.Warn(fmt.Errorf("--untimed leaves out timing and priorities, %d in all; the first: %w",
			n, first))
	}
	return net, err
}
