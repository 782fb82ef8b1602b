package mark

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// Main runs the tests of a package, for its TestMain, and returns the exit code. When
// they all have run and passed it fails if a mark of the package was claimed by
// none, and lists those on w. The name of a mark of the package begins with prefix.
func Main(m interface{ Run() int }, prefix string, w io.Writer) int {
	code := m.Run()
	if code != 0 || !everything() {
		return code
	}
	for _, name := range Unclaimed() {
		if strings.HasPrefix(name, prefix) {
			fmt.Fprintf(w, "no test claims and reaches the mark %q\n", name)
			code = 1
		}
	}
	return code
}

// everything reports whether no flag has chosen among the tests.
func everything() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

// oneSeed reports whether tests with many seeds run with one alone.
func oneSeed() bool {
	f := flag.Lookup("seed")
	return f != nil && f.Value.String() != f.DefValue
}
