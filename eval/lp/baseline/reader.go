package baseline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
)

// Policy says how much a lookup reads at once.
type Policy int

const (
	Fixed      Policy = iota + 1 // FixedBytes
	Model                        // the size of LP's model under the cap of the link (Eq. 1 and 2)
	Uncapped                     // the size of LP's model without the cap
	Parallel                     // all buckets of a key
	Sequential                   // bucket by bucket, up to the record of a key if keys are distinct
)

// Lookups says how keys are looked up.
type Lookups struct {
	Policy     Policy
	FixedBytes int // of a read of Fixed: as many slots as fit, and at least one
	Clusters   int // that a reader knows, by Model
	Depth      int // lookups in flight
}

const (
	maxReadBytes = 1 << 16
	// longReadBytes is what a read near a cluster may have at least.
	longReadBytes = 1 << 14
)

// Reader looks keys up, and counts what that takes: a worker of LP's Algorithm 1. It is not safe
// for concurrent use.
type Reader struct {
	t       *Table
	cfg     Lookups
	config  readsize.Config
	absent  *readsize.Law
	sizes   *readsize.Sizes
	size    int // slots of a read
	maxSize int
	q       queue
	ops     []op
	slots   core.Slots
	stats   index.Counts
	reads   Reads

	keys  []byte // that are looked up
	found func(i int, v index.Value)
}

// queue updates the clusters when all requests have been posted, while they are in flight (LP 4.4
// and Algorithm 1, line 15).
type queue struct {
	rma.Queue
	known clusters
}

func (q *queue) Submit() error {
	err := q.Queue.Submit()
	q.known.update()
	return err
}

// NewReader makes a reader.
func (t *Table) NewReader(l Lookups) (*Reader, error) {
	r := &Reader{t: t, cfg: l, ops: make([]op, l.Depth), slots: core.NewSlots(l.Depth)}
	if r.maxSize = 1; !t.cuckoo() {
		if err := r.choose(); err != nil {
			return nil, err
		}
	}
	q, err := t.job.NewQueue(l.Depth * (choices + 1))
	if err != nil {
		return nil, err
	}
	r.q = queue{q, newClusters(l.Clusters)}
	for i := range r.ops {
		o := &r.ops[i]
		o.r = r
		for range choices {
			b, err := q.Alloc((r.maxSize*t.bucketBytes+7)/8 + 1)
			if err != nil {
				return nil, errors.Join(err, q.Close())
			}
			o.in = append(o.in, b)
			if l.Policy != Parallel {
				break
			}
		}
	}
	return r, nil
}

// choose finds the size of reads.
func (r *Reader) choose() (err error) {
	t := r.t
	r.config = readsize.Config{Machine: readsize.EDR(), SlotBytes: t.bucketBytes,
		MaxSlots: maxReadBytes / t.bucketBytes}
	load := float64(t.Records) / (float64(t.homes) * float64(t.job.Size()))
	load = min(max(load, 0.01), readsize.MaxLoad)
	r.sizes, err = readsize.NewSizes(r.config, load)
	laws, err2 := readsize.NewLaws(load)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	r.absent = laws.Absent
	switch r.cfg.Policy {
	case Fixed:
		r.size = max(1, r.cfg.FixedBytes/t.bucketBytes)
	case Model:
		r.size = r.sizes.Capped
	default:
		r.size = r.sizes.Uncapped
	}
	if r.maxSize = r.size; r.cfg.Clusters > 0 {
		r.maxSize = max(r.size, longReadBytes/t.bucketBytes)
	}
	return nil
}

// LookupBatch looks up keys that are one after the other.
func (r *Reader) LookupBatch(keys []byte, found func(i int, v index.Value)) error {
	r.keys, r.found = keys, found
	n := len(keys) / r.t.KeyBytes
	return r.slots.Drive(context.Background(), &r.q, n, nil, len(r.ops), r)
}

