package farhash_test

import (
	"os"
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
