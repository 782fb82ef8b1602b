package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overlaidFiles are the files that overlayPackage writes for a package p with these files.
func overlaidFiles(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	dir := folderOf(t, "package p\n", "")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written := map[string]string{}
	err := overlayPackage(dir, nil, func(path, text string) error {
		written[filepath.Base(path)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// Each mutant of a file in assembly is a copy of the file, which Go calls while the mutant is on.
func TestAssembly(t *testing.T) {
	written := overlaidFiles(t, map[string]string{
		"k_amd64.s": "TEXT ·sum(SB), NOSPLIT, $0-24\n\tADDQ AX, BX\n\tRET\n",
		"k_amd64.go": "package p\n\n// Sum.\n//\n//go:noescape\nfunc sum(a []int) int\n\n" +
			"func other()\n",
		"testdata/mutants.txt": "mutant: subtracts\nfile: k_amd64.s\ntest: TestSum\n" +
			"-\tADDQ AX, BX\n+\tSUBQ AX, BX\n",
	})
	for name, want := range map[string]string{
		"k_amd64.s": "TEXT ·sumOverlayRight(SB), NOSPLIT, $0-24\n\tADDQ AX, BX\n\tRET\n",
		"k_overlayMutant0_amd64.s": "TEXT ·sumoverlayMutant0(SB), NOSPLIT, $0-24\n" +
			"\tSUBQ AX, BX\n\tRET\n",
		"k_amd64.go": "package p\n\n// Sum.\n//\n\n" +
			"func sum(a []int) int { if overlayMutant0 { return sumoverlayMutant0(a) };" +
			" return sumOverlayRight(a) }\n\nfunc other()\n" +
			"\n//go:noescape\nfunc sumoverlayMutant0(a []int) int\n" +
			"\n//go:noescape\nfunc sumOverlayRight(a []int) int\n",
	} {
		if written[name] != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, written[name], want)
		}
	}
	if !strings.Contains(written["overlay_variables.go"], `== "p: subtracts"`) {
		t.Errorf("the variables are\n%s", written["overlay_variables.go"])
	}
}

// Each mutant of a function in C is a copy of the function, which the function calls.
func TestC(t *testing.T) {
	written := overlaidFiles(t, map[string]string{
		"a.c": "// Adds.\nint add(int a, int (*f)(int, int),\n\tconst int b[2]) {\n" +
			"\treturn a + b[0];\n}\n\nstatic void none(void) { add(1); }\n",
		"testdata/mutants.txt": "mutant: subtracts\nfunc: a.c add\ntest: TestAdd\n" +
			"-\treturn a + b[0];\n+\treturn a - b[0];\n" +
			"\nmutant: adds two\nfunc: a.c none\ntest: TestAdd\n" +
			"-static void none(void) { add(1); }\n+static void none(void) { add(2); }\n",
	})
	want := "// Adds.\n" + inC + "static int add_overlay0(int a, int (*f)(int, int),\n" +
		"\tconst int b[2]) {\n\treturn a - b[0];\n}\n" +
		"int add(int a, int (*f)(int, int),\n\tconst int b[2]) {" +
		" if (overlay_mutant(\"p: subtracts\")) return add_overlay0(a, f, b);\n" +
		"\treturn a + b[0];\n}\n\nstatic void none_overlay1(void) { add(2); }\n" +
		"static void none(void) { if (overlay_mutant(\"p: adds two\"))" +
		" { none_overlay1(); return; }; add(1); }\n"
	if written["a.c"] != want {
		t.Errorf("got\n%s\nwant\n%s", written["a.c"], want)
	}
}

// A seed is written below the test of its mutant, and replaces the one that was there.
func TestRecordSeeds(t *testing.T) {
	const records = "mutant: a\ntest: TestA\nseed: 1\n-a\n+b\n\nmutant: b\ntest: TestB\n-a\n+c\n"
	dir := folderOf(t, "package p\n", records)
	err := recordSeeds([]*mutant{{name: "p: a", dir: dir, seed: "7"}, {name: "p: b", dir: dir}})
	text, _ := os.ReadFile(filepath.Join(dir, "testdata", "mutants.txt"))
	want := strings.Replace(records, "seed: 1", "seed: 7", 1)
	if err != nil || string(text) != want {
		t.Errorf("%v, got\n%s", err, text)
	}
}

func TestSeedIn(t *testing.T) {
	for out, want := range map[string]string{
		"See it again: go test -v ./set -run '^TestLab$' -seed 857": "857", "--- FAIL": "",
	} {
		if got := seedIn([]byte(out)); got != want {
			t.Errorf("%q: seed %q, want %q", out, got, want)
		}
	}
}

func TestFewSeeds(t *testing.T) {
	got := fewSeeds([]string{"-seeds", "5000", "-test.short", "-test.count=60"})
	if len(got) != 1 || got[0] != "-test.short" {
		t.Errorf("%q", got)
	}
}
