package main

import (
	_ "embed"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The mutants of the repository fit their sources, and these parse with them.
func TestRepository(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if _, err := overlayOf(root, folder, nil); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	for _, path := range sources {
		if _, err := parser.ParseFile(token.NewFileSet(), path, nil, 0); err != nil {
			t.Error(err)
		}
	}
}

const original = `package p

func plain(a int, _ string) int {
	if a > 1 { // mark: is large
		return a
	}
	return 0
}

//go:noinline
func (r *ring[T]) put(int, ...T) {
	r.n++
}

func of[K comparable, V any](k K, v V) (V, error) { return v, nil }
`

const records = `# Comment.
mutant: is smaller
func: p.go plain
test: TestPlain
-	if a > 1 { // mark: is large
+	if a > 2 { // mark: is large

mutant: counts twice
func: p.go ring.put
test: TestPut
args: -schedules 3
 	r.n++
+	r.n++

mutant: has an error
func: p.go of
test: TestOf
-func of[K comparable, V any](k K, v V) (V, error) { return v, nil }
+func of[K comparable, V any](k K, v V) (V, error) { return v, errors.New("") }
`

//go:embed testdata/overlaid.txt
var overlaid string

// folderOf is a package p with a file and mutants.
func folderOf(t *testing.T, source, records string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.MkdirAll(filepath.Join(dir, "testdata"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"p.go": source, "testdata/mutants.txt": records} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSources(t *testing.T) {
	dir := folderOf(t, original, records)
	written := map[string]string{}
	err := overlayPackage(dir, nil, func(path, text string) error {
		written[filepath.Base(path)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if written["p.go"] != overlaid {
		t.Errorf("got\n%s", written["p.go"])
	}
	want := []string{`var overlayMark0 = mark.New("p: is large")`,
		`var overlayMutant1 = os.Getenv("OVERLAY_MUTANT") == "p: counts twice"`}
	for _, line := range want {
		if !strings.Contains(written["overlay_variables.go"], line) {
			t.Errorf("%s is missing in\n%s", line, written["overlay_variables.go"])
		}
	}
}

// A mutant of a file is in place only where it is asked for.
func TestStatic(t *testing.T) {
	const source = "package p\n\nconst n = 1\n"
	dir := folderOf(t, source, "mutant: n\nfile: p.go\ntest: TestN\n-const n = 1\n+const n = 2\n")
	mutants, err := readMutants(dir)
	if err != nil || len(mutants) != 1 || !mutants[0].static() {
		t.Fatal(mutants, err)
	}
	for _, static := range []*mutant{nil, mutants[0]} {
		got := source
		err := overlayPackage(dir, static, func(_, text string) error {
			got = text
			return nil
		})
		if err != nil || strings.Contains(got, "n = 2") != (static != nil) {
			t.Errorf("%v: %q, %v", static, got, err)
		}
	}
}

func TestWrongMutants(t *testing.T) {
	for _, c := range []struct{ records, want string }{
		{"func: p.go plain\n", "before the first mutant"},
		{"mutant: a\ntest: TestA\n", "changes nothing"},
		{"mutant: a\nfunc: p.go plain\n-	return 0\n", "has no test"},
		{"mutant: a\nfunc: p.go\n", "names a file and a function"},
		{"mutant: a\ntest: T\nfunc: p.go plain\n-	return 1\n", "0 times"},
		{"mutant: a\ntest: T\nfunc: p.go plain\n 	}\n", ""},
		{"mutant: a\ntest: T\nfunc: p.go plain\n-	return a\nwrong\n", "no line of a mutant"},
		{"mutant: a\ntest: T\nfunc: p.go missing\n-	return a\n", "no function missing"},
		{"mutant: a\ntest: T\nfunc: q.go plain\n-	return a\n", "q.go"},
		{"mutant: a\ntest: T\nfile: p.go\n-}\n", "3 times"},
	} {
		dir := folderOf(t, original, c.records)
		err := overlayPackage(dir, nil, func(_, _ string) error { return nil })
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.records, err, c.want)
		}
	}
}
