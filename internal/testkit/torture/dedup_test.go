//go:build linux

package torture

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// strikeDedup removes repeated lines of random text, with little memory or signals at times. What
// is written must be right: all first occurrences in order, or where the exit code says that it
// has ended early, so many of them from the first on.
func strikeDedup(r *round) error {
	var text, want strings.Builder
	seen, distinct := map[string]bool{}, 1+r.IntN(100_000)
	for range r.IntN(200_000) {
		line := fmt.Sprintf("%d%s\n", r.IntN(distinct), pick(r, "", "", " ", "\r", "\x00"))
		if text.WriteString(line); !seen[line] {
			seen[line] = true
			want.WriteString(line)
		}
	}
	in, out := r.path("lines"), r.path("distinct")
	if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(out, []byte("before"), 0o600); err != nil {
		return err
	}
	line := []string{r.programs["plain"], "dedup", in, "-o", out}
	for _, flag := range []string{"--exact", "--unordered", "-q", "--mem=1MiB"} {
		if r.IntN(3) == 0 {
			line = append(line, flag)
		}
	}
	c := r.command(nil, line...)
	if err := c.begin(); err != nil {
		return err
	}
	if r.IntN(3) == 0 && !c.within(time.Duration(r.IntN(2e7))) {
		c.send(0, pick(r, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL))
	}
	if err := c.finish(0); err != nil {
		return err
	}
	return c.removed(out, want.String())
}

// removed judges what a run of dedup has written to a file.
func (c *command) removed(path, want string) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch text := string(got); {
	case c.code() == 0 && text != want:
		return c.wrong("it has written %d bytes, right are %d others", len(text), len(want))
	case c.code() != 0 && text != "before" && !strings.HasPrefix(want, text):
		return c.wrong("what it has written is not the beginning of what is right")
	}
	return nil
}
