package shared

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/farhash/farhash/kv"

	"github.com/farhash/farhash/eval/internal/measure"
)

const (
	keyBytes   = 8
	valueBytes = 100
	pairBytes  = keyBytes + valueBytes

	pieceCalls = 1024 // made up at a time
	step       = 64   // single calls between two readings of the clock

	drawn = 1 << 21 // numbers of records: drawing one takes as long as a get
)

// workload is what processes do with the store.
type workload string

const (
	workloadA workload = "a"
	workloadB workload = "b"
	workloadC workload = "c"
	puts      workload = "put"
)

func workloads() []workload { return []workload{workloadC, puts, workloadA, workloadB} }

// putPercent is how many of 100 calls put.
func (w workload) putPercent() uint64 {
	return map[workload]uint64{workloadA: 50, workloadB: 5, puts: 100}[w]
}

// piece is calls that are made up before they are timed, and their answers. Key and value of a call
// are one after the other, and so are the calls.
type piece struct {
	numbers []uint64 // of the records
	calls   []kv.Call
	pairs   []byte
	scratch []byte
	rng     *rand.Rand
	stamp   uint64 // of the last value that was put

	draws []uint32 // numbers of records, which are used in rotation
	next  int
}

// newPiece has room for so many calls of one process.
func newPiece(room, process int) *piece {
	const processShift = 40 // processes have stamps of their own
	return &piece{numbers: make([]uint64, room), calls: make([]kv.Call, room),
		pairs: make([]byte, room*pairBytes), scratch: make([]byte, valueBytes),
		rng: rand.New(rand.NewPCG(1, uint64(process))), stamp: uint64(process) << processShift}
}

// set makes call i a get or a put of a record.
func (p *piece) set(i int, number uint64, put bool) {
	pair := p.pairs[i*pairBytes : (i+1)*pairBytes : (i+1)*pairBytes]
	key, value := pair[:keyBytes:keyBytes], pair[keyBytes:]
	p.numbers[i] = number
	measure.FillKey(key, number)
	if put {
		p.stamp++
		measure.FillValue(value, number, p.stamp)
		p.calls[i] = kv.Call{Kind: kv.Put, Key: key, Value: value}
	} else {
		p.calls[i] = kv.Call{Kind: kv.Get, Key: key, Value: value[:0]}
	}
}

// follow draws the numbers of records.
func (p *piece) follow(law *measure.Law, n int) {
	p.draws = make([]uint32, n)
	for i := range p.draws {
		p.draws[i] = uint32(law.Draw(p.rng))
	}
}

// fill makes all calls those that come next.
func (p *piece) fill(w workload) {
	percent := w.putPercent()
	for i := range p.calls {
		p.set(i, uint64(p.draws[p.next]), p.rng.Uint64N(100) < percent)
		if p.next++; p.next == len(p.draws) {
			p.next = 0
		}
	}
}

// load puts all records.
func (p *piece) load(in store, records uint64) error {
	for from := uint64(0); from < records; from += uint64(len(p.calls)) {
		n := int(min(uint64(len(p.calls)), records-from))
		for i := range n {
			p.set(i, from+uint64(i), true)
		}
		if err := in.Calls(p.calls[:n], true); err != nil {
			return fmt.Errorf("loading: %w", err)
		}
	}
	return nil
}

// run makes the calls, a batch at a time, until the end, but at least once. It returns how many
// were made and how long they took. A batch of 1 is single calls.
func (p *piece) run(in store, batch int, end time.Time) (n int, took time.Duration, err error) {
	together, size := batch > 1, batch
	if !together {
		size = step
	}
	start := time.Now()
	for n == 0 || n < len(p.calls) && time.Now().Before(end) {
		if err := in.Calls(p.calls[n:min(n+size, len(p.calls))], together); err != nil {
			return n, 0, err
		}
		n = min(n+size, len(p.calls))
	}
	return n, time.Since(start), nil
}

// check refuses gets that have not found their record, or a value that nobody has put for it.
func (p *piece) check(n int) error {
	for i := range p.calls[:n] {
		c := &p.calls[i]
		if c.Kind == kv.Get && !(c.Done && len(c.Value) == valueBytes &&
			measure.RightValue(c.Value, p.numbers[i], p.scratch)) {
			return fmt.Errorf("a get of record %d has not found what was put", p.numbers[i])
		}
	}
	return nil
}
