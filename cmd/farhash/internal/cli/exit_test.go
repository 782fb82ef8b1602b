package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
)

// TestReport: which exit code an error has.
func TestReport(t *testing.T) {
	root := Root()
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0}, {errors.New("x"), ExitFailure}, {Usage(errors.New("x")), ExitUsage},
		{Failure(errors.New("x")), ExitFailure}, {Usage(Failure(errors.New("x"))), ExitFailure},
		{&ExitError{Code: ExitIncomplete}, ExitIncomplete},
		{&ExitError{Code: ExitTerminate, Err: errors.New("x")}, ExitTerminate},
		{&ExitError{Code: ExitIncomplete, Err: &rma.RankError{Rank: 1}}, ExitLost},
		{errors.New(`unknown command "x"`), ExitUsage},
	} {
		if code := Report(root, c.err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.code)
		}
	}
	if Usage(nil) != nil {
		t.Error("no error is wrong usage")
	}
}

// The loss of a rank has an exit code of its own; that a rank left is a failure.
func TestExitCodeOfLoss(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{&rma.RankError{Rank: 2}, ExitLost}, {fmt.Errorf("x: %w", &rma.RankError{}), ExitLost},
		{&rma.RankError{Rank: 2, Left: true}, ExitFailure},
		{Usage(errors.New("x")), ExitUsage}, {&rma.PeerError{What: "x", Rank: 1}, ExitFailure},
	} {
		if code := Report(Root(), c.err); code != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, code, c.want)
		}
	}
}

// TestBrief: long values are cut, and so is a long message.
func TestBrief(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for message, most := range map[string]int{`flag "` + long + `" is wrong`: 500,
		strings.Repeat("word ", 10000): 3000} {
		if got := brief(message); len(got) > most || got[:4] != message[:4] {
			t.Errorf("%d bytes of %d: %.100s", len(got), len(message), got)
		}
	}
	for _, message := range []string{`no "x"`, strings.Repeat("word ", 3000)} {
		if got := brief(message); got != message {
			t.Errorf("%.100q was changed", message)
		}
	}
}

// TestRunCannotPrint: help that cannot be printed is a failure.
func TestRunCannotPrint(t *testing.T) {
	closed, err := os.Open(os.DevNull) // for reading alone
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	stdout, args := os.Stdout, os.Args
	defer func() { os.Stdout, os.Args = stdout, args }()
	os.Stdout, os.Args = closed, []string{"farhash", "--help"}
	if code := Run(Root()); code != ExitFailure {
		t.Errorf("exit code %d", code)
	}
}
