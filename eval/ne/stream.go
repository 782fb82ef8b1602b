package ne

import (
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/farhash/farhash/kv"

	"github.com/farhash/farhash/eval/internal/measure"
)

// stream generates the operations of one rank for one workload. Records are numbered: those
// that are loaded first, then those that the ranks insert, in turns.
type stream struct {
	of          workload
	law         *measure.Law
	rng         *rand.Rand
	rank, ranks uint64
	records     uint64 // loaded
	left        uint64 // operations still to come
	inserted    uint64 // by this rank
	settled     uint64 // of these, what earlier batches have inserted
	stamp       *uint64
}

func newStream(of workload, law *measure.Law, cfg *ycsb, rank, ranks int,
	stamp *uint64) *stream {
	s := &stream{of: of, law: law, rank: uint64(rank), ranks: uint64(ranks), stamp: stamp,
		records: uint64(cfg.records), left: uint64(cfg.operations),
		rng: rand.New(rand.NewPCG(measure.Mix64(uint64(len(of))<<8+uint64(of[0])), uint64(rank)))}
	if of == loading {
		s.left = (s.records + s.ranks - 1 - s.rank) / s.ranks
	}
	return s
}

// one is the record of the next operation, and whether it is written.
func (s *stream) one() (number uint64, write bool) {
	s.left--
	write = s.rng.Uint64N(100) < s.of.writePercent()
	switch {
	case s.of == loading:
		return s.insert(0), true
	case s.of == workloadD && write:
		return s.insert(s.records), true
	case s.of == workloadD:
		return s.latest(s.law.Draw(s.rng)), false
	}
	return s.law.Draw(s.rng), write
}

// insert is the next number of this rank.
func (s *stream) insert(from uint64) uint64 {
	s.inserted++
	return from + s.rank + (s.inserted-1)*s.ranks
}

// latest is the record that this rank has inserted so many records ago; before these are
// those that were loaded.
func (s *stream) latest(back uint64) uint64 {
	if back < s.settled {
		return s.records + s.rank + (s.settled-1-back)*s.ranks
	}
	return s.records - 1 - (back - s.settled)
}

// piece is operations that are generated before they are timed, and their answers.
type piece struct {
	keyBytes, valueBytes int
	batch                int

	n       int
	numbers []uint64
	calls   []kv.Call // the first, or only one, of each operation
	second  []kv.Call // the writes of operations that read first
	ends    []int     // of the second calls of each batch
	bytes   []byte    // keys and values
	again   []byte    // values of the second calls
	scratch []byte
}

// newPiece makes room for whole batches of a size.
func newPiece(cfg *ycsb, batch int) *piece {
	pair := cfg.keyBytes + cfg.valueBytes
	room := max(1, min(stepKeys, pieceBytes/pair)/batch) * batch
	return &piece{keyBytes: cfg.keyBytes, valueBytes: cfg.valueBytes, batch: batch,
		numbers: make([]uint64, room), calls: make([]kv.Call, room), bytes: make([]byte, room*pair),
		again: make([]byte, room*cfg.valueBytes), scratch: make([]byte, cfg.valueBytes)}
}

// fill generates as many operations as there is room for, or left.
func (p *piece) fill(s *stream) {
	p.n = int(min(uint64(len(p.calls)), s.left))
	p.second, p.ends = p.second[:0], p.ends[:0]
	pair := p.keyBytes + p.valueBytes
	for i := range p.n {
		number, write := s.one()
		p.numbers[i] = number
		key := p.bytes[i*pair : i*pair+p.keyBytes]
		value := p.bytes[i*pair+p.keyBytes : (i+1)*pair : (i+1)*pair]
		measure.FillKey(key, number)
		put := kv.Call{Kind: kv.Put, Key: key, Value: value}
		p.calls[i] = kv.Call{Kind: kv.Get, Key: key, Value: value[:0]}
		if write && s.of == workloadF {
			put.Value = p.again[i*p.valueBytes : (i+1)*p.valueBytes]
		}
		if write {
			*s.stamp++
			measure.FillValue(put.Value, number, *s.stamp)
			if s.of == workloadF {
				p.second = append(p.second, put)
			} else {
				p.calls[i] = put
			}
		}
		if (i+1)%p.batch == 0 || i+1 == p.n {
			p.ends = append(p.ends, len(p.second))
			s.settled = s.inserted
		}
	}
}

// run does the operations of some batches. The clock is read once a call: recording what it
// said is part of the next one's time.
func (p *piece) run(in store, from, to int, took *latencies) error {
	start := time.Now()
	for i := from; i < to; i++ {
		calls := p.calls[i*p.batch : min((i+1)*p.batch, p.n)]
		if err := in.batch(calls); err != nil {
			return err
		}
		second := p.secondOf(i)
		next := took.record(start, calls, len(second))
		if len(second) > 0 {
			if err := in.batch(second); err != nil {
				return err
			}
			next = took.record(start, second, 0)
		}
		start = next
	}
	return nil
}

// secondOf is the second calls of a batch.
func (p *piece) secondOf(i int) []kv.Call {
	if i == 0 {
		return p.second[:p.ends[0]]
	}
	return p.second[p.ends[i-1]:p.ends[i]]
}

// wrong counts reads that have not found their record, or a value that nobody has written for
// it.
func (p *piece) wrong() (n uint64) {
	for i := range p.calls[:p.n] {
		c := &p.calls[i]
		if c.Kind == kv.Get && !(c.Done && len(c.Value) == p.valueBytes &&
			measure.RightValue(c.Value, p.numbers[i], p.scratch)) {
			n++
		}
	}
	return n
}

// latencies are how long operations have taken. Operations of a batch take as long as it does.
type latencies struct {
	reads, writes *hdrhistogram.Histogram
}

// record records calls that have been made since start, and returns the time. Some of the reads
// have not ended: they write what they have read.
func (l *latencies) record(start time.Time, calls []kv.Call, unended int) (now time.Time) {
	now = time.Now()
	reads := 0
	for k := range calls {
		if calls[k].Kind == kv.Get {
			reads++
		}
	}
	measure.Add(l.reads, now.Sub(start), reads-unended)
	measure.Add(l.writes, now.Sub(start), len(calls)-reads)
	return now
}
