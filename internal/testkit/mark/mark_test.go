package mark

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	reached = New("mark: reached")
	missed  = New("mark: missed")
	open    = New("mark: open to visitors")
)

// fake is a test that has ended some way.
type fake struct {
	failed, skipped bool
	cleanups        []func()
	errors          []string
}

func (f *fake) Helper()           {}
func (f *fake) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *fake) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fake) Failed() bool  { return f.failed }
func (f *fake) Skipped() bool { return f.skipped }

func (f *fake) end() {
	for _, cleanup := range f.cleanups {
		cleanup()
	}
}

func TestClaim(t *testing.T) {
	missed.Hit() // before it is claimed
	for _, c := range []struct {
		test fake
		fine bool
	}{{fake{}, false}, {fake{failed: true}, true}, {fake{skipped: true}, true}} {
		missed.Claim(&c.test)
		c.test.end()
		if fine := len(c.test.errors) == 0; fine != c.fine {
			t.Errorf("%+v claims what it does not reach", c.test)
		}
	}
	var good fake
	reached.Claim(&good)
	reached.Hit()
	good.end()
	if len(good.errors) > 0 {
		t.Errorf("a test that reaches its mark gets %v", good.errors)
	}
	unclaimed := Unclaimed()
	if slices.Contains(unclaimed, reached.String()) ||
		!slices.Contains(unclaimed, missed.String()) {
		t.Errorf("unclaimed are %v", unclaimed)
	}
}

func TestIntercept(t *testing.T) {
	var test fake
	visits, before := uint64(0), open.Hits()
	open.Intercept(&test, func() {
		visits++
		open.Hit() // no visit of a visit
	})
	open.Hit()
	open.Hit()
	test.end()
	open.Hit()
	const want = 2
	if hits := open.Hits() - before; visits != want || hits != 2*want+want/2 {
		t.Errorf("%d visits and %d hits", visits, hits)
	}
}

// tests stands for the tests of a package.
type tests func() int

func (fn tests) Run() int { return fn() }

func TestMain(m *testing.M) {
	var out strings.Builder
	run := func(fn func() int) (code int, said string) {
		out.Reset()
		code = Main(tests(fn), "mark: missed", &out)
		return code, out.String()
	}
	code := m.Run()
	selected := !everything()
	fine := func() int { return 0 }
	wantCode, wantSaid := 0, ""
	if !selected {
		wantCode, wantSaid = 1, "no test claims and reaches the mark \"mark: missed\"\n"
	}
	if got, said := run(fine); got != wantCode || said != wantSaid {
		fmt.Printf("after good tests Main returns %d and says %q\n", got, said)
		code = 1
	}
	if got, said := run(func() int { return 3 }); got != 3 || said != "" {
		fmt.Printf("after bad tests Main returns %d and says %q\n", got, said)
		code = 1
	}
	os.Exit(code)
}

// A mark that no branch has fails the tests that claim it, where marks are in place.
func TestUnplaced(t *testing.T) {
	var test fake
	Named("mark: no branch").Claim(&test)
	test.end()
	if (len(test.errors) > 0) != InPlace {
		t.Errorf("marks are in place: %v; claiming one that is not says %v", InPlace, test.errors)
	}
	if slices.Contains(Unclaimed(), "mark: no branch") {
		t.Error("a mark of no branch is unclaimed")
	}
}
