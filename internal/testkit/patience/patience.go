// Package patience stretches the time limits of tests with the load of the machine. A limit that
// ends a test which hangs, and one after which a rank is taken for dead, are right on a machine
// that does nothing else; on one with ten times as many busy processes as processors, under the
// race detector, or in a guest that is emulated, the same work takes ten times as long.
//
//	ctx, cancel := context.WithTimeout(ctx, patience.Stretch(time.Minute))
//	cmd.Env = append(cmd.Env, patience.Environ()) // its limits are stretched as now
package patience

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

// variable has the factor for a process that a test starts: all ranks of a job have the same one.
const variable = "FARHASH_TEST_PATIENCE"

// A round of work takes so long on a machine that is not loaded, and somewhat less on a new one.
const (
	roundSteps = 2_000_000
	roundTakes = 10 * time.Millisecond
)

// Stretch is a limit as long as the load of the machine wants it, and never shorter than given.
func Stretch(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * factor())
}

// Environ is a variable for the environment of processes, whose limits are then stretched as here
// at this moment.
func Environ() string { return fmt.Sprintf("%s=%.3f", variable, factor()) }

func factor() float64 {
	if given, err := strconv.ParseFloat(os.Getenv(variable), 64); err == nil && given >= 1 {
		return given
	}
	load, _ := os.ReadFile("/proc/loadavg")
	return stretch(round(), runnable(load), runtime.NumCPU())
}

// stretch is the factor where a round took so long, and so many threads want to run.
func stretch(round time.Duration, runnable, processors int) float64 {
	return max(1, float64(round)/float64(roundTakes), float64(runnable)/float64(processors))
}

// runnable is how many threads want to run by /proc/loadavg: ".2 .1 .3 20/178 4711". 0: unknown.
func runnable(loadavg []byte) int {
	fields := bytes.Fields(loadavg)
	if len(fields) < 4 {
		return 0
	}
	running, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, _ := strconv.Atoi(string(running))
	return n
}

// round is how long a round of work takes now.
func round() time.Duration {
	begin, x := time.Now(), uint64(88172645463325252)
	for range roundSteps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x) // so that the work is done
	return time.Since(begin)
}
