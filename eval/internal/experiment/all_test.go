package experiment

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// fake emits the values of its flags.
type fake struct {
	name       string
	size, rest int
}

func (f *fake) Check() error { return InRange("size", f.size, 0, 100) }

func (f *fake) Round(_ context.Context, job rma.Job, _ uint64, emit Emit) error {
	if f.rest == 13 {
		return errors.New("bad luck")
	}
	emit(record.Record{Name: f.name, Keys: []record.Key{record.K("x", f.size)}, N: 1,
		Values: []record.Value{{Value: float64(f.rest + job.Size()), Unit: "u"}}})
	return nil
}

func newFake(name string, restName string, rest int) *Experiment {
	return &Experiment{Name: name, Ranks: []int{2}, Views: []view.View{{Name: name,
		Title: "of " + name, Columns: []view.Column{{Unit: "u"}},
		Plots: []view.Plot{{X: "x", Y: "u"}}}},
		New: func(flags *pflag.FlagSet) Runner {
			f := &fake{name: name}
			flags.IntVar(&f.size, "size", 7, "the same for all")
			flags.IntVar(&f.rest, restName, rest, "of "+name)
			return f
		}}
}

// execute runs a command without progress, and returns what it prints.
func execute(cmd *cobra.Command, args []string) (string, error) {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(append(args, "-q"))
	err := cmd.Execute()
	return out.String(), err
}

// TestAll: experiments are run with the flags that they have in common, printed as one and
// drawn separately; an error of one does not lose what others have measured.
func TestAll(t *testing.T) {
	dir := t.TempDir()
	run := func(last int, args ...string) (string, error) {
		cmd := All([]*Experiment{newFake("A", "a", 1), newFake("B", "b", 2),
			newFake("C", "c", last)})
		return execute(cmd, args)
	}
	text, err := run(3, "--size", "9", "--plot", filepath.Join(dir, "x.svg"))
	for _, want := range []string{"of A\nx=9 ranks=2", "of B", "of C", "5.000"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%q is not in %q, %v", want, text, err)
		}
	}
	for _, name := range []string{"A", "B", "C"} {
		if _, err := os.Stat(filepath.Join(dir, "x-"+name+".svg")); err != nil {
			t.Error(err)
		}
	}
	// Drawn again; then one of the files is no plot any more.
	if _, err := run(3, "--plot", filepath.Join(dir, "x.svg")); err != nil {
		t.Error(err)
	}
	foreign := filepath.Join(dir, "x-B.svg")
	if err := os.WriteFile(foreign, []byte("of a user"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run(3, "--plot", filepath.Join(dir, "x.svg")); err == nil || text != "" ||
		!strings.Contains(err.Error(), "x-B.svg is no plot in SVG") {
		t.Errorf("%q, %v", text, err)
	}
	if is, err := os.ReadFile(foreign); string(is) != "of a user" {
		t.Errorf("it has become %.20q, %v", is, err)
	}
	if text, err = run(13); err == nil || !strings.Contains(text, "of B") {
		t.Errorf("an error of the last one is %v, and the others print %q", err, text)
	}
	if !strings.Contains(text, "INCOMPLETE: failed\n") {
		t.Errorf("an incomplete output does not say so: %q", text)
	}
	for _, flags := range []string{"--a=1", "--size=101", "--size=x", "--plot=x.pdf",
		"--plot=none/x.svg", "--panels=(", "--panels=x",
		"--json --benchfmt"} {
		if text, err = run(3, strings.Fields(flags)...); err == nil || text != "" {
			t.Errorf("%s: %v, %q", flags, err, text)
		}
	}
}

// TestReproducible: what is measured on this machine is left out.
func TestReproducible(t *testing.T) {
	e := newFake("A", "a", 1)
	e.Reproducible = true
	e.Views[0].Columns = append(e.Views[0].Columns,
		view.Column{Unit: "u", Head: "here", Here: true})
	run := func(args ...string) (string, error) { return execute(Command(e), args) }
	text, err := run()
	if err != nil || !strings.Contains(text, "here") || !strings.Contains(text, " cores") {
		t.Errorf("with all: %q, %v", text, err)
	}
	text, err = run("--reproducible")
	if err != nil || strings.Contains(text, "here") || strings.Contains(text, " cores") ||
		!strings.Contains(text, "3.000") {
		t.Errorf("without what is measured here: %q, %v", text, err)
	}
	if text, err = run("--reproducible", "--json"); err == nil || text != "" {
		t.Errorf("as JSON: %q, %v", text, err)
	}
}
