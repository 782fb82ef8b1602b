package run

import (
	"runtime"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestRunPassesOn: what the ranks learn of the flags of run, and what run learns of the ranks.
func TestRunPassesOn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ranks that are processes need Linux")
	}
	const says = "echo $FARHASH_RANK of $FARHASH_SIZE, $FARHASH_TIMEOUT, lost $FARHASH_TIMEOUT_LOST"
	o := try.Here(t, "run", "--nproc", "2", "--timeout", "7s", "--timeout-lost", "9s", "-p", "--",
		"sh",
		"-c", says)
	o.Has(t, 0, "[0] 0 of 2, 7s, lost 9s\n", "[1] 1 of 2, 7s, lost 9s\n")
	try.Here(t, "run", "-n", "1", "--", "sh", "-c", says).Has(t, 0, "0 of 1, ", ", lost\n", "![0]")
	try.Here(t, "run", "-n", "2", "--", "sh", "-c", "exit 7").Has(t, 7, "")
	try.Here(t, "run", "-n", "1", "--", "sh", "-c", "kill -9 $$").Has(t, 128+9, "")
	try.Here(t, "run", "-n", "2", "--survive", "--", "sh", "-c",
		"[ $FARHASH_RANK = 1 ] && kill -9 $$; exit 0").Has(t, 0, "")
	try.Here(t, "run", "-n", "1", "--rendezvous", "h:80", "--", "sh", "-c",
		"echo [$FARHASH_RENDEZVOUS $FARHASH_ENGINE ${FARHASH_TOKEN:+token}]").Has(t, 0,
		"[h:80 ucx token]\n")
	for set, want := range map[string]string{"": "errors to stderr\n", "file": "errors to file\n"} {
		t.Setenv(logVariable, set)
		try.Here(t, "run", "-n", "1", "--rendezvous", "h:80", "--", "sh", "-c",
			"echo errors to $"+logVariable).Has(t, 0, want)
	}
}
