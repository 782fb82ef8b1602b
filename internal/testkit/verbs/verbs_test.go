//go:build verbs && cgo && linux

package verbs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/shm"
)

// updates is how often a guest changes a word. An engine takes a hundredth of that.
var updates = flag.Int("updates", 5000, "changes of a word by a device, in each way")

// side is one of two that change a word at the same time.
type side struct {
	name string
	add  func() error // adds 1
	swap func(old, word uint64) (won bool, err error)
}

// device is a side that has a device do it.
func device(p *Pair, off int) side {
	return side{"the device", func() error {
		_, err := p.FetchAdd(off, 1)
		return err
	}, func(old, word uint64) (bool, error) {
		seen, err := p.CompareAndSwap(off, old, word)
		return seen == old, err
	}}
}

// processors are the sides that have the processor do it: one adds by compare-and-swap.
func processors(word *uint64) (adder, swapper side) {
	swap := func(old, new uint64) (bool, error) {
		return atomic.CompareAndSwapUint64(word, old, new), nil
	}
	return side{"the processor", func() error {
			atomic.AddUint64(word, 1)
			return nil
		}, swap}, side{"the processor by compare-and-swap", func() error {
			for {
				last := atomic.LoadUint64(word)
				if atomic.CompareAndSwapUint64(word, last, last+1) {
					return nil
				}
			}
		}, swap}
}

// together runs guest so many times, and owner beside it all the time: how often.
func together(times int, guest, owner func() error) (beside uint64, err error) {
	var done, started atomic.Bool
	var failed error
	var own sync.WaitGroup
	own.Go(func() {
		for !done.Load() && failed == nil {
			failed = owner()
			beside++
			started.Store(true)
		}
	})
	for !started.Load() {
		runtime.Gosched()
	}
	for i := 0; i < times && err == nil; i++ {
		err = guest()
	}
	done.Store(true)
	own.Wait()
	return beside, errors.Join(err, failed)
}

// lostAdds has two sides add to a word: how many additions are missing from it.
func lostAdds(word *uint64, times int, guest, owner side) (lost, beside uint64, err error) {
	atomic.StoreUint64(word, 0)
	beside, err = together(times, guest.add, owner.add)
	return uint64(times) + beside - atomic.LoadUint64(word), beside, err
}

// lostSwaps has the owner swap 0 for 1 and back all the time, and a guest 0 for 2, which the owner
// swaps back and counts: how many swaps of either have been overwritten by the other.
func lostSwaps(word *uint64, times int, guest, owner side) (lost, beside uint64, err error) {
	atomic.StoreUint64(word, 0)
	var won, found uint64
	turn := func() error {
		mine, err := owner.swap(0, 1)
		if mine && err == nil {
			mine, err = owner.swap(1, 0)
			if !mine {
				lost++
			}
		}
		if back, failed := owner.swap(2, 0); back {
			found++
			err = errors.Join(err, failed)
		}
		return err
	}
	beside, err = together(times, func() error {
		mine, err := guest.swap(0, 2)
		if mine {
			won++
		}
		return err
	}, turn)
	err = errors.Join(err, turn()) // the last one of the guest
	return max(lost, won-min(found, won)), beside, err
}

// lostBeside has a guest do swaps that all fail, while the owner adds: how many additions are
// missing.
func lostBeside(word *uint64, times int, guest, owner side) (lost, beside uint64, err error) {
	atomic.StoreUint64(word, 0)
	beside, err = together(times, func() error {
		_, err := guest.swap(math.MaxUint64, 0)
		return err
	}, owner.add)
	return beside - atomic.LoadUint64(word), beside, err
}

// tally counts what is lost in all ways that two sides can change a word.
func tally(t *testing.T, what string, word *uint64, times int, guest side,
	owners ...side) (all uint64) {
	t.Helper()
	for _, owner := range owners {
		for _, way := range []struct {
			name  string
			count func(*uint64, int, side, side) (lost, beside uint64, err error)
		}{{"additions", lostAdds}, {"swaps", lostSwaps}, {"swaps that fail", lostBeside}} {
			lost, beside, err := way.count(word, times, guest, owner)
			if err != nil || beside == 0 {
				t.Fatalf("%s: %s by %s beside %s: %v", what, way.name, guest.name, owner.name, err)
			}
			t.Logf("%s: %d %s by %s beside %d by %s: %d lost", what, times, way.name,
				guest.name, beside, owner.name, lost)
			all += lost
		}
	}
	return all
}

// window runs fn on words of a window like those that ranks of a host share.
func window(t *testing.T, fn func(words []uint64)) {
	t.Helper()
	job, err := shm.Join(t.Context(), shm.Config{Size: 1, Timeout: time.Minute,
		Job: fmt.Sprintf("verbs-%d", os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	w, err := job.NewWindow(context.Background(), rma.Spec{Name: "verbs", Words: 512})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fn(w.Words(0))
}

// onDevices runs fn for each device that has atomics, and skips the test where there is none.
func onDevices(t *testing.T, fn func(t *testing.T, d Device)) {
	t.Helper()
	var seen []string
	some := false
	for _, d := range Devices() {
		seen = append(seen, fmt.Sprintf("%s (active: %v, atomics: %v)", d.Name, d.Active,
			d.Atomics))
		if d.Active && d.Atomics != NoAtomics {
			some = true
			t.Run(d.Name, func(t *testing.T) { fn(t, d) })
		}
	}
	if !some {
		t.Skipf("no device with atomics and an active port that this process may open: %q", seen)
	}
}

// Atomics of a device are exact among each other. Where the device says that they are so beside
// a processor's too, they must be; else what is lost is printed.
func TestDeviceAtomics(t *testing.T) {
	onDevices(t, func(t *testing.T, d Device) {
		window(t, func(words []uint64) {
			var pairs [2]*Pair
			for i := range pairs {
				p, err := Open(d.Name, words)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				pairs[i] = p
			}
			what := fmt.Sprintf("%s (%v)", d.Name, d.Atomics)
			guest, word := device(pairs[0], 0), &words[0]
			if lost := tally(t, what, word, *updates, guest, device(pairs[1], 0)); lost > 0 {
				t.Errorf("%s loses %d updates by itself", what, lost)
			}
			adder, swapper := processors(word)
			if lost := tally(t, what, word, *updates, guest, adder, swapper); lost > 0 &&
				d.Atomics == WithCPU {
				t.Errorf("%s loses %d updates beside the processor", what, lost)
			}
		})
	})
}

// Operations outside the words are refused, and so is what does not exist.
func TestRefused(t *testing.T) {
	words := make([]uint64, 1)
	if _, err := Open("no-such-device", words); err == nil {
		t.Error("a device that does not exist was opened")
	}
	if _, err := Open("no-such-device", nil); err == nil {
		t.Error("no words were accepted")
	}
	p := &Pair{words: 1}
	for _, off := range []int{-1, 1} {
		if _, err := p.FetchAdd(off, 1); err == nil {
			t.Errorf("word %d was accepted", off)
		}
	}
}
