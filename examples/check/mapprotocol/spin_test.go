package main

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var withSpin = flag.Bool("spin", false, "compare with SPIN")

// SPIN finds an error in the same versions of spec/nessie-default.pml, and where there is none the
// same contents of the memory and of the history.
func TestSpinAgrees(t *testing.T) {
	if !*withSpin {
		t.Skip("takes a minute; make spec-quick runs it, by -spin")
	}
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs SPIN and a C compiler: ", err)
		}
	}
	out, _ := exec.Command("spin", "-V").Output()
	if !bytes.HasPrefix(out, []byte("Spin Version")) {
		t.Skip("the program spin here is another one")
	}
	for _, v := range versions {
		contents, fails := spin(t, v)
		if fails != (v.fails != "") || !fails && contents != v.contents {
			t.Errorf("%s: SPIN finds an error: %v, which should be %q; %d contents, not %d",
				v.name, fails, v.fails, contents, v.contents)
		}
	}
}

// spin reports how many contents SPIN finds, and whether it finds an error.
func spin(t *testing.T, v version) (contents int, fails bool) {
	t.Helper()
	model, err := filepath.Abs("../../../spec/nessie-default.pml")
	if err != nil {
		t.Fatal(err)
	}
	c, mutant, count, clients := v.config, "0", 1, 2
	if c.mutant > 0 {
		mutant, count = v.name, 0
	}
	if c.ops[2] > 0 {
		clients = 3
	}
	parameters := fmt.Sprintf("-DPROCS=%d -DSTART=%d -DDEATHS=%d -DMUTANT=%s -DREACH=0 "+
		"-DCONTENTS=%d -DCOPIES=%d -DDIRECT=%d", clients, c.start, c.deaths, mutant, count,
		number(c.copies), number(c.direct))
	for i := range maxClients {
		parameters += fmt.Sprintf(" -DOPS%d=%d -DMENU%d=%d", i, c.ops[i], i, c.menu[i])
	}
	script := exec.Command("sh", "-ec", "spin -a "+parameters+` "$0" >spin.out
		gcc -O0 -w -DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM=1000 -o pan pan.c
		./pan || true`, model)
	script.Dir = t.TempDir()
	out, err := script.CombinedOutput()
	fails = bytes.Contains(out, []byte("errors: 1"))
	if err != nil || fails == bytes.Contains(out, []byte("errors: 0")) ||
		!fails && !bytes.Contains(out, []byte("Full statespace search")) {
		t.Fatalf("spin %s: %v\n%s", parameters, err, out)
	}
	if _, text, ok := strings.Cut(string(out), "contents: "); ok {
		_, _ = fmt.Sscan(text, &contents)
	}
	return contents, fails
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
