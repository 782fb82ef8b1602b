package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// startProcesses matches the folders of packages whose tests start processes: ranks, commands and
// launchers, which can fail because of what is outside of the test.
var startProcesses = regexp.MustCompile(`/(bind|cmd|eval|internal/system/launch` +
	`|internal/testkit/(named|torture|twohosts|netns)|rma/(file|mpi|shm|ucx)` +
	`|rma/internal/(neighbours|tree))(/|$)`)

// tryAgain runs tests that start processes and failed once more, alone. It returns the names of
// those that pass then, and takes them out of the outcomes.
func tryAgain(stages []*stage) (passed []string) {
	for _, s := range stages {
		for i := range s.outcomes {
			o := &s.outcomes[i]
			if !o.Again {
				continue
			}
			fmt.Printf("stages: %s of %s failed:\n%s", shown(o.Dir), s.name, o.Output)
			o.Failed = slices.DeleteFunc(o.Failed, func(test string) bool {
				fmt.Printf("stages: once more: %s %s %s\n", s.name, shown(o.Dir), test)
				again := o.passes(test)
				if again {
					passed = append(passed, s.name+" "+shown(o.Dir)+" "+test)
				}
				return again
			})
			if len(o.Failed) == 0 {
				o.ExitCode = 0
			}
		}
	}
	return passed
}

// passes runs a test of the kept binary.
func (o *outcome) passes(test string) bool {
	args := slices.DeleteFunc(slices.Clone(o.Args), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.run=") || strings.HasPrefix(arg, "-test.timeout=")
	})
	args = append(args, "-test.v", "-test.timeout=6m", "-test.run=^"+test+"$")
	cmd := exec.Command(o.Binary, args...)
	cmd.Dir, cmd.Env = o.Dir, o.Env
	out, err := cmd.CombinedOutput()
	os.Stdout.Write(out)
	return err == nil && strings.Contains(string(out), "--- PASS: "+test+" ")
}

// shown is a folder as it appears in the report: below the working folder.
func shown(dir string) string {
	here, err := os.Getwd()
	if err != nil {
		return dir
	}
	below, err := filepath.Rel(here, dir)
	if err != nil {
		return dir
	}
	return "./" + below
}
