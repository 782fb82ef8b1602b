package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A mutant is a wrong version of some lines of a package.
type mutant struct {
	name  string // with the package in front
	dir   string // of the package
	test  string // must fail
	args  []string
	tags  string
	hunks []hunk
	line  int // where it is in its file
}

// A hunk has lines of one function, or of one file, and what replaces them.
type hunk struct {
	file     string
	function string // "Type.Method", or empty for the whole file
	old, new []string
}

// static reports whether the mutant has to be compiled by itself.
func (m *mutant) static() bool {
	for _, h := range m.hunks {
		if h.function == "" {
			return true
		}
	}
	return false
}

// readMutants reads the mutants of the package in dir; there may be none.
func readMutants(dir string) ([]*mutant, error) {
	path := filepath.Join(dir, "testdata", "mutants.txt")
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*mutant
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if err := addLine(&all, dir, n, lines.Text()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	names := map[string]bool{}
	for _, m := range all {
		if m.test == "" || len(m.hunks) == 0 || names[m.name] {
			return nil, fmt.Errorf("%s:%d: mutant %q has no test, changes nothing, or has the "+
				"name of another", path, m.line, m.name)
		}
		names[m.name] = true
	}
	return all, lines.Err()
}

// addLine adds line n of the file of mutants.
func addLine(all *[]*mutant, dir string, n int, line string) error {
	if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" && line != " " {
		return nil
	}
	key, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if key == "mutant" {
		name := filepath.Base(dir) + ": " + value
		*all = append(*all, &mutant{name: name, dir: dir, line: n})
		return nil
	}
	if len(*all) == 0 {
		return fmt.Errorf("%q stands before the first mutant", line)
	}
	m := (*all)[len(*all)-1]
	switch key {
	case "test":
		m.test = value
	case "args":
		m.args = strings.Fields(value)
	case "tags":
		m.tags = value
	case "func":
		file, function, _ := strings.Cut(value, " ")
		if function == "" {
			return fmt.Errorf("%q names a file and a function, separated by a space", line)
		}
		m.hunks = append(m.hunks, hunk{file: file, function: function})
	case "file":
		m.hunks = append(m.hunks, hunk{file: value})
	default:
		return m.addChange(line)
	}
	return nil
}

// addChange adds a line of a hunk.
func (m *mutant) addChange(line string) error {
	if len(m.hunks) == 0 || !strings.ContainsAny(line[:1], " -+") {
		return fmt.Errorf("%q is no line of a mutant: see the documentation of overlay", line)
	}
	h := &m.hunks[len(m.hunks)-1]
	if line[0] != '+' {
		h.old = append(h.old, line[1:])
	}
	if line[0] != '-' {
		h.new = append(h.new, line[1:])
	}
	return nil
}

// apply replaces the old lines of the hunk, which text has exactly once.
func (h *hunk) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	at, times := 0, 0
	for i := range lines {
		if h.matches(lines[i:]) {
			at = i
			times++
		}
	}
	if len(h.old) == 0 || times != 1 {
		return "", fmt.Errorf("%s %s: the old lines stand there %d times:\n\t%s", h.file,
			h.function, times, strings.Join(h.old, "\n\t"))
	}
	changed := append([]string{}, lines[:at]...)
	changed = append(changed, h.new...)
	return strings.Join(append(changed, lines[at+len(h.old):]...), "\n"), nil
}

// matches reports whether lines begin with the old lines.
func (h *hunk) matches(lines []string) bool {
	if len(h.old) > len(lines) {
		return false
	}
	for i, old := range h.old {
		if strings.TrimSpace(old) != strings.TrimSpace(lines[i]) {
			return false
		}
	}
	return true
}
