package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A report is the last lines of a run.
type report struct {
	stages []*stage
	wall   time.Duration
	again  []string // tests that failed and passed when they ran alone
}

// shownMost is how many of the slowest packages and mutants a report lists.
const shownMost = 15

// A cost is the time of a test binary or a mutant.
type cost struct {
	wallS, cpuS float64
	name        string
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\npackages and mutants that took most\n%10s %8s\n", "wall s", "CPU s")
	costs := r.costs()
	for _, c := range costs[:min(shownMost, len(costs))] {
		fmt.Fprintf(w, "%10.1f %8.1f  %s\n", c.wallS, c.cpuS, c.name)
	}
	fmt.Fprintf(w, "\nstages\n%10s %8s\n", "wall s", "CPU s")
	var cpu time.Duration
	for _, s := range r.stages {
		cpu += s.cpu
		fmt.Fprintf(w, "%10.1f %8.1f  %-6s %s\n", s.wall.Seconds(), s.cpu.Seconds(), s.verdict(),
			s.name)
	}
	fmt.Fprintf(w, "%10.1f %8.1f         all\n", r.wall.Seconds(), cpu.Seconds())
	for _, name := range r.again {
		fmt.Fprintf(w, "FLAKY  %s failed once, and passed alone\n", name)
	}
	passed, failed := 0, 0
	for _, s := range r.stages {
		for _, o := range s.outcomes {
			if o.ExitCode == 0 {
				passed++
				continue
			}
			failed++
			fmt.Fprintf(w, "FAILED %s %s %s%s\n", s.name, shown(o.Dir),
				strings.Join(o.Failed, " "), o.remark())
		}
		for _, line := range s.faults() {
			failed++
			fmt.Fprintf(w, "FAILED %s %s\n", s.name, line)
		}
	}
	fmt.Fprintf(w, "packages: %d passed, %d failed\n", passed, failed)
}

// remark says how tests failed that have not simply failed.
func (o *outcome) remark() string {
	switch {
	case o.Hung:
		return " (did not end)"
	case o.Race:
		return " (data race)"
	case len(o.Failed) == 0:
		return fmt.Sprintf(" (exit code %d)", o.ExitCode)
	}
	return ""
}

// failures is how much of the run failed.
func (r *report) failures() (n int) {
	for _, s := range r.stages {
		if s.verdict() != "ok" {
			n++
		}
	}
	return n
}

// verdict is "ok", or "FAILED".
func (s *stage) verdict() string {
	failed := slices.ContainsFunc(s.outcomes, func(o outcome) bool { return o.ExitCode != 0 })
	if failed || s.err != nil {
		return "FAILED"
	}
	return "ok"
}

var (
	// faultLine matches a line about a failure that is not one of a test binary: a mutant, a
	// package that does not compile, a page of documentation.
	faultLine = regexp.MustCompile(`^(overlay: )?(mutant "|FAIL {2}|FAIL\t\S+ \[|the tests of |` +
		`\S+ of \S+ (fails without|does not run))`)
	makeLine = regexp.MustCompile(`^make(\[\d+\])?: \*\*\* `)
	// mutantLine is how overlay prints the time of a mutant.
	mutantLine = regexp.MustCompile(`^ *([\d.]+) s +([\d.]+) s CPU +(?:true|false) +(.*)`)
)

// faults are the lines that say what failed besides test binaries.
func (s *stage) faults() (lines []string) {
	if s.err == nil {
		return nil
	}
	for line := range strings.Lines(s.output) {
		if faultLine.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	ofTests := slices.ContainsFunc(s.outcomes, func(o outcome) bool {
		return o.ExitCode != 0 && !o.Again
	})
	if len(lines) == 0 && !ofTests {
		lines = append(lines, s.err.Error()+": "+lastLines(s.output))
	}
	return lines
}

// lastLines are the last lines of an output before make says that a target failed.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return makeLine.MatchString(line) })
	return strings.Join(lines[max(0, len(lines)-5):], "\n       ")
}

// costs are the times of test binaries and mutants, the highest first.
func (r *report) costs() (all []cost) {
	for _, s := range r.stages {
		for _, o := range s.outcomes {
			all = append(all, cost{o.WallS, o.CPUS, s.name + " " + shown(o.Dir)})
		}
		for line := range strings.Lines(s.output) {
			if m := mutantLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				wallS, _ := strconv.ParseFloat(m[1], 64)
				cpuS, _ := strconv.ParseFloat(m[2], 64)
				all = append(all, cost{wallS, cpuS, "mutant " + m[3]})
			}
		}
	}
	slices.SortFunc(all, func(a, b cost) int {
		return int(1000 * (max(b.cpuS, b.wallS) - max(a.cpuS, a.wallS)))
	})
	return all
}
