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

// wordOp is one operation. A session keeps it, so that a single call allocates nothing.
type wordOp struct {
	word          uint64
	insert        bool
	result        Result
	start, finish func(p *probe, i int)
}

func (o *wordOp) init(t *table) {
	o.start = func(p *probe, _ int) {
		p.start(t, nil, hashWord(o.word), o.word|occupied, ^uint64(0), o.insert)
	}
	o.finish = func(p *probe, _ int) { o.result = p.result }
}

// oneQueued runs one operation through a queue.
func (s *Set) oneQueued(word uint64, insert bool) (Result, error) {
	ses, err := s.t.wordSession()
	if err != nil {
		return NotFound, err
	}
	o := &ses.single
	if o.start == nil {
		o.init(s.t)
	}
	o.word, o.insert, o.result = word, insert, NotFound
	c, err := ses.run(1, nil, o.start, o.finish)
	r := o.result
	s.t.sessions.Give(ses, err != nil)
	s.tally.add(c)
	if err == nil && r == Full {
		err = s.fullError()
	}
	return r, err
}
