//go:build ucx && cgo

package ucx

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/internal/rejoin"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
	"github.com/farhash/farhash/ship"
)

func init() { roles["rejoin"], roles["rejoinCache"] = rejoinPlain, rejoinCache }

// rejoins is how often the killed rank rejoins.
const rejoins = 3

// await waits for the files of so many ranks that say that they have come so far.
func await(t *testing.T, ranks []*process, sign string, n, count int) {
	t.Helper()
	for signs(t, sign, n) < count {
		for rank, p := range ranks {
			select {
			case <-p.ended:
				t.Fatalf("rank %d ended too early; it said:\n%s", rank, &p.out)
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// signs are the ranks that say that they have come so far.
func signs(t *testing.T, sign string, n int) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("%s/*-%d", sign, n))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestRejoin: a rank is killed and started again, several times, and the others use its new
// memory as it uses theirs.
func TestRejoin(t *testing.T) {
	for _, c := range []struct{ role, how string }{
		{"rejoin", "hidden"}, {"rejoin", "pairs"}, {"rejoin", "pairs-incoherent"},
		{"rejoinCache", "pairs"}, {"rejoinCache", "hidden-fine"},
		{"rejoinCache", "hidden-coarse"}, {"rejoinCache", "hidden-shipped"},
	} {
		t.Run(c.role+" "+c.how, func(t *testing.T) {
			t.Parallel()
			runRejoin(t, c.role, c.how, twohosts.FreeAddress(t),
				func(int) *exec.Cmd { return exec.Command(os.Args[0]) })
		})
	}
}

// TestRejoinTwoHosts is that on two hosts.
func TestRejoinTwoHosts(t *testing.T) {
	hosts := twohosts.New(t)
	runRejoin(t, "rejoinCache", "hosts", hosts.Address(0)+":29500",
		func(rank int) *exec.Cmd { return hosts.Command(rank/2, os.Args[0]) })
}

func runRejoin(t *testing.T, role, how, address string, command func(rank int) *exec.Cmd) {
	const victim, ranks = 1, 4
	sign := t.TempDir()
	argument := fmt.Sprintf("%s,%s", how, sign)
	all := startWith(t, ranks, role, argument, address, command)
	for n := range rejoins {
		await(t, all, sign, n, ranks-1)
		v := all[victim]
		if n == 0 {
			refused := startRank(t, victim, ranks, role, "again,"+argument, address,
				command(victim))
			if _ = refused.wait(); !strings.Contains(refused.out.String(), "is still there") {
				t.Errorf("a second rank %d said %s", victim, &refused.out)
			}
		}
		_ = v.cmd.Process.Kill()
		_ = v.wait()
		for refused := true; refused; {
			v = startRank(t, victim, ranks, role, "again,"+argument, address, command(victim))
			for refused = false; !refused && signs(t, sign, n+1) == 0; {
				select {
				case <-v.ended:
					if refused = strings.Contains(v.out.String(), "is still there"); !refused {
						t.Fatalf("rank %d does not join again: %s", victim, &v.out)
					}
				case <-time.After(time.Millisecond):
				}
			}
		}
		all[victim] = v
	}
	for _, p := range all {
		p.expectEnd(t, "came back")
	}
}

// say makes the file that says how far this rank has come.
func (a *actor) say(n int) error {
	_, sign, _ := strings.Cut(strings.TrimPrefix(a.argument, "again,"), ",")
	return os.WriteFile(fmt.Sprintf("%s/%d-%d", sign, a.job.Rank(), n), nil, 0o600)
}

// The words of a segment that rejoin uses.
const (
	wordIncarnation = iota // 100 and the incarnation
	wordSeen               // how many have seen it
	wordAdds               // how often the rank has been seen to come
)

// rejoinPlain is the role of ranks that use each other's words while rank 1 is killed and comes
// back.
func rejoinPlain(a *actor) error {
	if a.job.Rank() == 1 {
		return a.mortal()
	}
	for n := 0; n <= rejoins; {
		seen, err := a.once(1, func(q rma.Queue) rma.Handle {
			return q.FetchAdd(a.w, 1, wordIncarnation, 0)
		})
		var gone *rma.RankError
		if errors.As(err, &gone) || err == nil && seen != uint64(100+n) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err == nil {
			err = a.ask()
		}
		if err == nil && n == rejoins { // the others are waited for below
			_, err = a.once(1, func(q rma.Queue) rma.Handle {
				return q.FetchAdd(a.w, 1, wordSeen, 1)
			})
		}
		if err = errors.Join(err, a.say(n)); err != nil {
			return err
		}
		n++
	}
	adds, err := a.once(a.job.Rank(), func(q rma.Queue) rma.Handle {
		return q.FetchAdd(a.w, a.job.Rank(), wordAdds, 0)
	})
	if err != nil || adds != rejoins+1 {
		return fmt.Errorf("rank 1 has added %d times: %w", adds, err)
	}
	var gone *rma.RankError
	if err := a.job.Barrier(a.ctx); !errors.As(err, &gone) || gone.Rank != 1 {
		return fmt.Errorf("a barrier: %w", err)
	}
	if failed := a.job.Failed(); !slices.Equal(failed, []int{1}) || a.w.Words(1) != nil {
		return fmt.Errorf("ranks %v failed; memory of rank 1: %d words", failed, len(a.w.Words(1)))
	}
	fmt.Println("rank 1 came back")
	return nil
}

// ask ships a request to rank 1.
func (a *actor) ask() error {
	q, err := a.job.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	buf, err := q.Alloc(8)
	if err != nil {
		return err
	}
	n, err := result(a.ctx, q, q.(rma.Carrier).Ship(buf[:4], buf[4:], a.w, 1))
	if err == nil && n != 4 {
		err = fmt.Errorf("rank 1 has answered %d words", n)
	}
	return err
}

// once does one operation by a queue of its own.
func (a *actor) once(rank int, post func(q rma.Queue) rma.Handle) (uint64, error) {
	q, err := a.job.NewQueue(1)
	if err != nil {
		return 0, err
	}
	defer q.Close()
	return result(a.ctx, q, post(q))
}

// mortal is rank 1.
func (a *actor) mortal() error {
	n := rejoin.Incarnation(a.job)
	for rank := range a.job.Size() {
		_, err := a.once(rank, func(q rma.Queue) rma.Handle {
			return q.FetchAdd(a.w, rank, wordAdds, 1)
		})
		if err != nil {
			return err
		}
	}
	_, err := a.once(1, func(q rma.Queue) rma.Handle {
		return q.FetchAdd(a.w, 1, wordIncarnation, uint64(100+n))
	})
	for seen := 0; seen < a.job.Size()-1 && err == nil; {
		var n uint64
		n, err = a.once(1, func(q rma.Queue) rma.Handle { return q.FetchAdd(a.w, 1, wordSeen, 0) })
		seen = int(n)
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return err
	}
	return a.limits()
}

// limits are what a rank that has joined again cannot do.
func (a *actor) limits() error {
	_, set := set.New(a.ctx, a.job, set.Config{Buckets: 100})
	_, name := a.job.NewWindow(a.ctx, rma.Spec{Name: "another", Words: 1})
	for _, c := range []struct {
		err  error
		says string
	}{
		{a.job.Barrier(a.ctx), "has joined again"},
		{set, "rank 1 has rejoined, and what it held is lost"},
		{name, `there is no further one "another"`},
	} {
		if !strings.Contains(fmt.Sprint(c.err), c.says) {
			return fmt.Errorf("want %q: %w", c.says, c.err)
		}
	}
	fmt.Println("came back")
	return nil
}

// rejoinCache is the role of ranks that share a cache while rank 1 is killed and comes back.
func rejoinCache(a *actor) error {
	cfg := cache.Config{KeySize: 8, ValueSize: 16, BucketsPerRank: 4096}
	switch {
	case strings.Contains(a.argument, "fine"):
		cfg.Mode = cache.Fine
	case strings.Contains(a.argument, "coarse"):
		cfg.Mode = cache.Coarse
	case strings.Contains(a.argument, "shipped"):
		cfg.Access = ship.Shipped
	}
	if rma.Rejoined(a.job) {
		wrong := cfg
		wrong.KeySize = 16
		if _, err := cache.New(a.ctx, a.job, wrong); !strings.Contains(fmt.Sprint(err),
			"same configuration") {
			return fmt.Errorf("a cache of another shape: %w", err)
		}
	}
	c, err := cache.New(a.ctx, a.job, cfg)
	if err != nil {
		return err
	}
	for n := rejoin.Incarnation(a.job); ; n++ {
		if err := a.fill(c, n); err != nil {
			return err
		}
		if err := a.say(n); err != nil {
			return err
		}
		if n == rejoins {
			break
		}
		if a.job.Rank() == 1 {
			<-a.ctx.Done() // it is killed before
		}
		for now, alive := 0, false; now <= n || !alive; {
			if err := a.work(c); err != nil {
				return err
			}
			now, alive = a.job.(rejoin.Job).Incarnation(1)
		}
	}
	fmt.Println("rank 1 came back")
	return c.Close()
}

// put and get are batches of one where batches are shipped: single operations are not.
func (a *actor) put(c *cache.Cache, key, value []byte) error {
	if !strings.Contains(a.argument, "shipped") {
		_, err := c.Put(key, value)
		return err
	}
	return c.PutBatch(key, value, make([]cache.Result, 1))
}

func (a *actor) get(c *cache.Cache, key, value []byte) (bool, error) {
	if !strings.Contains(a.argument, "shipped") {
		return c.Get(key, value)
	}
	found := []bool{false}
	err := c.GetBatch(key, value, found)
	return found[0], err
}

// work uses the cache while rank 1 may be gone: keys in its memory fail or are missed.
func (a *actor) work(c *cache.Cache) error {
	for i := range uint64(40) {
		key, value := words(i), words(i, 0)
		err := a.put(c, key, value)
		if err == nil {
			_, err = a.get(c, key, value)
		}
		var gone *rma.RankError
		if err != nil && (!errors.As(err, &gone) || gone.Rank != 1) {
			return err
		}
	}
	return nil
}

// fill puts and gets until all works, in the memory of all.
func (a *actor) fill(c *cache.Cache, n int) error {
	const keys = 60
	for missing := -1; missing != 0; {
		missing = 0
		vanished, before := 0, c.Stats().Queues.Ships
		for i := range uint64(keys) {
			key := words(uint64(n)<<32 | uint64(a.job.Rank())<<24 | i)
			value, got := words(i, uint64(n)), make([]byte, 16)
			err := a.put(c, key, value)
			found := false
			if err == nil {
				found, err = a.get(c, key, got)
			}
			var gone *rma.RankError
			switch {
			case errors.As(err, &gone) && gone.Rank == 1 && a.job.Rank() != 1:
				missing++ // it has not taken over the window yet
			case err != nil:
				return err
			case !found:
				vanished++ // puts that overlap may choose one bucket, but seldom do
			case !slices.Equal(got, value):
				return fmt.Errorf("incarnation %d: key %d has %v", n, i, got)
			}
		}
		if vanished > 3 || vanished > 0 && strings.Contains(a.argument, "fine") {
			return fmt.Errorf("incarnation %d: %d of %d pairs have vanished", n, vanished, keys)
		}
		ships := c.Stats().Queues.Ships - before
		if strings.Contains(a.argument, "shipped") && missing == 0 && ships <= 2*keys*5/8 {
			return fmt.Errorf("incarnation %d: %d requests: those to a rank are not shipped", n,
				ships)
		}
	}
	return nil
}

// words are words as bytes.
func words(w ...uint64) (b []byte) {
	for _, word := range w {
		for i := range 8 {
			b = append(b, byte(word>>(8*i)))
		}
	}
	return b
}
