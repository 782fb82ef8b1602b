//go:build clib

package main

import (
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// reactive builds examples/reactive by its Makefile, or skips the test.
func (k kind) reactive(t *testing.T) string {
	t.Helper()
	need(t, "make", "mpicc."+k.name)
	if err := exec.Command("pkg-config", "--exists", "cairo").Run(); err != nil {
		t.Skip("pkg-config knows no cairo (libcairo2-dev)")
	}
	if err := exec.Command("gcc", "-include", "cvode/cvode.h", "-E", "-x", "c",
		os.DevNull).Run(); err != nil {
		t.Skip("there is no cvode/cvode.h (libsundials-dev)")
	}
	k.install(t)
	dir := t.TempDir()
	run(t, []string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"}, "make", "-s", "-C",
		"../../examples/reactive", "MPI="+k.name, "BUILD="+dir, "CFLAGS=-O2 -Werror")
	return filepath.Join(dir, "reactive")
}

// reactiveRun is a line of the table that the example prints.
type reactiveRun struct {
	computed, hits, alike, imbalance float64
	checksum                         string
}

var reactiveLine = regexp.MustCompile(`(?m)^(no cache| +\d+) +(\d+) +(\S+)(?: %)? +(\S+)(?: %)? ` +
	`.* (\S+e[-+]\d+) +([0-9a-f]{16})$`)

// reactiveTable reads the table: by digits, or "no cache".
func reactiveTable(t *testing.T, out string) map[string]reactiveRun {
	t.Helper()
	table := map[string]reactiveRun{}
	for _, m := range reactiveLine.FindAllStringSubmatch(out, -1) {
		number := func(text string) float64 {
			if text == "-" {
				return 0
			}
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%q in %q", text, m[0])
			}
			return x
		}
		table[strings.TrimSpace(m[1])] = reactiveRun{number(m[2]), number(m[3]), number(m[4]),
			number(m[5]), m[6]}
	}
	return table
}

// reactiveErrors reads the largest error of any species, for each run with the cache.
func reactiveErrors(t *testing.T, out string, runs int) []float64 {
	t.Helper()
	_, errorsOf, found := strings.Cut(out, "largest     mean \n")
	lines := strings.Split(strings.TrimSpace(errorsOf), "\n")
	if !found || len(lines) != 9 {
		t.Fatalf("no errors of 9 species in %q", out)
	}
	worst := make([]float64, runs)
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) != 1+2*runs {
			t.Fatalf("%q has not two errors of %d runs", line, runs)
		}
		for r := range runs {
			x, err := strconv.ParseFloat(fields[1+2*r], 64)
			if err != nil {
				t.Fatal(err)
			}
			worst[r] = max(worst[r], x)
		}
	}
	return worst
}

// The reactive transport computes a part of the chemistry with the cache, and comes to nearly the
// same, with every element conserved. Rounded runs have the same bits under any MPI, with any
// number of ranks and with a cache that forgets.
func TestReactive(t *testing.T) {
	const cells, steps = 30 * 24, 16
	var before map[string]reactiveRun
	mpis(t, func(t *testing.T, k kind) {
		program := k.reactive(t)
		picture := filepath.Join(t.TempDir(), "fields.png")
		args := []string{"--grid", "30x24", "--steps", fmt.Sprint(steps), "--digits", "4,6"}
		out := k.ranks(t, 2, nil, program, append(args, "--compare", "--picture", picture)...)
		table := reactiveTable(t, out)
		if exact := table["no cache"]; len(table) != 3 || exact.computed != cells*steps {
			t.Fatalf("no run of %d times chemistry in %q", cells*steps, out)
		}
		for name, r := range table {
			if !(r.imbalance < 1e-12) {
				t.Errorf("%s: elements are conserved to %g only", name, r.imbalance)
			}
		}
		for _, digits := range []string{"4", "6"} {
			r := table[digits]
			if r.hits < 20 || r.hits+r.alike < 60 || r.computed > .4*cells*steps {
				t.Errorf("%s digits: %+v", digits, r)
			}
		}
		if worst := reactiveErrors(t, out, 2); !(worst[0] < 3e-2 && worst[1] < 3e-4) {
			t.Errorf("errors of 4 and of 6 digits are %g\n%s", worst, out)
		}
		checkFields(t, picture)

		out = k.ranks(t, 1, nil, program, append(args, "--buckets", "300")...)
		again := reactiveTable(t, out)
		if len(again) != 2 || strings.Count(out, "results were lost") != 2 {
			t.Errorf("a small cache forgets nothing:\n%s", out)
		}
		for _, other := range []map[string]reactiveRun{again, before} {
			for name, r := range other {
				if r.checksum != table[name].checksum {
					t.Errorf("%s digits: fields differ by ranks, buckets or MPI", name)
				}
			}
		}
		before = table
		reactiveRefuses(t, k, program)
	})
}

// checkFields claims that a picture shows more than one colour.
func checkFields(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[any]bool{}
	for x := range img.Bounds().Dx() {
		colours[img.At(x, img.Bounds().Dy()/4)] = true
	}
	if len(colours) < 10 {
		t.Errorf("the picture has %d colours in a line", len(colours))
	}
}

// reactiveRefuses claims that wrong arguments are reported, with exit code 2.
func reactiveRefuses(t *testing.T, k kind, program string) {
	t.Helper()
	for _, args := range []string{"--digits 3,,4", "--grid 5", "--picture /no/such.png"} {
		launch := append(strings.Fields(k.mpirun), "-n", "1", program)
		cmd := exec.Command(launch[0], append(launch[1:], strings.Fields(args)...)...)
		cmd.Env = append(os.Environ(), k.env...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 ||
			!strings.Contains(string(out), "reactive: "+strings.Fields(args)[0]) {
			t.Errorf("reactive %s: %v\n%s", args, err, out)
		}
	}
}
