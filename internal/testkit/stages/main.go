package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "exec" {
		os.Exit(execTest(os.Args[2:]))
	}
	beside := flag.Int("beside", 1, "run that many stages at a time")
	limit := flag.Duration("limit", 30*time.Minute, "end a stage after that time")
	flag.Parse()
	if err := run(flag.Args(), *beside, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "stages:", err)
		os.Exit(1)
	}
}

// run runs the stages of these names and prints the report.
func run(names []string, beside int, limit time.Duration) error {
	if len(names) == 0 {
		return errors.New("name targets of make")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "stages")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(logs, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)

	begin := time.Now()
	all := make([]*stage, len(names))
	turns := make(chan struct{}, beside)
	var running sync.WaitGroup
	for i, name := range names {
		all[i] = &stage{name: name, folder: filepath.Join(folder, fmt.Sprint(i))}
		turns <- struct{}{}
		if len(interrupts) > 0 {
			all[i].err = errors.New("not begun")
			<-turns
			continue
		}
		fmt.Printf("stage %s: its output goes to %s/%s.log\n", name, logs, name)
		running.Go(func() {
			all[i].run(self, limit, beside > 1)
			<-turns
		})
	}
	running.Wait()
	r := report{stages: all, wall: time.Since(begin)}
	if len(interrupts) == 0 {
		r.again = tryAgain(all)
	}
	r.print(os.Stdout)
	if n := r.failures(); n > 0 {
		return fmt.Errorf("%d failures", n)
	}
	return nil
}
