package farhash_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// NOTICES has the licence of each module that the programs and libraries link.
func TestNotices(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.Command("scripts/notices")
	cmd.Stderr = os.Stderr
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("NOTICES"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("NOTICES is out of date (%v): run scripts/notices >NOTICES", err)
	}
}
