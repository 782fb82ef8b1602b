//go:build linux

package named

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
	_ "github.com/farhash/farhash/internal/testkit/replay" // for the flag -seed of package lab
)

func init() {
	for kind, open := range tables {
		programs[kind] = func(w *worker) error { return stream(w, open) }
		programs[kind+"-again"] = func(w *worker) error { return openAgain(w, open) }
	}
}

// stream works on a table.
func stream(w *worker, open func(path string) (table, error)) error {
	t, err := open(w.path)
	if err != nil {
		return err
	}
	for more := true; more; {
		if err := t.do(w.number, w.done+1); err != nil {
			return errors.Join(err, t.Close())
		}
		if more, err = w.acknowledge(); err != nil {
			return err
		}
	}
	return t.Close()
}

// openAgain opens a table for a few operations, again and again.
func openAgain(w *worker, open func(path string) (table, error)) error {
	for more := true; more; {
		t, err := open(w.path)
		if err != nil {
			return err
		}
		for i := 0; i < 2 && more; i++ {
			if err := t.do(w.number, w.done+1); err != nil {
				return errors.Join(err, t.Close())
			}
			if more, err = w.acknowledge(); err != nil {
				return err
			}
		}
		if err := t.Close(); err != nil {
			return err
		}
	}
	return nil
}

// Workers come, go, are stopped and are killed, also while they open and close the table and while
// it grows.
func TestKills(t *testing.T) {
	for kind := range tables {
		t.Run(kind, func(t *testing.T) {
			if testing.Short() {
				t.Skip("starts processes")
			}
			kills(t, kind, 25, 3)
		})
	}
}

// TestSoak is the tests with random kills, and 256 processes on a table, for as long as the flag
// -soak says.
func TestSoak(t *testing.T) {
	if lab.SoakFor() == 0 {
		t.Skip("-soak says for how long")
	}
	for kind := range tables {
		t.Run(kind, func(t *testing.T) { together(t, kind, 256) })
	}
	rounds := 0
	for begin := time.Now(); time.Since(begin) < lab.SoakFor(); rounds++ {
		for kind := range tables {
			t.Run(fmt.Sprint(kind, rounds), func(t *testing.T) {
				kills(t, kind, 100+rand.IntN(300), 2+rand.IntN(8))
			})
			if t.Failed() {
				return
			}
		}
		refillMap(t, 100)
		for _, kind := range []string{"elements", "strings"} {
			slotsOfKilled(t, kind, 500)
		}
	}
	t.Logf("%d rounds of %d kinds", rounds, len(tables))
}

// kills does so many things to workers, of which some run at a time.
func kills(t *testing.T, kind string, actions, most int) {
	path := newPath(t)
	var all, running []*process
	drop := func(i int) *process {
		p := running[i]
		running = append(running[:i], running[i+1:]...)
		return p
	}
	for range actions {
		if len(running) == 0 || len(running) < most && rand.IntN(2) == 0 {
			program := kind
			if rand.IntN(2) == 0 {
				program += "-again"
			}
			p := start(t, program, path, uint64(len(all)+1))
			all, running = append(all, p), append(running, p)
			continue
		}
		i := rand.IntN(len(running))
		if p := running[i]; !p.stopped {
			p.await(uint64(rand.IntN(200)))
			time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond) // it is killed anywhere
		}
		switch rand.IntN(8) {
		case 0:
			drop(i).finish()
		case 1:
			running[i].stop()
		case 2:
			running[i].resume()
		case 3:
			examine(t, kind, path, all)
		default:
			drop(i).kill()
		}
	}
	for len(running) > 0 {
		drop(0).finish()
	}
	examine(t, kind, path, all)
}

// examine opens the table, while others may work on it, and checks what workers have done that have
// ended.
func examine(t *testing.T, kind, path string, workers []*process) {
	t.Helper()
	table, err := tables[kind](path)
	if err != nil {
		t.Fatal(err)
	}
	total, running := uint64(0), false
	for _, p := range workers {
		if running = running || p.running; p.running {
			continue
		}
		last := p.acknowledged()
		total += last
		if err := table.verify(p.number, last); err != nil {
			t.Fatal(err)
		}
	}
	if m, ok := table.(mapTable); ok && !running && total > 0 {
		value, _, found, err := m.Get(counter, nil)
		if err != nil || !found {
			t.Fatal("the counter", found, err)
		}
		if n := binary.LittleEndian.Uint64(value); n < total || n > total+uint64(len(workers)) {
			t.Fatalf("%d workers have counted to %d, and %d were acknowledged", len(workers), n,
				total)
		}
	}
	if err := errors.Join(table.Check(t.Context()), table.Close()); err != nil {
		t.Fatalf("others work on it: %v: %v", running, err)
	}
}
