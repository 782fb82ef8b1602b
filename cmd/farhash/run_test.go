package main

import (
	"runtime"
	"testing"
)

// TestRunPassesOn: what the ranks learn of the flags of run, and what run learns of the ranks.
func TestRunPassesOn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ranks that are processes need Linux")
	}
	const says = "echo $FARHASH_RANK of $FARHASH_SIZE, $FARHASH_TIMEOUT, lost $FARHASH_TIMEOUT_LOST"
	o := here(t, "run", "--nproc", "2", "--timeout", "7s", "--timeout-lost", "9s", "-p", "--", "sh",
		"-c", says)
	o.has(t, 0, "[0] 0 of 2, 7s, lost 9s\n", "[1] 1 of 2, 7s, lost 9s\n")
	here(t, "run", "-n", "1", "--", "sh", "-c", says).has(t, 0, "0 of 1, ", ", lost\n", "![0]")
	here(t, "run", "-n", "2", "--", "sh", "-c", "exit 7").has(t, 7, "")
	here(t, "run", "-n", "1", "--", "sh", "-c", "kill -9 $$").has(t, 128+9, "")
	here(t, "run", "-n", "2", "--survive", "--", "sh", "-c",
		"[ $FARHASH_RANK = 1 ] && kill -9 $$; exit 0").has(t, 0, "")
	here(t, "run", "-n", "1", "--rendezvous", "h:80", "--", "sh", "-c",
		"echo [$FARHASH_RENDEZVOUS $FARHASH_ENGINE ${FARHASH_TOKEN:+token}]").has(t, 0,
		"[h:80 ucx token]\n")
	for set, want := range map[string]string{"": "errors to stderr\n", "file": "errors to file\n"} {
		t.Setenv(logVariable, set)
		here(t, "run", "-n", "1", "--rendezvous", "h:80", "--", "sh", "-c",
			"echo errors to $"+logVariable).has(t, 0, want)
	}
}
