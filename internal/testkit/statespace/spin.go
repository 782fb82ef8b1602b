package statespace

import (
	"bytes"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var withSpin = flag.Bool("spin", false, "compare with SPIN, and search what takes long")

// NeedFlag skips a test without the flag -spin.
func NeedFlag(t *testing.T) {
	t.Helper()
	if !*withSpin {
		t.Skip("takes up to a minute; make spec-quick runs it, by -spin")
	}
}

// NeedSpin skips a test without the flag or SPIN.
func NeedSpin(t *testing.T) {
	t.Helper()
	NeedFlag(t)
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs SPIN and a C compiler: ", err)
		}
	}
	out, _ := exec.Command("spin", "-V").Output()
	if !bytes.HasPrefix(out, []byte("Spin Version")) {
		t.Skip("the program spin here is another one")
	}
}

// Spin searches a model of the folder spec with parameters of the preprocessor. It returns what
// SPIN prints, and whether it finds an error.
func Spin(t *testing.T, model, parameters string) (out string, fails bool) {
	t.Helper()
	path, err := filepath.Abs("../../../spec/" + model)
	if err != nil {
		t.Fatal(err)
	}
	script := exec.Command("sh", "-ec", "spin -a "+parameters+` "$0" >spin.out
		gcc -O0 -w -DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM=1000 -o pan pan.c
		./pan || true`, path)
	script.Dir = t.TempDir()
	printed, err := script.CombinedOutput()
	out = string(printed)
	fails = strings.Contains(out, "errors: 1")
	if err != nil || fails == strings.Contains(out, "errors: 0") ||
		!fails && !strings.Contains(out, "Full statespace search") {
		t.Fatalf("spin %s: %v\n%s", parameters, err, out)
	}
	return out, fails
}
