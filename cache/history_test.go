package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/mutant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// slow is set where every step costs much: under the race detector.
const slow = invariant.Enabled

// event is an operation of a history, in virtual time.
type event struct {
	kind       kind
	rank, key  int
	value      uint64 // put: the one written; get: the one found, 0 for none
	begin, end int64  // end is never for an operation that nobody saw return
}

const never = math.MaxInt64

func (e event) String() string {
	what := [...]string{"get", "put", "delete"}[e.kind]
	return fmt.Sprintf("rank %d: %s key %d, value %d, from %d to %d", e.rank, what, e.key, e.value,
		e.begin, e.end)
}

// checkHistory: a value found was put under that key, by a put that had begun, and that no
// other put or deletion had replaced: one that began when the put had returned and that
// returned before the get began.
func checkHistory(history []event) error {
	for _, get := range history {
		if get.kind != kindGet || get.value == 0 || get.end == never {
			continue
		}
		var put *event
		for i, e := range history {
			if e.kind == kindPut && e.key == get.key && e.value == get.value && e.begin <= get.end {
				put = &history[i]
			}
		}
		if put == nil {
			return fmt.Errorf("nobody had put what was found: %v", get)
		}
		for _, e := range history {
			if e.kind != kindGet && e.key == get.key && e.begin > put.end && e.end < get.begin {
				return fmt.Errorf("an old value was found\nput      %v\nreplaced %v\nfound    %v",
					*put, e, get)
			}
		}
	}
	return nil
}

// schedule is a simulated run whose seed decides everything.
type schedule struct {
	opts    sim.Options
	cfg     Config
	keys    int
	calls   int
	history []event
}

func drawSchedule(seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(seed, 77))
	s := &schedule{opts: sim.Random(2+rng.IntN(3), seed), keys: 1 + rng.IntN(8),
		calls: 10 + rng.IntN(30)}
	s.opts.LimitSteps = 5_000_000
	if rng.IntN(4) == 0 {
		s.opts.View = sim.ViewAll
	}
	if rng.IntN(2) == 0 {
		s.opts.Faults.KillEvery = 100 + rng.IntN(1000)
		s.opts.Faults.MemorySurvives = rng.IntN(3) > 0
	}
	s.cfg = Config{KeySize: 8 * (1 + rng.IntN(3)), ValueSize: 8 * (1 + rng.IntN(6)),
		BucketsPerRank: uint64(1 + rng.IntN(6)), Mode: Mode(rng.IntN(3)),
		Depth: 1 + rng.IntN(4), Retries: rng.IntN(4) - 1}
	switch rng.IntN(3) {
	case 0:
		s.cfg.Addressing = Paper
	case 1:
		s.cfg.GroupBuckets = 1
	}
	return s
}

// run runs the schedule and checks its history.
func (s *schedule) run() error {
	if _, err := sim.Run(s.opts, s.rank); err != nil {
		return err
	}
	return checkHistory(s.history)
}

// rank is the life of one rank.
func (s *schedule) rank(job rma.Job) error {
	c, err := New(context.Background(), job, s.cfg)
	if err != nil {
		return s.forgive(err)
	}
	player := &player{schedule: s, c: c, job: job.(*sim.Job), rng: job.(*sim.Job).Rand()}
	for i := range s.calls {
		if player.rng.IntN(4) == 0 {
			player.job.Sleep(player.rng.Int64N(20_000))
		}
		if err := s.forgive(player.call(i)); err != nil {
			return err
		}
	}
	for key := range s.keys { // what is left
		if err := s.forgive(player.get([]int{key})); err != nil {
			return err
		}
	}
	return s.forgive(c.Close())
}

// forgive lets errors pass where ranks are killed.
func (s *schedule) forgive(err error) error {
	var lost *sim.LostError
	var gone *rma.RankError
	if s.opts.Faults.KillEvery > 0 && (errors.As(err, &lost) || errors.As(err, &gone)) {
		return nil
	}
	return err
}

// player is a rank that makes calls at random.
type player struct {
	*schedule
	c   *Cache
	job *sim.Job
	rng *rand.Rand
}

func (p *player) call(number int) error {
	keys := make([]int, 1)
	if p.rng.IntN(3) == 0 {
		keys = p.rng.Perm(p.keys)
	} else {
		keys[0] = p.rng.IntN(p.keys)
	}
	switch p.rng.IntN(8) {
	case 0:
		return p.remove(keys[0])
	case 1, 2, 3:
		return p.get(keys)
	}
	return p.put(keys, number)
}

// begin notes operations on some keys, which stay open if the rank dies.
func (p *player) begin(k kind, keys []int) (from int) {
	now := p.job.NowNs() // others may make calls meanwhile
	from = len(p.history)
	for _, key := range keys {
		p.history = append(p.history, event{kind: k, rank: p.job.Rank(), key: key,
			begin: now, end: never})
	}
	return from
}

