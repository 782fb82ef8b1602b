package baseline

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/measure"
)

// Config shapes a Table.
type Config struct {
	KeyBytes, ValueBytes int
	Records              int // of all ranks
	Load                 float64
	// Heap keeps records beside the slots, which have signatures of a byte.
	Heap bool
	// BucketSlots is the slots of a bucket of cuckoo hashing, 1 or 4. 0 is linear probing.
	BucketSlots int
	// Distinct says that no key has two records.
	Distinct bool
	// Empty is a key that no record has.
	Empty []byte
}

// Table has the records of all ranks. It is only read.
type Table struct {
	Config
	job         rma.Job
	window      rma.Window
	homes       int // of each rank; of cuckoo hashing the buckets of each choice
	buckets     int // of each rank
	slots       int // of a bucket
	bucketBytes int
	recordWords int // in the heap
	heapAt      int // word of a segment
	seed        uint64
}

const (
	choices     = 3 // buckets of a key, of cuckoo hashing
	offsetBytes = 4
	// maxMoves is how many records an insertion moves at most before another seed is tried, and
	// maxSeeds how many seeds are tried.
	maxMoves = 20000
	maxSeeds = 40
	// partShift leaves the bits of a place that number one of 1024 parts of a rank.
	partShift = 54
)

// record is a key and a value, the key's hash, and what it says of the place on the rank.
type record struct {
	hash, rest uint64
	bytes      []byte
}

// MaxLoad is the highest load of a table with such buckets.
func MaxLoad(bucketSlots int) float64 {
	if bucketSlots == 1 {
		return 0.90 // a little below the threshold from which on no table of some size exists
	}
	return 0.99
}

// Build makes a table of records, all of which every rank gives. Collective.
func Build(ctx context.Context, job rma.Job, cfg Config,
	records iter.Seq2[index.Record, error]) (*Table, error) {
	t := &Table{Config: cfg, job: job, slots: max(cfg.BucketSlots, 1),
		recordWords: (cfg.KeyBytes + cfg.ValueBytes + 7) / 8}
	t.bucketBytes = t.slots * (cfg.KeyBytes + cfg.ValueBytes)
	if cfg.Heap {
		t.bucketBytes = t.slots + offsetBytes
	}
	mine, owned := []record(nil), make([]int, job.Size())
	if t.homes = ceil(float64(cfg.Records) / (cfg.Load * float64(job.Size()))); t.cuckoo() {
		t.homes = 0
	}
	homes := make([]uint32, t.homes*job.Size()) // their records
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		hash := hashKey(r.Key)
		rank, rest := place(hash, job.Size())
		if owned[rank]++; !t.cuckoo() {
			homes[rank*t.homes+t.homeOf(rest)]++
		}
		if rank == job.Rank() {
			mine = append(mine, record{hash, rest, slices.Concat(r.Key, r.Value)})
		}
	}
	// An index also builds part by part. LP leaves the order of insertions open.
	slices.SortStableFunc(mine, func(a, b record) int {
		return cmp.Compare(a.rest>>partShift, b.rest>>partShift)
	})
	var refs []uint32 // by slot: 1 and the number of its record
	var err error
	if t.cuckoo() {
		refs, err = t.cuckooSlots(ctx, mine, owned)
	} else {
		refs = t.linearSlots(mine, homes)
	}
	if err == nil {
		err = t.write(ctx, t.segment(refs, mine), owned)
	}
	return t, err
}

func (t *Table) cuckoo() bool { return t.BucketSlots > 0 }

func ceil(x float64) int { return int(max(1, math.Ceil(x))) }

// linearSlots finds how many slots a rank needs, and gives this rank's records theirs, in the order
// of their homes.
func (t *Table) linearSlots(mine []record, homes []uint32) (refs []uint32) {
	first := make([]int, t.homes) // free slot for a home of this rank
	for rank := range t.job.Size() {
		free := 0
		for home, n := range homes[rank*t.homes:][:t.homes] {
			if n > 0 {
				free = max(free, home)
				if rank == t.job.Rank() {
					first[home] = free
				}
				free += int(n)
			}
		}
		t.buckets = max(t.buckets, t.homes, free)
	}
	refs = make([]uint32, t.buckets)
	for i, record := range mine {
		home := t.homeOf(record.rest)
		refs[first[home]] = uint32(i) + 1
		first[home]++
	}
	return refs
}

// cuckooSlots finds places for this rank's records, with a seed by which every rank can.
func (t *Table) cuckooSlots(ctx context.Context, mine []record, owned []int) ([]uint32, error) {
	for _, n := range owned {
		t.homes = max(t.homes, ceil(float64(n)/t.Load/float64(choices*t.slots)))
	}
	t.buckets = choices * t.homes
	var err error
	for t.seed = range uint64(maxSeeds) {
		refs, full := t.cuckooPlaces(mine), error(nil)
		if refs == nil {
			full = fmt.Errorf("baseline: no cuckoo table of load %v was found", t.Load)
		}
		if err = rma.AllSucceeded(ctx, t.job, "baseline: build", full); err == nil {
			return refs, nil
		}
	}
	return nil, err
}

