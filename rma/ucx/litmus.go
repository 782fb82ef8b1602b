//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

// The words of each segment in the litmus test.
const (
	litmusAdds = iota // a sum of fetch-and-adds
	litmusTurn        // what is swapped: see below
	litmusWins        // how many swaps the guests have won
	litmusEnds        // how many guests have done
	litmusWords
)

// The owner swaps 0 for 1 and back, all the time; guests swap 0 for 2; the owner swaps that
// back and counts. So nobody but the owner swaps a 1, and it finds what the guests have won.
const (
	turnFree  = 0
	turnOwner = 1
	turnGuest = 2
)

// litmusRounds is how often a guest adds and swaps.
const litmusRounds = 32

// tryOut has every rank change words of another one, on another host if there is one, by UCX
// while the owner changes them by the processor. If no update is lost, processor atomics are
// allowed on direct memory; else no rank uses them, and UCX alone must lose none. Each operation
// has the timeout, and not all together, as networks differ in speed. Collective.
func (j *member) tryOut(ctx context.Context, timeout time.Duration) error {
	if j.p.atomics != measured {
		j.coherent = j.p.atomics == coherent && j.near.Memory != nil
		return nil
	}
	exact, err := j.litmus(ctx, timeout, j.near.Memory != nil)
	if err == nil && j.near.Memory != nil {
		if j.coherent = exact; !exact {
			exact, err = j.litmus(ctx, timeout, false)
		}
	}
	if err == nil && !exact {
		err = errors.New("updates are lost")
	}
	var gone *rma.RankError
	var peer *rma.PeerError
	if errors.As(err, &gone) || errors.As(err, &peer) {
		return fmt.Errorf("rma/ucx: trying out %s: %w", Library(), err)
	}
	if err != nil {
		return fmt.Errorf("rma/ucx: trying out %s: %w; try another network: UCX_TLS=tcp,self, and "+
			"UCX_NET_DEVICES to choose among them", Library(), err)
	}
	return nil
}

// partner is the rank whose words a rank changes: the next one on another host, or else the
// next one.
func (j *member) partner(rank int, hosts []int) int {
	for distance := 1; distance < j.size; distance++ {
		if other := (rank + distance) % j.size; hosts[other] != hosts[rank] {
			return other
		}
	}
	return (rank + 1) % j.size
}

// litmus reports whether no rank has lost an update. With processor set the owners take part.
func (j *member) litmus(ctx context.Context, timeout time.Duration, processor bool) (exact bool,
	err error) {
	hosts, err := j.hosts(ctx)
	if err != nil {
		return false, err
	}
	made, err := j.NewWindow(ctx, rma.Spec{Name: "rma/ucx: litmus", Words: litmusWords})
	if err != nil {
		return false, err
	}
	w := made.(*window)
	defer w.Close()
	guests := 0
	for rank := range j.size {
		if j.partner(rank, hosts) == j.rank {
			guests++
		}
	}
	var own sync.WaitGroup
	mine, stop := owner{words: w.Words(j.rank), careless: j.p.careless}, new(atomic.Bool)
	if processor {
		own.Go(func() { mine.work(uint64(guests), stop) })
	}
	err = j.visit(ctx, timeout, w, j.partner(j.rank, hosts))
	_, err = j.share(ctx, "the litmus test", nil, err)
	stop.Store(true) // all guests have ended, or one of them never will
	own.Wait()
	if err != nil {
		return false, err
	}
	exact, err = j.holds(ctx, w, &mine, guests, processor)
	all, err := j.share(ctx, "the litmus test", []byte{flag(!exact)}, err)
	for _, lost := range all {
		exact = exact && len(lost) == 1 && lost[0] == 0
	}
	return exact, err
}

// hosts numbers the hosts of all ranks by their lowest rank. Collective.
func (j *member) hosts(ctx context.Context) ([]int, error) {
	all, err := j.share(ctx, "the litmus test", fmt.Append(nil, j.near.Ranks[0]), nil)
	if err != nil {
		return nil, err
	}
	hosts := make([]int, j.size)
	for rank, text := range all {
		if _, err := fmt.Sscan(string(text), &hosts[rank]); err != nil {
			return nil, fmt.Errorf("the host of rank %d: %w", rank, err)
		}
	}
	return hosts, nil
}

// owner changes words by the processor.
type owner struct {
	words    []uint64
	careless bool   // it adds in two steps, and far between
	adds     uint64 // how often it has added
	found    uint64 // swaps of guests
	wrong    bool   // somebody has swapped the owner's word
}

// work continues until all guests have ended.
func (o *owner) work(guests uint64, stop *atomic.Bool) {
	for atomic.LoadUint64(&o.words[litmusEnds]) < guests && !stop.Load() {
		for range 100 {
			if !o.careless {
				atomic.AddUint64(&o.words[litmusAdds], 1)
				o.adds++
			}
			o.turn()
		}
		runtime.Gosched()
	}
	o.turn() // the last one of a guest
	if o.careless {
		atomic.StoreUint64(&o.words[litmusAdds], 1) // it has seen a 0, long ago
		o.adds++
	}
}

func (o *owner) turn() {
	word := &o.words[litmusTurn]
	switch {
	case atomic.CompareAndSwapUint64(word, turnFree, turnOwner):
		o.wrong = !atomic.CompareAndSwapUint64(word, turnOwner, turnFree) || o.wrong
	case atomic.CompareAndSwapUint64(word, turnGuest, turnFree):
		o.found++
	default:
		o.wrong = true
	}
}

// visit changes the words of another rank by UCX.
func (j *member) visit(ctx context.Context, timeout time.Duration, w *window, target int) error {
	q, err := j.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	result := func(h rma.Handle) (uint64, error) {
		within, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return remote.Result(within, q, h)
	}
	wins := uint64(0)
	for range litmusRounds {
		if _, err := result(q.FetchAdd(w, target, litmusAdds, 1)); err != nil {
			return err
		}
		h := q.CompareAndSwap(w, target, litmusTurn, turnFree, turnGuest)
		seen, err := result(h)
		if err != nil {
			return err
		}
		if seen == turnFree {
			wins++
		}
	}
	if _, err := result(q.FetchAdd(w, target, litmusWins, wins)); err != nil {
		return err
	}
	_, err = result(q.FetchAdd(w, target, litmusEnds, 1))
	return err
}

// holds reports whether the words of this rank are what they must be when all have ended. Where
// the owner took no part, one swap was won.
func (j *member) holds(ctx context.Context, w *window, o *owner, guests int, processor bool) (
	bool, error) {
	q, err := j.NewQueue(1)
	if err != nil {
		return false, err
	}
	defer q.Close()
	words, err := q.Alloc(litmusWords)
	if err == nil {
		_, err = remote.Result(ctx, q, q.Get(words, w, j.rank, 0))
	}
	if err != nil {
		return false, err
	}
	wins, turn := o.found, uint64(turnFree)
	if !processor && guests > 0 {
		wins, turn = 1, turnGuest
	}
	return !o.wrong && words[litmusAdds] == o.adds+uint64(guests)*litmusRounds &&
		words[litmusTurn] == turn && words[litmusWins] == wins, nil
}
