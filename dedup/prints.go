package dedup

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// prints remembers records by fingerprints of 126 bits. A fingerprint is two words of 63 bits, and
// a record was seen before if both are in one set of words. So a record is taken for another only
// if each of its words is the same as one of the words of other records.
//
// A batch is begun, takes fingerprints, and is answered. A record that repeats another one of the
// batch is found in a small table, so that the set sees no word twice: its batches are in no order,
// and the first of equal records is the one to keep.
type prints struct {
	job    rma.Job
	set    *set.Set
	shared *set.Bytes // of all ranks, in place of set
	growth growth
	taken  uint64 // words

	n       int      // records of the batch
	at      []int32  // records that repeat no other one of the batch
	words   []uint64 // their fingerprints
	results []set.Result
	firsts  []uint16 // a table of them, by their number plus one
	used    int      // how much of the table this batch uses: a power of two
}

// bytesPerBucket is what a set of words takes for each bucket of its last table: the table, and the
// one before it while it grows.
const bytesPerBucket = 12

const (
	printBytes = 16 // of a fingerprint

	// slotBytes is what the slots of elements take for each bucket, and bytesPerElementBucket is
	// bytesPerBucket for a set of elements.
	slotBytes             = printBytes - printBytes/16
	bytesPerElementBucket = bytesPerBucket + slotBytes
)

func newPrints(memoryBytes, records uint64) (*prints, error) {
	p := &prints{job: local.Single(), growth: planGrowthFor(2*records, memoryBytes),
		at: make([]int32, batchRecords), words: make([]uint64, 2*batchRecords),
		results: make([]set.Result, 2*batchRecords), firsts: make([]uint16, 2*batchRecords)}
	var err error
	p.set, err = set.New(context.Background(), p.job, set.Config{Buckets: p.growth.first,
		MaxBytes: max(memoryBytes, minBuckets*bytesPerBucket)})
	if err != nil {
		return nil, errors.Join(err, p.job.Close())
	}
	return p, nil
}

// newSharedPrints is prints of the ranks of a job, which are elements: of ranks that insert an
// equal one at the same time, exactly one is told so. memoryBytes 0 means what a set takes then.
// Collective.
func newSharedPrints(ctx context.Context, job rma.Job, memoryBytes uint64) (*prints, error) {
	p := &prints{job: job, at: make([]int32, batchRecords), words: make([]uint64, 2*batchRecords),
		results: make([]set.Result, batchRecords), firsts: make([]uint16, 2*batchRecords)}
	cfg := set.BytesConfig{ElementBytes: printBytes}
	if cfg.MaxBytes = memoryBytes; memoryBytes > 0 {
		buckets := planGrowth(memoryBytes, bytesPerElementBucket).first
		cfg.Buckets = buckets / uint64(job.Size()) * uint64(job.Size())
	}
	var err error
	p.shared, err = set.NewBytes(ctx, job, cfg)
	return p, err
}

func (p *prints) close() error {
	if p.shared != nil {
		return p.shared.Close()
	}
	return errors.Join(p.set.Close(), p.job.Close())
}

// begin begins a batch of up to n records.
func (p *prints) begin(n int) {
	p.used = 2 << bits.Len(uint(n-1))
	clear(p.firsts[:p.used])
	p.n, p.at, p.words = 0, p.at[:0], p.words[:0]
}

// add adds a record to the batch.
func (p *prints) add(h xxh3.Uint128) {
	low, high := h.Lo>>1, h.Hi>>1
	mask := p.used - 1
	i := int(low) & mask
	for ; p.firsts[i] != 0; i = (i + 1) & mask {
		if k := 2 * (int(p.firsts[i]) - 1); p.words[k] == low && p.words[k+1] == high {
			// mark: a record repeats another one of its batch
			p.n++
			return
		}
	}
	p.at = append(p.at, int32(p.n))
	p.firsts[i] = uint16(len(p.at))
	p.words = append(p.words, low, high)
	p.n++
}

// answer ends the batch. It returns how many records it has answered from the first on, and how
// many of them are new; the next one is new and has no room if these are not all.
func (p *prints) answer(seen []bool) (answered, added int, err error) {
	for i := range seen[:p.n] {
		seen[i] = true
	}
	if p.shared != nil {
		return p.answerShared(seen)
	}
	if p.taken+uint64(len(p.words)) > p.growth.capacity() {
		return p.answerSingly(seen)
	}
	results := p.results[:len(p.words)]
	if err := p.set.FindOrPutBatch(p.words, results); err != nil {
		return 0, 0, err
	}
	for k, i := range p.at {
		inserted := p.inserted(results[2*k], results[2*k+1])
		seen[i] = !inserted
		if inserted {
			added++
		}
	}
	return p.n, added, nil
}

