package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is a wrong version of some lines of a package.
type mutant struct {
	name  string // with the package in front
	dir   string // of the package
	test  string // must fail
	args  []string
	seed  string // of the schedule that noticed the mutant last, or empty
	tags  string
	alone bool // it is compiled by itself
	hunks []hunk
	line  int // where it is in its file
}

// A hunk has lines of one function, or of one file, and what replaces them.
type hunk struct {
	file     string
	function string // "Type.Method", or empty for the whole file
	old, new []string
}

// static reports whether the mutant has to be compiled by itself: it says so, or it changes a file
// that is not in assembly, outside functions.
func (m *mutant) static() bool {
	return m.alone || slices.ContainsFunc(m.hunks, func(h hunk) bool {
		return h.function == "" && filepath.Ext(h.file) != ".s"
	})
}

// changes reports whether the mutant changes a file.
func (m *mutant) changes(file string) bool {
	return slices.ContainsFunc(m.hunks, func(h hunk) bool { return h.file == file })
}

// applied is the text of a file after those hunks of the mutant that are for the file as a whole.
func (m *mutant) applied(file, text string) (string, error) {
	for _, h := range m.hunks {
		if h.file == file && h.function == "" {
			var err error
			if text, err = h.apply(text); err != nil {
				return "", fmt.Errorf("mutant %q: %w", m.name, err)
			}
		}
	}
	return text, nil
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
	case "seed":
		m.seed = value
	case "tags":
		m.tags = value
	case "build":
		if m.alone = value == "alone"; !m.alone {
			return fmt.Errorf("%q, want build: alone", line)
		}
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

// recordSeeds writes the seeds of mutants, of one package, into their file.
func recordSeeds(mutants []*mutant) error {
	path := filepath.Join(mutants[0].dir, "testdata", "mutants.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	seeds := map[string]string{}
	for _, m := range mutants {
		seeds[m.name] = m.seed
	}
	var lines []string
	seed := ""
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if key == "mutant" {
			name := filepath.Base(mutants[0].dir) + ": " + strings.TrimSpace(value)
			seed = seeds[name]
		}
		if key == "seed" && seed != "" {
			continue
		}
		lines = append(lines, line)
		if key == "test" && seed != "" {
			lines = append(lines, "seed: "+seed+"\n")
		}
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666)
}
