//go:build linux

package torture

import (
	"fmt"
	"os"
	"strings"
)

// A scarcity is what a command has to do without. The command is "$@" of a shell; NUMBER is drawn.
type scarcity struct {
	script      string
	least, most int
	mount       bool // needs a place of its own
}

var scarcities = []scarcity{
	{`ulimit -n NUMBER; exec "$@"`, 4, 40, false},
	{`ulimit -v NUMBER000; exec "$@"`, 2000, 8000, false},
	{`ulimit -f NUMBER; exec "$@"`, 0, 100, false},
	{`ulimit -s NUMBER; exec "$@"`, 100, 1000, false},
	{`ulimit -l NUMBER; exec "$@"`, 0, 64, false},
	{`exec "$@" >/dev/full`, 0, 0, false},
	{`exec "$@" 2>/dev/full`, 0, 0, false},
	{`exec "$@" >&-`, 0, 0, false},
	{`exec "$@" 2>&-`, 0, 0, false},
	{`exec "$@" <&-`, 0, 0, false},
	{`exec "$@" >&- 2>&- <&-`, 0, 0, false},
	{`exec "$@" <"$HOME"`, 0, 0, false},
	{`"$@" | true`, 0, 0, false},
	{`mount -t tmpfs -o size=NUMBERk tmpfs /dev/shm && exec "$@"`, 1, 4000, true},
	{`mount -t tmpfs -o nr_inodes=NUMBER tmpfs /dev/shm && exec "$@"`, 1, 4, true},
	{`mount -t tmpfs -o size=NUMBERk tmpfs "$TMPDIR" && exec "$@"`, 1, 2000, true},
	{`mount -t tmpfs -o size=NUMBERk tmpfs "$HOME/disk" && exec "$@"`, 1, 2000, true},
	{`mount -t tmpfs -o ro tmpfs "$HOME/disk" && exec "$@"`, 0, 0, true},
}

// strikeResource runs a search with checkpoints where something is scarce.
func strikeResource(r *round) error {
	m, err := r.family(7)
	if err != nil {
		return err
	}
	if err := os.Mkdir(r.path("disk"), 0o700); err != nil {
		return err
	}
	for range 3 {
		s := pick(r, scarcities...)
		if s.mount && !alone() {
			continue
		}
		script := strings.ReplaceAll(s.script, "NUMBER",
			fmt.Sprint(s.least+r.IntN(1+s.most-s.least)))
		line := []string{"sh", "-c", script, "sh", r.programs["plain"]}
		if s.mount {
			line = append([]string{"unshare", "--mount"}, line...)
		}
		if r.IntN(2) == 0 {
			line = append(line, "run", "-n", "2", "--", r.programs["plain"])
		}
		c := r.command(nil, append(line, "explore", m.path, "--json", pick(r, "-q", "--mem=64MiB"),
			"--checkpoint="+r.path("disk/checkpoint"), "--every=1ms", "--direct=false")...)
		c.mute = strings.Contains(script, "2>") // its message is not seen
		err := c.run(0)
		switch lost := strings.Contains(script, " >"); {
		case err != nil:
		case lost && c.code() == 0:
			err = c.wrong("its answer is lost, without an error")
		case !lost && !strings.Contains(script, "|"):
			err = c.answers(m)
		}
		if err != nil {
			return err
		}
		r.count(1, fmt.Sprint("times exit code ", c.code()))
	}
	return nil
}