// answerShared is answer for all ranks. A record that has no room is not new.
func (p *prints) answerShared(seen []bool) (answered, added int, err error) {
	results := p.results[:len(p.at)]
	fingerprints := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.words))), 8*len(p.words))
	err = p.shared.FindOrPutPacked(fingerprints, results, nil)
	for k, i := range p.at {
		if results[k] == set.Inserted {
			seen[i] = false
			added++
		}
	}
	return p.n, added, err
}

// sharedLen is how many fingerprints all ranks have inserted, as far as they can be asked.
func (p *prints) sharedLen() uint64 {
	n, _ := p.shared.Len(context.Background()) // without an answer it is 0
	return n
}

// inserted counts the words of a record, and reports whether it is new.
func (p *prints) inserted(low, high set.Result) bool {
	n := uint64(0)
	if low == set.Inserted {
		n++
	}
	if high == set.Inserted {
		n++
	}
	p.taken += n
	return n > 0
}

// answerSingly is answer where the set may become full: no record is stored after one that has no
// room.
func (p *prints) answerSingly(seen []bool) (answered, added int, err error) {
	for k, i := range p.at {
		words := p.words[2*k : 2*k+2]
		results := p.results[:2]
		room := p.taken+2 <= p.growth.capacity()
		if room {
			err = p.set.FindOrPutBatch(words, results)
		} else {
			err = p.set.ContainsBatch(words, results)
		}
		if err != nil {
			return int(i), added, err
		}
		if !room && (results[0] != set.Found || results[1] != set.Found) {
			return int(i), added, nil
		}
		if seen[i] = !p.inserted(results[0], results[1]); !seen[i] {
			added++
		}
	}
	return p.n, added, nil
}

func (p *prints) buckets() uint64 { return p.set.Config().Buckets }

func (p *prints) bytes() uint64 {
	if p.shared != nil {
		return p.shared.Config().Buckets*bucketBytes + p.sharedLen()*printBytes
	}
	return p.buckets() * bucketBytes
}

// enoughBytes is a limit with which the set would hold twice as many records.
func (p *prints) enoughBytes() uint64 { return enoughBytes(2*p.taken, bytesPerBucket) }

// sharedChance is a bound on the chance that any of so many distinct records has the fingerprint of
// another one.
func sharedChance(records uint64) float64 {
	d := float64(records)
	return math.Ldexp(d*d, -127)
}

// chance is a bound on the chance that any of so many distinct records was taken for another one:
// the n-th finds each of its words among the 2n before it with a chance of up to n/2^62.
func chance(records uint64) float64 {
	d := float64(records)
	return math.Ldexp(d*d*d/3, -124)
}

// growth is the sizes of the tables of a set that grows up to a limit: each is twice the one
// before it, and the last one takes all of the limit.
type growth struct {
	first, last uint64 // buckets
}

// planGrowth plans for sets that take bytesPerBucket for each bucket of their last table.
func planGrowth(memoryBytes, bytesPerBucket uint64) growth {
	last := max(memoryBytes/bytesPerBucket, minBuckets)
	doublings := 0
	for last>>doublings > firstBuckets {
		doublings++
	}
	first := max(last>>doublings/8*8, minBuckets)
	return growth{first: first, last: first << doublings}
}

// planGrowthFor is planGrowth for a set of words of which there are hardly more than a number: one
// of its tables is just large enough. A table is four times the one before it while there is much
// memory, and the first touch of memory costs most of the time where few records repeat. Where
// memory is less than 8 times as large, or the number is 0, it is as without.
func planGrowthFor(words, memoryBytes uint64) growth {
	enough := words*100/restLoad + 1
	if words == 0 || enough > memoryBytes/bucketBytes/8 {
		return planGrowth(memoryBytes, bytesPerBucket)
	}
	steps := 0
	for enough>>steps > firstBuckets {
		steps += 2
	}
	first := max((enough>>steps)/8*8+8, minBuckets)
	last := first << steps
	for last*(bucketBytes+2*bucketBytes) <= memoryBytes {
		last *= 2
	}
	// The set's last table takes what is left beside the one before it, if that is worth it.
	if rest := (memoryBytes/bucketBytes - last) / 8 * 8; rest >= last+last/4 {
		last = rest
	}
	return growth{first: first, last: last}
}

// capacity is how many words or elements the last table holds.
func (g *growth) capacity() uint64 { return g.last * fullLoad / 100 }

// enoughBytes is a limit with which a set has room for n words or elements.
func enoughBytes(n, bytesPerBucket uint64) uint64 {
	return (n*100/fullLoad + firstBuckets) * bytesPerBucket
}

const (
	firstBuckets = 1 << 16 // of the first table, at most
	minBuckets   = 64
	bucketBytes  = 8

	// restLoad is a load factor at which a table hardly ever begins to move, in percent. Samples
	// say whether it is at growLoad.
	restLoad = 72

	// fullLoad is the load factor at which a set is full, in percent.
	fullLoad = 90
)
