package main

import (
	"strings"
	"syscall"
	"testing"
)

// TestSymbolicModelInterrupted: Ctrl-C ends it, and says so.
func TestSymbolicModelInterrupted(t *testing.T) {
	c := startSearch(t, "symbolic", doubled(t, 60), "--mem", "1GiB", "--strategy", "loops")
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.finish()
	if text := c.stdout.String(); c.code() != exitInterrupt ||
		!strings.Contains(text, "INCOMPLETE: interrupted\n") {
		t.Errorf("exit code %d, %s", c.code(), text)
	}
}
