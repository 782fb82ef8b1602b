package lab

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"testing"
	"time"
)

var soakFlag = flag.Duration("soak", 0, "how long a soak of the lab takes")

// SoakFor is what the flag -soak says: 0 where there is to be no soak.
func SoakFor() time.Duration { return *soakFlag }

// ReplaySeed is what the flag -seed says: 0 where nothing is to be replayed.
func ReplaySeed() uint64 { return flagValue("seed") }

// flagValue is the value of a flag of package replay.
func flagValue(name string) uint64 {
	return flag.Lookup(name).Value.(flag.Getter).Get().(uint64)
}

const (
	// reportEvery is how often a soak says how far it is.
	reportEvery = time.Minute
	// turn is how many schedules of a table a soak runs before it turns to the next.
	turn = 2000
)

// Soak runs schedules of the tables in turn for as long as the flag -soak says, with seeds
// that no soak before is likely to have had. It prints what they came to every
// minute, at the end and when it is interrupted, and fails the test with the first
// that fails. With -seed it runs the schedule of that seed for each table and shows it. With
// neither flag it skips the test.
func Soak(tb testing.TB, tables ...*Table) {
	tb.Helper()
	if seed := ReplaySeed(); seed != 0 {
		for _, t := range tables {
			t.replay(tb, seed)
		}
		return
	}
	if *soakFlag == 0 {
		tb.Skip("-soak says for how long, as in make soak SOAK=1h")
	}
	err := soak(os.Stdout, *soakFlag, tables)
	if err != nil {
		tb.Fatal(err, replayCommand(tb, err))
	}
}

func soak(w io.Writer, long time.Duration, tables []*Table) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	start := time.Now()
	reported := start
	summaries := make([]Summary, len(tables))
	report := func() {
		reported = time.Now()
		fmt.Fprintf(w, "after %v:\n", time.Since(start).Round(time.Second))
		for i, t := range tables {
			fmt.Fprintf(w, "%s: %v\n", t.Name, summaries[i])
		}
	}
	defer report()
	over := false
	goOn := func(n uint64) bool { // one goroutine at a time
		select {
		case <-interrupts:
			over = true
		default:
			over = over || time.Since(start) > long
		}
		return !over && n < turn
	}
	for seed := uint64(start.UnixNano()); !over; seed += turn {
		for i, t := range tables {
			summary, err := t.Try(seed, goOn)
			summaries[i].Add(summary)
			if err != nil {
				return err
			}
		}
		if time.Since(reported) > reportEvery {
			report()
		}
	}
	return nil
}
