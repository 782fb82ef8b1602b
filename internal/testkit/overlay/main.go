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
		flags := flag.NewFlagSet("overlay -mutants", flag.ExitOnError)
		only := flags.String("only", "", "run the mutants whose names match `regexp`")
		flags.BoolVar(&verbose, "v", false, "print what the tests print")
		_ = flags.Parse(args[1:]) // exits
		return noticeAll(root, folder, *only, flags.Args())
	}
	files, err := overlayOf(root, folder, nil)
	if err != nil {
		return err
	}
	return command("go", append([]string{"test", "-vet=off", "-overlay", files}, args...)...).Run()
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
	paths, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		return err
	}
	if err := checkHunks(dir, mutants); err != nil {
		return err
	}
	s := switches{marks: map[string]string{}, mutants: map[string]string{}}
	name := ""
	for _, path := range paths {
		changesIt := func(m *mutant) bool {
			return slices.ContainsFunc(m.hunks, func(h hunk) bool {
				return h.file == filepath.Base(path)
			})
		}
		isGo := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if !isGo && !slices.ContainsFunc(mutants, changesIt) {
			continue
		}
		original, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := s.changed(source{path, string(original)}, isGo, mutants, static)
		if err != nil {
			return err
		}
		if text == string(original) {
			continue
		}
		if err := write(path, text); err != nil {
			return err
		}
		if isGo {
			name = packageName(text)
		}
	}
	if len(s.marks)+len(s.mutants) == 0 {
		return nil
	}
	return write(filepath.Join(dir, "overlay_variables.go"), s.declarations(name))
}

// changed is the text of a source with marks, mutants and the one static mutant.
func (s *switches) changed(src source, isGo bool, mutants []*mutant, static *mutant) (
	text string, err error) {
	original := src.text
	for _, m := range mutants {
		if !m.static() {
			continue
		}
		with := original
		for _, h := range m.hunks {
			if h.file == filepath.Base(src.path) {
				if with, err = h.apply(with); err != nil {
					return "", fmt.Errorf("mutant %q: %w", m.name, err)
				}
			}
		}
		if static != nil && m.name == static.name {
			src.text = with
		}
	}
	if !isGo {
		return src.text, nil
	}
	switched := slices.DeleteFunc(slices.Clone(mutants), (*mutant).static)
	if text, err = s.withMutants(src, switched); err != nil {
		return "", err
	}
	return s.withMarks(filepath.Base(filepath.Dir(src.path)), text), nil
}

// checkHunks reports hunks of files and functions that there are not.
func checkHunks(dir string, mutants []*mutant) error {
	var failed []error
	for _, m := range mutants {
		for _, h := range m.hunks {
			text, err := os.ReadFile(filepath.Join(dir, h.file))
			if err == nil && h.function != "" && !hasFunction(string(text), h.function) {
				err = fmt.Errorf("%s has no function %s", h.file, h.function)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("mutant %q: %w", m.name, err))
			}
		}
	}
	return errors.Join(failed...)
}