// end closes those that were answered.
func (p *player) end(from, n int, err error) error {
	now := p.job.NowNs()
	for i := range n {
		if err == nil {
			p.history[from+i].end = now
		}
	}
	return err
}

// spread makes a key or a value of a number, each word different.
func spread(number uint64, size int) []byte {
	words := make([]uint64, size/8)
	for i := range words {
		words[i] = number * uint64(2*i+1)
	}
	return bytesOf(words)
}

// gather is the number that a value was made of.
func gather(value []byte) (uint64, error) {
	words, _ := asWords(value)
	for i, word := range words {
		if word != words[0]*uint64(2*i+1) {
			return 0, fmt.Errorf("a mixed value was found: %x", words)
		}
	}
	return words[0], nil
}

func (p *player) pack(keys []int) (packed []byte) {
	for _, key := range keys {
		packed = append(packed, spread(uint64(key+1), p.cfg.KeySize)...)
	}
	return packed
}

func (p *player) put(keys []int, number int) error {
	from := p.begin(kindPut, keys)
	var values []byte
	for i := range keys {
		value := uint64(p.job.Rank()+1)<<32 | uint64(number+1)<<16 | uint64(i)
		p.history[from+i].value = value
		values = append(values, spread(value, p.cfg.ValueSize)...)
	}
	var err error
	if len(keys) == 1 {
		_, err = p.c.Put(p.pack(keys), values)
	} else {
		err = p.c.PutBatch(p.pack(keys), values, make([]Result, len(keys)))
	}
	return p.end(from, len(keys), err)
}

func (p *player) get(keys []int) error {
	from := p.begin(kindGet, keys)
	values, found := make([]byte, len(keys)*p.cfg.ValueSize), make([]bool, len(keys))
	err := p.c.GetBatch(p.pack(keys), values, found)
	for i := range keys {
		if !found[i] {
			continue
		}
		number, bad := gather(values[i*p.cfg.ValueSize:][:p.cfg.ValueSize])
		if bad != nil {
			return bad
		}
		p.history[from+i].value = number
	}
	return p.end(from, len(keys), err)
}

func (p *player) remove(key int) error {
	from := p.begin(kindRemove, []int{key})
	_, err := p.c.Delete(p.pack([]int{key}))
	return p.end(from, 1, err)
}

// TestHistories runs schedules with torn gets and puts, messages that overtake each other
// and ranks that are killed. No run hangs, and every history is that of a lossy table.
func TestHistories(t *testing.T) {
	schedules := 3000
	if slow || testing.Short() {
		schedules = 300
	}
	for seed := range uint64(schedules) {
		s := drawSchedule(seed)
		if err := s.run(); err != nil {
			t.Fatalf("schedule %d, %+v: %v", seed, s.cfg, err)
		}
	}
}

// plain puts a few keys into a large cache and asks for them: nothing may be lost, and
// nothing is there that was not put.
func plain(e engine, mode Mode) error {
	cfg := Config{KeySize: 16, ValueSize: 24, BucketsPerRank: 4096, Mode: mode}
	return withCache(e, 1, cfg, func(c *Cache) error {
		value := make([]byte, cfg.ValueSize)
		for number := range uint64(200) {
			key := spread(number+1, cfg.KeySize)
			if found, err := c.Get(key, value); found || err != nil {
				return fmt.Errorf("key %d is there before it was put: %v", number, err)
			}
			if found, err := c.Delete(key); found || err != nil {
				return fmt.Errorf("key %d is deleted before it was put: %v", number, err)
			}
			r, err := c.Put(key, spread(number, cfg.ValueSize))
			if r != Inserted || err != nil {
				return fmt.Errorf("key %d is %v: %v", number, r, err)
			}
		}
		for number := range uint64(200) {
			found, err := c.Get(spread(number+1, cfg.KeySize), value)
			if !found || err != nil {
				return fmt.Errorf("key %d is lost: %v", number, err)
			}
			if got, err := gather(value); got != number || err != nil {
				return fmt.Errorf("key %d has value %d: %v", number, got, err)
			}
		}
		return nil
	})
}

func TestPlain(t *testing.T) {
	for _, e := range engines {
		for _, mode := range modes {
			must(t, plain(e, mode))
		}
	}
}

// TestMutants: each wrong version of the protocol fails a test of one rank or a schedule.
func TestMutants(t *testing.T) {
	if !mutant.Enabled {
		t.Skip("mutants are compiled in by -race and -tags invariants")
	}
	const most = 3000
	for _, m := range mutant.All() {
		t.Run(m.String(), func(t *testing.T) {
			defer m.Switch()()
			err := plain(engines[0], LockFree)
			for seed := uint64(0); seed < most && err == nil; seed++ {
				err = drawSchedule(seed).run()
			}
			if err == nil {
				t.Fatalf("%d schedules notice nothing", most)
			}
			t.Log(err)
		})
	}
}
