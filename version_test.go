package farhash_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/farhash/farhash"
)

// The file VERSION decides: other files that must contain the version agree with it.
func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(farhash.Version()) {
		t.Errorf("VERSION is %q, want MAJOR.MINOR.PATCH", farhash.Version())
	}
	for _, c := range []struct{ file, pattern string }{
		{"CITATION.cff", `(?m)^version: (.*)$`},
		{"bind/c/farhash.h", `#define FARHASH_VERSION "(.*)"`},
		{"bind/c/man/farhash.3", `"farhash (\d.*?)"`},
		{"bind/c/man/farhash_dht.3", `"farhash (\d.*?)"`},
		{"cmd/farhash/man/farhash.1", `(?m)^\.Os farhash (.*)$`},
		{"bind/python/farhash/version.py", `__version__ = "(.*)"`},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.pattern).FindSubmatch(text)
		if found == nil || string(found[1]) != farhash.Version() {
			t.Errorf("%s has version %q, VERSION %q: edit the file", c.file, found,
				farhash.Version())
		}
	}
}

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
