//go:build ucx && cgo

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// netTiny is as little as bench net measures.
var netTiny = []string{"bench", "net", "--runs", "1", "--piece", "1ms", "--batch", "512",
	"--buckets", "512Ki"}

// Two hosts are made, everything is measured with right counts, and nothing is left of them.
func TestUCXBenchNet(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "x.svg")
	c := execute(t, append(netTiny, "--json", "-q", "--plot", plot)...)
	o := object(t, c)
	setting := o["setting"].(map[string]any)
	if c.code() != 0 || setting["ranks"] != 4.0 || setting["ranksPerHost"] != 2.0 ||
		!strings.HasPrefix(setting["link"].(string), "TCP ") || setting["engine"] != "ucx" {
		t.Fatalf("exit code %d: %v\n%s", c.code(), setting, &c.stderr)
	}
	_, noRedis := exec.LookPath("redis-server")
	want := 5 + 2*6 // one at a time, and many at once one way and both ways
	if noRedis == nil {
		want += 1 + 2
	}
	results := o["results"].([]any)
	if len(results) != want || (len(o["notes"].([]any)) == 0) != (noRedis == nil) {
		t.Errorf("%d results, want %d; notes %v", len(results), want, o["notes"])
	}
	for _, r := range results {
		checkNetResult(t, r.(map[string]any))
	}
	if drawn, err := os.ReadFile(plot); err != nil || !bytes.Contains(drawn, []byte(">shipped<")) {
		t.Errorf("the plot: %v", err)
	}
	noHostsLeft(t, c)
}

// checkNetResult checks the counts of a result.
func checkNetResult(t *testing.T, is map[string]any) {
	t.Helper()
	impl, operations := is["impl"], is["operations"].(float64)
	inserted, least, most := operations/2, 0.0, 0.0
	switch {
	case is["batch"] == 1.0 || impl == "raw" || impl == "engine":
		inserted, least, most = 0, 1, 1.1
	case impl == "one-sided": // half of the words need a compare-and-swap
		least, most = 1.5, 1.7
	case impl == "shipped":
		least, most = .001, .1
	}
	messages, counted := is["messages"].(float64)
	if operations < 1 || is["inserted"] != inserted || is["kops"].(float64) <= 0 ||
		counted == (impl == "redis") || counted && (messages < least || messages > most) {
		t.Errorf("%v makes no sense", is)
	}
}

// noHostsLeft makes sure that a command has removed its hosts.
func noHostsLeft(t *testing.T, c *command) {
	t.Helper()
	left, _ := filepath.Glob(fmt.Sprintf("/run/netns/farhash-%d-*", c.Process.Pid))
	if len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// Halves of a host talk over loopback, and the output says so.
func TestUCXBenchNetLoopback(t *testing.T) {
	c := execute(t, append(netTiny, "--hosts", "loopback", "--ranks-per-host", "1", "--impl",
		"raw,one-sided,shipped", "--traffic", "one-way")...)
	for _, want := range []string{"over TCP over loopback", "2 ranks, 1 on each", "  shipped  "} {
		if c.code() != 0 || !strings.Contains(c.stdout.String(), want) {
			t.Errorf("exit code %d, %q is not in\n%s%s", c.code(), want, &c.stdout, &c.stderr)
		}
	}
	if lines := strings.Count(c.stderr.String(), "\n"); lines != 3*3+4 {
		t.Errorf("progress:\n%s", &c.stderr)
	}
}

// A signal ends the measurement: what there is is printed, and the hosts are removed.
func TestUCXBenchNetInterrupted(t *testing.T) {
	for s, codes := range map[syscall.Signal][]int{syscall.SIGINT: {exitInterrupt},
		syscall.SIGTERM: {exitTerminate, exitInterrupt}} { // a rank may hear of it from another
		c := startUntil(t, "engine, ", append(netTiny, "--runs", "1000", "--impl",
			"engine,one-sided", "--json")...)
		send(t, c.Process.Pid, s)
		c.finish()
		o := object(t, c)
		if !slices.Contains(codes, c.code()) || len(o["results"].([]any)) == 0 ||
			!strings.Contains(c.stderr.String(), "INTERRUPTED") {
			t.Errorf("%v: exit code %d: %v\n%s", s, c.code(), o, &c.stderr)
		}
		noHostsLeft(t, c)
	}
}