// cuckooPlaces puts each record where there is room, after moving others at random if there is not.
// Earlier choices come first, so that a search that goes through them is short. It returns nil if a
// record has no place.
func (t *Table) cuckooPlaces(mine []record) (refs []uint32) {
	refs = make([]uint32, t.buckets*t.slots)
	random := mix(t.seed + 1)
insertions:
	for i := range mine {
		ref, from := uint32(i)+1, -1 // the bucket that the record has left
		for range maxMoves {
			var others []int
			for choice := range choices {
				bucket := t.bucketOf(mine[ref-1].hash, choice)
				for slot := bucket * t.slots; slot < (bucket+1)*t.slots; slot++ {
					if refs[slot] == 0 {
						refs[slot] = ref
						continue insertions
					}
				}
				if bucket != from {
					others = append(others, bucket)
				}
			}
			random = random*0x5851F42D4C957F2D + 0x14057B7EF767814F
			draw := mix(random) >> 32
			from = others[int(draw%uint64(len(others)))]
			slot := from*t.slots + int(draw>>8)%t.slots
			ref, refs[slot] = refs[slot], ref
		}
		return nil
	}
	return refs
}

// segment is this rank's memory.
func (t *Table) segment(refs []uint32, records []record) []uint64 {
	t.heapAt = (t.buckets*t.bucketBytes + 7) / 8
	words := t.heapAt + 1 // gets of buckets are of whole words
	if t.Heap {
		words += len(records) * t.recordWords
	}
	all := make([]uint64, words)
	to, heap := bytesOf(all), 0
	for i, ref := range refs {
		bucket, slot := to[i/t.slots*t.bucketBytes:][:t.bucketBytes], i%t.slots
		switch size := t.bucketBytes / t.slots; {
		case !t.Heap && ref == 0:
			copy(bucket[slot*size:], t.Empty)
		case !t.Heap:
			copy(bucket[slot*size:], records[ref-1].bytes)
		case ref != 0:
			record := records[ref-1]
			if bucket[slot] = signatureOf(record.hash); slot == 0 {
				binary.LittleEndian.PutUint32(bucket[t.slots:], uint32(heap))
			}
			copy(to[(t.heapAt+heap)*8:], record.bytes)
			heap += t.recordWords
		}
	}
	return all
}

// write has every rank write its segment, of which the longest says how long all are.
func (t *Table) write(ctx context.Context, segment []uint64, owned []int) (err error) {
	words := len(segment)
	if t.Heap {
		for _, n := range owned {
			words = max(words, t.heapAt+1+n*t.recordWords)
		}
	}
	t.window, err = t.job.NewWindow(ctx, rma.Spec{Name: "baseline: table", Words: words})
	if err != nil {
		return err
	}
	if memory := t.window.Words(t.job.Rank()); memory != nil {
		copy(memory, segment)
	} else {
		err = t.put(ctx, segment)
	}
	return rma.AllSucceeded(ctx, t.job, "baseline: build", err)
}

// put writes a segment that is not addressable.
func (t *Table) put(ctx context.Context, segment []uint64) error {
	const piece = 1 << 13 // words
	q, err := t.job.NewQueue(1)
	if err != nil {
		return err
	}
	buf, err := q.Alloc(piece)
	for at := 0; at < len(segment) && err == nil; at += piece {
		n := copy(buf, segment[at:])
		err = measure.One(ctx, q, q.Put(buf[:n], t.window, t.job.Rank(), at))
	}
	return errors.Join(err, q.Close())
}

// Bytes is the size of a rank's memory.
func (t *Table) Bytes() uint64 { return uint64(t.window.Len()) * 8 }

// Close gives this rank's memory back.
func (t *Table) Close() error { return t.window.Close() }

// mix spreads a word over all bits, the high ones best.
func mix(w uint64) uint64 {
	w *= golden
	w ^= w >> 32
	return w * golden
}

const (
	golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
	pi0    = 0x243F6A8885A308D3 // digits of pi
	pi1    = 0x13198A2E03707344
)

// fold is the product of two words with its halves laid over each other.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func hashKey(key []byte) uint64 {
	if len(key) == 4 { // LP's
		return mix(uint64(binary.LittleEndian.Uint32(key)))
	}
	return xxh3.Hash(key)
}

// place divides a hash into a rank and a place on it.
func place(hash uint64, ranks int) (rank int, rest uint64) {
	high, low := bits.Mul64(hash, uint64(ranks))
	return int(high), low
}

func (t *Table) homeOf(rest uint64) int {
	home, _ := bits.Mul64(rest, uint64(t.homes))
	return int(home)
}

func signatureOf(hash uint64) byte { return byte(1 + fold(hash^pi0, pi1)%255) }

// choiceWords make the buckets of a key differ.
var choiceWords = [choices]uint64{0x082EFA98EC4E6C89, 0x452821E638D01377, 0xBE5466CF34E90C6D}

// bucketOf is a choice of a key. Each choice has a part of the buckets for itself.
func (t *Table) bucketOf(hash uint64, choice int) int {
	word := fold(hash^choiceWords[choice], (t.seed*golden^pi0)|1)
	return choice*t.homes + t.homeOf(mix(word))
}

// bytesOf is the memory of words.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
