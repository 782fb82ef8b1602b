package set

import "errors"

// wordOps is itemOps for a Set: an item is a word.
type wordOps struct{}

func (wordOps) width() int                { return 1 }
func (wordOps) messages() float64         { return 1.5 } // a chunk, and where it is new a swap
func (wordOps) hash(item []uint64) uint64 { return hashWord(item[0]) }
func (wordOps) valid(item []uint64) bool  { return item[0] <= MaxWord }

func (wordOps) search(t *table, v *span, b *batch) error {
	b.add(t.searchBatch(v, b.items, b.results, b.insert))
	return nil
}

func (wordOps) get(*table, []uint64, []uint64) (int, error) {
	return 0, errors.New("set: words have no references; run the same program on every rank")
}

func (wordOps) queued(t *table, b *batch, indices []int) error {
	ses, err := t.wordSession()
	if err != nil {
		return err
	}
	c, err := ses.run(len(b.results), indices, func(p *probe, i int) {
		word := b.items[i]
		p.start(t, nil, hashWord(word), word|occupied, ^uint64(0), b.insert)
	}, func(p *probe, i int) { b.results[i] = p.result })
	b.add(c)
	t.sessions.Give(ses, err != nil)
	return err
}

func (t *table) wordSession() (*session, error) {
	if ses, ok, err := t.sessions.Take(); ok || err != nil {
		return ses, err
	}
	return newSession(t)
}

// oneQueued runs one operation through a queue.
func (s *Set) oneQueued(word uint64, insert bool) (Result, error) {
	var results [1]Result
	b := batch{t: s.t, items: []uint64{word}, results: results[:], insert: insert}
	err := wordOps{}.queued(s.t, &b, nil)
	s.tally.add(b.counts)
	if err == nil && b.full > 0 {
		err = s.fullError()
	}
	return results[0], err
}