// Start begins to look up a key.
func (r *Reader) Start(machine, i int) rma.Op {
	o, size := &r.ops[machine], r.t.KeyBytes
	o.number, o.key = i, r.keys[i*size:(i+1)*size]
	o.hash = hashKey(o.key)
	o.rank, o.home = place(o.hash, r.t.job.Size())
	o.signature = signatureOf(o.hash)
	o.at, o.bound, o.over = r.t.homeOf(o.home), r.t.buckets, false
	o.matches, o.asked = 0, 0
	if r.t.cuckoo() {
		o.at, o.bound = 0, choices
	}
	r.stats.Lookups++
	return o
}

// Finish counts what was found.
func (r *Reader) Finish(machine, _ int) {
	o := &r.ops[machine]
	r.stats.Matches += uint64(o.matches)
	r.reads[min(o.asked, maxReads)]++
}

// maxReads stands for itself and all larger numbers of reads.
const maxReads = 16

// Reads are how many lookups have taken so many reads of the table.
type Reads [maxReads + 1]uint64

// Add adds others.
func (r *Reads) Add(others *Reads) {
	for reads, n := range others {
		r[reads] += n
	}
}

// From is the share of lookups that have taken so many reads or more.
func (r *Reads) From(reads int) float64 {
	some, all := uint64(0), uint64(0)
	for i, n := range r {
		if all += n; i >= reads {
			some += n
		}
	}
	return float64(some) / float64(max(all, 1))
}

// Reads are the reads that lookups took.
func (r *Reader) Reads() Reads { return r.reads }

// Search finds the records of a key in the memory of this rank, in a table with linear probing and
// without a heap, and returns how many slots it has examined.
func (t *Table) Search(key []byte, found func(v index.Value)) (slots int) {
	_, rest := place(hashKey(key), t.job.Size())
	size := t.KeyBytes + t.ValueBytes
	all := bytesOf(t.window.Words(t.job.Rank()))[:t.buckets*size]
	for at := t.homeOf(rest) * size; at < len(all); at += size {
		slots++
		record := all[at : at+size]
		if bytes.Equal(record[:t.KeyBytes], t.Empty) {
			break
		}
		if bytes.Equal(record[:t.KeyBytes], key) {
			found(record[t.KeyBytes:])
		}
	}
	return slots
}

// Counts is what lookups took.
func (r *Reader) Counts() index.Counts { return r.stats }

// Close gives back the queue.
func (r *Reader) Close() error { return r.q.Close() }

// op is a lookup, in rounds: it posts gets of buckets, and when they have come gets of the records
// in the heap whose signatures fit, with the next buckets.
type op struct {
	r         *Reader
	number    int
	key       []byte
	hash      uint64
	rank      int
	home      uint64 // the place on the rank
	signature byte
	at, bound int // the next slot, or choice, and where they end
	over      bool
	matches   int
	asked     int // reads so far

	flights []rma.Handle
	in      []rma.Buf
	pieces  []piece
	refs    []int     // words of the heap where records begin
	heap    []rma.Buf // by record in flight
	records int       // in flight
}

// piece is buckets in flight.
type piece struct{ first, n, words, skip int }

// Step takes what has come and posts what is needed next.
func (o *op) Step(q rma.Queue) (rma.Handle, error) {
	for n := len(o.flights); n > 0; n = len(o.flights) {
		h := o.flights[n-1]
		if !q.Done(h) {
			return h, nil
		}
		o.flights = o.flights[:n-1]
		if _, err := q.Value(h); err != nil {
			return rma.NoHandle, fmt.Errorf("baseline: in the memory of rank %d: %w", o.rank, err)
		}
	}
	o.examine()
	if err := o.ask(q); err != nil {
		return rma.NoHandle, err
	}
	n := len(o.flights)
	if n == 0 {
		return rma.NoHandle, nil
	}
	o.r.stats.Rounds++
	return o.flights[n-1], nil
}

