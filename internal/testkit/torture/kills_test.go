//go:build linux

package torture

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// strikeKill interrupts and kills a search with checkpoints at random moments, and continues with
// other ranks, until it comes to its end.
func strikeKill(r *round) error {
	m, err := r.family(pick(r, 7, 8, 9))
	if err != nil {
		return err
	}
	file, order := r.path("checkpoint"), pick(r, "bfs", "any")
	explore := func(last bool) []string {
		args := []string{"explore", m.path, "--json", "--order=" + order}
		if _, err := os.Stat(file); err == nil {
			args = append(args, "--resume="+file)
		}
		if !last {
			args = append(args, "--checkpoint="+file,
				"--every="+pick(r, "1ms", "5ms", "20ms", "1h"), pick(r, "--direct=false", "-q"))
		}
		return args
	}
	for range 1 + r.IntN(4) {
		engine := r.engine()
		c := r.ranks(engine, 1+r.IntN(4), explore(false)...)
		if err := c.begin(); err != nil {
			return err
		}
		signal := pick(r, syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT)
		victim := r.IntN(6)
		if !c.within(time.Duration(r.IntN(pick(r, 30, 300, 1000))) * time.Millisecond) {
			pid := 0
			if ranks := c.ranks(); victim < len(ranks) {
				pid = ranks[victim]
			}
			if pid == 0 && strings.Contains(engine, "mpi") {
				signal = syscall.SIGTERM // these launchers leave files if they are killed
			}
			c.send(pid, signal)
			r.count(1, "kills")
		}
		if err := c.finish(0); err != nil {
			return err
		}
		if err := c.answers(m); err != nil {
			return err
		}
	}
	// The next job of the user removes what a launcher has left that was killed.
	c := r.ranks("shm", 1+r.IntN(4), explore(true)...)
	if err := c.run(0); err != nil {
		return err
	}
	if c.code() != 0 {
		return c.wrong("it does not continue")
	}
	r.count(1, "resumes")
	return c.answers(m)
}
