package stream

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// The tables are right on every engine.
func TestStream(t *testing.T) {
	ctx := context.Background()
	for _, e := range lab.Engines() {
		rounds := 1000
		if e.Name == "sim" {
			rounds = 100
		}
		var lock sync.Mutex
		inserted := map[uint64]int{} // by how many ranks; a late rank finds all there
		err := e.Run(3, func(job rma.Job) error {
			s, err := Open(ctx, job, Options{Seed: 1})
			for i := 0; err == nil && i < rounds; i++ {
				err = s.Step()
			}
			if err != nil {
				return err
			}
			if s.Calls() != rounds || len(s.Lost()) > 0 {
				t.Errorf("%s: %d calls, lost: %v", e.Name, s.Calls(), s.Lost())
			}
			lock.Lock()
			for _, item := range s.Inserted() {
				inserted[item]++
			}
			lock.Unlock()
			return errors.Join(s.Finish(ctx), s.Check(ctx), job.Barrier(ctx), s.Close())
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if len(inserted) == 0 {
			t.Errorf("%s: nothing was inserted", e.Name)
		}
		for item, ranks := range inserted {
			if ranks != 1 {
				t.Errorf("%s: %d ranks have inserted item %d", e.Name, ranks, item)
			}
		}
	}
}

// What is wrong is noticed.
func TestJudge(t *testing.T) {
	const own, shared = 200, 5
	s := newSetTable(opener{})
	s.there[own], s.inserted[own] = true, true
	s.tried[own+1] = true
	for _, c := range []struct {
		item  uint64
		put   bool
		got   set.Result
		right bool
	}{
		{own, true, set.Inserted, false}, {own, false, set.NotFound, false},
		{own, true, set.Found, true}, {own, true, set.Full, false},
		{own + 2, true, set.Found, false},
		{own + 1, false, set.NotFound, true}, {own + 1, true, set.Found, true},
		{shared, false, set.Found, true}, {shared, false, set.NotFound, false},
	} {
		if err := s.judge(c.item, c.put, c.got); (err == nil) != c.right {
			t.Errorf("%+v: %v", c, err)
		}
	}
	c := cacheTable{known: map[uint64]*known{own: {last: 7, maybe: []uint64{9}}}}
	m := mapTable{known: map[uint64]*known{}, versions: map[uint64]kv.Version{},
		sums: map[uint64]*bounds{}}
	for number, right := range map[uint64]bool{6: false, 7: true, 8: false, 9: true} {
		if err := c.judge(own, true, valueOf(own, number, 40), true); (err == nil) != right {
			t.Errorf("cache, number %d: %v", number, err)
		}
		m.known[own] = &known{last: 7, maybe: []uint64{9}}
		call := kv.Call{Kind: kv.Get, Done: true, Value: valueOf(own, number, 40)}
		if err := m.judge(own, &call, 0, nil); (err == nil) != right {
			t.Errorf("map, number %d: %v", number, err)
		}
	}
	for sum, right := range map[int64]bool{11: false, 12: true, 14: true, 15: false} {
		m.sums[own] = &bounds{7, 9}
		call := kv.Call{Kind: kv.Add, Delta: 5, Sum: sum, Done: true}
		if err := m.judgeSum(own, &call, nil); (err == nil) != right {
			t.Errorf("map, sum %d: %v", sum, err)
		}
	}
	torn := append(valueOf(own, 7, 24), valueOf(own, 9, 40)[24:]...)
	if c.judge(own, true, torn, true) == nil {
		t.Error("a torn value was taken")
	}
	for kind, wrong := range map[kv.Kind]bool{kv.Put: false, kv.Delete: false, kv.Get: false,
		kv.PutIfAbsent: true, kv.CompareAndPut: true} {
		m.known[own], m.versions[own] = &known{last: 7}, 3
		if kind == kv.CompareAndPut {
			wrong = false
		}
		if err := m.judge(own, &kv.Call{Kind: kind, Done: wrong}, 8, nil); err == nil {
			t.Errorf("%v: done %v was taken", kind, wrong)
		}
	}
}