// examine examines what has come.
func (o *op) examine() {
	t := o.r.t
	for i, p := range o.pieces {
		buckets, end := bytesOf(o.in[i][:p.words])[p.skip:], o.bound
		for j := range p.n {
			if o.bucket(buckets[j*t.bucketBytes:][:t.bucketBytes]) && !t.cuckoo() {
				end, o.over = p.first+j, true
				break
			}
		}
		if o.over && !t.cuckoo() {
			o.r.q.known.note(o.rank*t.buckets, t.homeOf(o.home), end)
		}
	}
	o.pieces = o.pieces[:0]
	for _, record := range o.heap[:o.records] {
		o.record(bytesOf(record))
	}
	o.records = 0
}

// bucket examines a bucket, and reports whether a slot of it is empty.
func (o *op) bucket(bucket []byte) (empty bool) {
	t := o.r.t
	if t.Heap {
		for slot, signature := range bucket[:t.slots] {
			if signature == o.signature {
				offset := int(binary.LittleEndian.Uint32(bucket[t.slots:]))
				o.refs = append(o.refs, offset+slot*t.recordWords)
			}
			empty = empty || signature == 0
		}
		return empty
	}
	for size := t.KeyBytes + t.ValueBytes; len(bucket) > 0; bucket = bucket[size:] {
		o.record(bucket)
		empty = empty || bytes.Equal(bucket[:t.KeyBytes], t.Empty)
	}
	return empty
}

// record examines a record.
func (o *op) record(record []byte) {
	size := o.r.t.KeyBytes
	if bytes.Equal(record[:size], o.key) {
		o.matches++
		o.r.found(o.number, record[size:size+o.r.t.ValueBytes])
	}
}

// ask posts the next round.
func (o *op) ask(q rma.Queue) error {
	t, stats := o.r.t, &o.r.stats
	for ; o.records < len(o.refs); o.records++ {
		if o.records == len(o.heap) {
			b, err := q.Alloc(t.recordWords)
			if err != nil {
				return err
			}
			o.heap = append(o.heap, b)
		}
		o.flights = append(o.flights,
			q.Get(o.heap[o.records], t.window, o.rank, t.heapAt+o.refs[o.records]))
		stats.HeapRequests++
		stats.HeapBytes += uint64(t.recordWords) * 8
	}
	o.refs = o.refs[:0]
	switch {
	case o.over || o.at == o.bound:
	case !t.cuckoo():
		n := min(o.readSize(), o.bound-o.at)
		o.get(q, o.at, n)
		o.at += n
		o.over = o.at == o.bound
	case o.r.cfg.Policy == Parallel:
		for ; o.at < o.bound; o.at++ {
			o.get(q, t.bucketOf(o.hash, o.at), 1)
		}
	// A key that stands in the table once is not searched for when it may have been found.
	case !t.Distinct || o.matches == 0 && o.records == 0:
		o.get(q, t.bucketOf(o.hash, o.at), 1)
		o.at++
	}
	return nil
}

// readSize is how many slots the next read has.
func (o *op) readSize() int {
	r := o.r
	if r.cfg.Clusters > 0 {
		if distance, length := r.q.known.hint(o.rank*r.t.buckets + o.at); length > 0 {
			return min(Hinted(r.config, r.absent, distance, length, r.sizes), r.maxSize)
		}
	}
	return r.size
}

// get posts a get of buckets.
func (o *op) get(q rma.Queue, first, n int) {
	t := o.r.t
	from, to := first*t.bucketBytes, (first+n)*t.bucketBytes
	p := piece{first: first, n: n, words: (to+7)/8 - from/8, skip: from % 8}
	o.flights = append(o.flights, q.Get(o.in[len(o.pieces)][:p.words], t.window, o.rank, from/8))
	o.pieces = append(o.pieces, p)
	o.asked++
	stats := &o.r.stats
	stats.Requests++
	stats.Slots += uint64(n * t.slots)
	stats.Bytes += uint64(p.words) * 8
}
