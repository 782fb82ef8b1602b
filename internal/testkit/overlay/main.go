package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	module = "github.com/farhash/farhash"
	// variableName does not begin with FARHASH_, as tests keep such variables from their ranks.
	variableName = "OVERLAY_MUTANT"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "overlay")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if len(args) > 0 && args[0] == "-mutants" {
		return mutantsCommand(&notice{root: root, folder: folder}, args[1:])
	}
	files, err := overlayOf(root, folder, nil)
	if err != nil {
		return err
	}
	return command("go", append([]string{"test", "-vet=off", "-overlay", files}, args...)...).Run()
}

// mutantsCommand is overlay -mutants.
func mutantsCommand(n *notice, args []string) error {
	flags := flag.NewFlagSet("overlay -mutants", flag.ExitOnError)
	only := flags.String("only", "", "run the mutants whose names match `regexp`")
	since := flags.String("since", "", "run the mutants of packages that differ from `revision` "+
		"and of the packages that these import")
	flags.BoolVar(&n.verbose, "v", false, "print what the tests print")
	flags.BoolVar(&n.record, "record", false, "write seeds that notice mutants into their files")
	_ = flags.Parse(args) // exits
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	dirs, err := list("-f", "{{.Dir}}", flags.Args()...)
	if err != nil {
		return err
	}
	if *since != "" {
		if dirs, err = changedSince(*since, dirs); err != nil {
			return err
		}
	}
	if err := n.all(dirs, wanted); err != nil {
		return err
	}
	if n.count == 0 && *since == "" {
		return errors.New("no mutants there")
	}
	return nil
}

// list is the output of go list, a line each.
func list(flag, value string, patterns ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", flag, value}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// changedSince keeps those of dirs whose package differs from the revision, and the packages that
// these import. It keeps all dirs if git does not know the revision.
func changedSince(revision string, dirs []string) ([]string, error) {
	out, err := exec.Command("git", "diff", "--name-only", "--relative", revision, "--").Output()
	if err != nil {
		fmt.Printf("overlay: git knows no revision %s here: all mutants run\n", revision)
		return dirs, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var changed []string
	for file := range strings.FieldsSeq(string(out)) {
		dir := filepath.Join(here, filepath.Dir(file))
		for filepath.Base(dir) == "testdata" || strings.Contains(dir, "/testdata/") {
			dir = filepath.Dir(dir)
		}
		if slices.Contains(dirs, dir) && !slices.Contains(changed, dir) {
			changed = append(changed, dir)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	imports, err := list("-f", `{{range .Imports}}{{.}}{{"\n"}}{{end}}`, changed...)
	if err != nil {
		return nil, err
	}
	ofImports, err := list("-f", "{{.Dir}}", append(imports, module)...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return !slices.Contains(changed, dir) && !slices.Contains(ofImports, dir)
	}), nil
}

// command is one that prints as this one does.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the module %s: %w; run this in a clone", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// overlayOf writes the changed sources of all packages below root into folder, and the file that go
// test's -overlay takes. Of the mutants that need a compile of their own only static is in place.
func overlayOf(root, folder string, static *mutant) (path string, err error) {
	replace := map[string]string{}
	write := func(path, text string) error {
		name := fmt.Sprintf("%d_%s", len(replace), filepath.Base(path))
		replace[path] = filepath.Join(folder, name)
		return os.WriteFile(replace[path], []byte(text), 0o600)
	}
	var failed []error
	err = filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if skipped(root, dir) {
			return fs.SkipDir
		}
		if err := overlayPackage(dir, static, write); err != nil {
			failed = append(failed, err)
		}
		return nil
	})
	inPlace := filepath.Join(root, "internal", "testkit", "mark", "in_place.go")
	failed = append(failed, err, write(inPlace, "package mark\n\nconst InPlace = true\n"))
	if err := errors.Join(failed...); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// skipped reports whether a folder has no packages with marks or mutants. Those that have the code
// for them show them in comments.
func skipped(root, dir string) bool {
	switch name := filepath.Base(dir); name {
	case "testdata", "bin":
		return true
	case "overlay", "mark":
		return filepath.Base(filepath.Dir(dir)) == "testkit"
	default:
		return dir != root && name[0] == '.'
	}
}

// overlayPackage writes the sources of a package that have marks or mutants.
func overlayPackage(dir string, static *mutant, write func(path, text string) error) error {
	mutants, err := readMutants(dir)
	if err != nil {
		return err
	}
	if err := checkHunks(dir, mutants); err != nil {
		return err
	}
	sources, err := sourcesOf(dir, static, mutants)
	if err != nil {
		return err
	}
	s := newSwitches(mutants)
	if static == nil {
		s.kernels = kernelsOf(sources, mutants)
	}
	name := ""
	for _, src := range sources {
		text := src.text
		switch filepath.Ext(src.path) {
		case ".go":
			text, err = s.withMutants(src)
			text = s.withMarks(filepath.Base(dir), text)
		case ".c":
			text, err = withMutantsInC(src.base(), text, mutants)
		case ".s":
			if k := s.kernels[src.base()]; k != nil {
				err = k.copies(s, dir, text, write)
			}
		}
		if err == nil && text != src.original {
			err = write(src.path, text)
		}
		if err != nil {
			return err
		}
		if filepath.Ext(src.path) == ".go" {
			name = packageName(src.text)
		}
	}
	if len(s.marks)+len(s.used) == 0 {
		return nil
	}
	return write(filepath.Join(dir, "overlay_variables.go"), s.declarations(name))
}

// sourcesOf reads the files of a package that may have marks or mutants, and puts the static
// mutant in place.
func sourcesOf(dir string, static *mutant, mutants []*mutant) ([]source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		return nil, err
	}
	var sources []source
	for _, path := range paths {
		name := filepath.Base(path)
		isGo := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if !isGo && !slices.ContainsFunc(mutants, func(m *mutant) bool { return m.changes(name) }) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		src := source{path: path, original: string(text), text: string(text)}
		for _, m := range mutants {
			with, err := m.applied(name, src.original)
			if err != nil {
				return nil, err
			}
			if static != nil && m.name == static.name {
				src.text = with
			}
		}
		sources = append(sources, src)
	}
	return sources, nil
}

// checkHunks reports hunks of files and functions that there are not.
func checkHunks(dir string, mutants []*mutant) error {
	var failed []error
	for _, m := range mutants {
		for _, h := range m.hunks {
			text, err := os.ReadFile(filepath.Join(dir, h.file))
			if err == nil && h.function != "" && !hasFunction(h.file, string(text), h.function) {
				err = fmt.Errorf("%s has no function %s", h.file, h.function)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("mutant %q: %w", m.name, err))
			}
		}
	}
	return errors.Join(failed...)
}
