package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// verbose has the output of each test printed.
var verbose bool

// maxTestTime ends a test that a mutant has made endless. It decides nothing: such a test has
// noticed nothing.
const maxTestTime = 10 * time.Minute

// noticeAll runs the test of each mutant of the packages, and fails for those that it passes.
func noticeAll(root, folder, only string, patterns []string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	list := exec.Command("go", append([]string{"list", "-e", "-f", "{{.Dir}}"}, patterns...)...)
	list.Stderr = os.Stderr
	dirs, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	overlay, err := overlayOf(root, folder, nil)
	if err != nil {
		return err
	}
	var failed []error
	count := 0
	for dir := range strings.FieldsSeq(string(dirs)) {
		mutants, err := readMutants(dir)
		if err != nil {
			return err
		}
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool {
			return !wanted.MatchString(m.name)
		})
		count += len(mutants)
		failed = append(failed, noticePackage(root, folder, overlay, mutants)...)
	}
	fmt.Printf("%d mutants, %d faults\n", count, len(failed))
	if count == 0 {
		return errors.New("no mutants there")
	}
	return errors.Join(failed...)
}

// noticePackage runs the tests of the mutants of a package.
func noticePackage(root, folder, overlay string, mutants []*mutant) (failed []error) {
	binaries := map[string]string{} // of tests, by tags
	for _, m := range mutants {
		if binaries[m.tags] != "" {
			continue
		}
		binary, err := compile(folder, overlay, m)
		if err != nil {
			return []error{err}
		}
		binaries[m.tags] = binary
		if err := passes(binary, mutants, m.tags); err != nil {
			return []error{err}
		}
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range mutants {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			start := time.Now()
			err := notice(root, folder, binaries[m.tags], m)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("mutant %q: %w", m.name, err))
			}
			fmt.Printf("%-8.1f %-5v %s\n", time.Since(start).Seconds(), err == nil, m.name)
		})
	}
	running.Wait()
	return failed
}

// compile makes the test binary of the package of m.
func compile(folder, overlay string, m *mutant) (string, error) {
	f, err := os.CreateTemp(folder, filepath.Base(m.dir)+"*.test")
	if err != nil {
		return "", err
	}
	f.Close()
	tags := strings.TrimSpace("invariants " + m.tags)
	cmd := command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-tags", tags,
		"-o", f.Name())
	cmd.Dir = m.dir
	if m.tags != "" {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the tests of %s with mutant %q do not compile: %w", m.dir, m.name,
			err)
	}
	return f.Name(), nil
}

// passes runs the tests without a mutant: what fails then would notice nothing.
func passes(binary string, mutants []*mutant, tags string) error {
	done := map[string]bool{}
	for _, m := range mutants {
		key := m.test + strings.Join(m.args, " ")
		if m.tags != tags || done[key] {
			continue
		}
		done[key] = true
		out, err := execute(binary, m, "")
		if err == nil && !ranTest(out) {
			err = errors.New("no test runs")
		}
		if err != nil {
			return fmt.Errorf("%s of %s without a mutant: %w\n%s", m.test, m.dir, err, out)
		}
	}
	return nil
}

// ranTest reports whether a test has run, and was not skipped.
func ranTest(out []byte) bool {
	return bytes.Contains(out, []byte("--- PASS"))
}

// execute runs the test of m while the mutant of that name is on.
func execute(binary string, m *mutant, name string) ([]byte, error) {
	args := append([]string{"-test.v", "-test.run", testPattern(m.test),
		"-test.timeout", maxTestTime.String()}, m.args...)
	cmd := exec.Command(binary, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), variableName+"="+name)
	return cmd.CombinedOutput()
}

// testPattern has -run match whole names.
func testPattern(test string) string {
	levels := strings.Split(test, "/")
	for i, level := range levels {
		levels[i] = "^(" + level + ")$"
	}
	return strings.Join(levels, "/")
}

// notice runs the test of m with it in place. The test has to fail.
func notice(root, folder, binary string, m *mutant) error {
	if m.static() {
		own, err := os.MkdirTemp(folder, "static")
		if err != nil {
			return err
		}
		overlay, err := overlayOf(root, own, m)
		if err != nil {
			return err
		}
		if binary, err = compile(own, overlay, m); err != nil {
			return err
		}
	}
	out, err := execute(binary, m, m.name)
	if verbose {
		fmt.Printf("%s\n%s\n", m.name, out)
	}
	switch {
	case err == nil:
		return fmt.Errorf("%s notices nothing", m.test)
	case bytes.Contains(out, []byte("panic: test timed out")):
		return fmt.Errorf("%s does not end", m.test)
	}
	return nil
}
