package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// table is where the records of all ranks are, and what every rank knows of it.
//
//	rank r      | slots | heap | borders |        each begins with a whole word
//	heap        | record | record | ...           whole words
//	borders     | displacement | ...              bytes
//	slot        | key value |                     Inline
//	            | signature | displacement | offset |   Heap; arena.go has Hybrid
type table struct {
	job     rma.Job
	window  rma.Window
	batches core.Batches
	costs   rma.GetCosts // zero: not measured
	flat    []uint64     // all segments in order; nil where only queues reach some
	numbers numbers      // for searches of keys that are numbers
	far     far          // for searches of records in a heap

	description
	form      form
	ranks     int
	slotBytes int
	offsetAt  int // byte of a slot at which the offset into the heap is
	heapAt    int // word of a segment
	heapFirst int // words of the first get of a record
	heapMean  int // words of a record, in the mean
	bordersAt int
	borders   int // how many
	segment   int // words
	marked    rma.Window
	guides    []guide // by rank; none where the memory is not addressable
	peakBytes uint64  // that building took on this rank

	// image is the file that the table is in, and then there is no window, and ranks are
	// its segments; or nil.
	image     *image
	closed    atomic.Bool
	notMapped error // why Open has built it
}

const (
	signatureBytes    = 1
	displacementBytes = 1
	// maxDisplacement stands for itself and all larger ones.
	maxDisplacement = 255
	// borderHomes is how many homes are between two borders.
	borderHomes = 32
)

// inline reports whether records are in the slots.
func (t *table) inline() bool { return t.Storage == Inline }

// minFirstGetBytes is how much of a record of variable size is got at once at least: few are
// longer than twice the mean, and so much costs little beside the request.
const minFirstGetBytes = 128

// shape computes where everything is in a segment, from the number of its slots and the words
// of its heap, and how much of a record is got at once.
func (t *table) shape(slots, heapWords int) {
	t.offsetAt = signatureBytes + displacementBytes
	far := t.Records // that are in the heap
	switch t.Storage {
	case Inline:
		t.slotBytes = t.KeySize + t.ValueSize
	case Hybrid:
		t.offsetAt += t.form.prefix / sizeBytes
		t.slotBytes, far = t.offsetAt+max(t.InlineBytes, t.OffsetBytes), t.HeapRecords
	default:
		t.slotBytes = t.offsetAt + t.OffsetBytes
	}
	t.Slots, t.HeapWords = slots, heapWords
	t.heapAt = (slots*t.slotBytes + 7) / 8
	t.bordersAt = t.heapAt + heapWords
	t.borders = int(t.Homes/borderHomes) + 2
	// Segments are whole lines, so that every segment begins at one.
	t.segment = max(8, (t.bordersAt+(t.borders+7)/8+7)/8*8)
	t.heapFirst = t.form.maxWords()
	t.heapMean = t.heapFirst
	if t.form.prefix > 0 && far > 0 {
		t.heapMean = max(1, min(t.heapFirst, int(uint64(heapWords)*uint64(t.ranks)/far)))
		t.heapFirst = min(t.heapFirst, max(2*t.heapMean, minFirstGetBytes/8))
	}
}

// putOffset and offset write and read an offset into the heap.
func (t *table) putOffset(to []byte, offset int) {
	if t.OffsetBytes == 4 {
		binary.LittleEndian.PutUint32(to, uint32(offset))
		return
	}
	binary.LittleEndian.PutUint64(to, uint64(offset))
}

func (t *table) offset(from []byte) int {
	if t.OffsetBytes == 4 {
		return int(binary.LittleEndian.Uint32(from))
	}
	return int(binary.LittleEndian.Uint64(from))
}

// span is where so many slots from first on are: words of a segment, and how many bytes of
// the first word come before them.
func (t *table) span(first, n int) (at, words, skip int) {
	from, to := first*t.slotBytes, (first+n)*t.slotBytes
	at = from / 8
	return at, (to+7)/8 - at, from % 8
}

// saturated is how far a slot is after a home, at most maxDisplacement.
func saturated(slot, home uint64) byte {
	if slot <= home {
		return 0
	}
	return byte(min(slot-home, maxDisplacement))
}

const (
	golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
	pi0    = 0x243F6A8885A308D3 // digits of pi, which nobody has chosen
	pi1    = 0x13198A2E03707344
)

// mix spreads a word over all bits, the high ones best. It is a bijection.
func mix(w uint64) uint64 {
	w *= golden
	w ^= w >> 32
	return w * golden
}

// hashKey gives the word from which the place of a key comes. Different keys of one size of 4 to 8
// bytes have different words.
func hashKey(key []byte) uint64 {
	switch n := len(key); {
	case n == 4:
		return mix(uint64(binary.LittleEndian.Uint32(key)))
	case n == 8:
		return mix(binary.LittleEndian.Uint64(key))
	case n > 4 && n < 8:
		low := uint64(binary.LittleEndian.Uint32(key))
		return mix(low | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<32)
	}
	return xxh3.Hash(key)
}

// place divides a hash: the high part is a rank, and the rest says where on it. Both rise
// with the hash.
func place(hash uint64, ranks int) (rank int, rest uint64) {
	high, low := bits.Mul64(hash, uint64(ranks))
	return int(high), low
}

// homeOf is the home on a rank.
func homeOf(rest, homes uint64) uint64 {
	home, _ := bits.Mul64(rest, homes)
	return home
}

// signatureOf is 1 to 255: 0 is a slot without a record.
func signatureOf(hash uint64) byte { return byte(1 + core.Fold(hash^pi0, pi1)%255) }

// Empty slots of an inline table hold a key that no record has. It is chosen among so many keys.
// They are scattered over all keys, so that no range of numbers contains all of them.
const markers = 1 << 16

const (
	marker1, unmarker1 = 0x9E3779B1, 0x0E8B2F51 // inverse modulo 2^32
	marker2, unmarker2 = 0x85EBCA6B, 0xA5CB9243
)

// markerKey is key number i of the keys that may mark empty slots: 4 bytes, and zeros.
func markerKey(i uint32, key []byte) {
	clear(key)
	word := i * unmarker2
	word ^= word >> 16
	binary.LittleEndian.PutUint32(key, word*unmarker1)
}

// markerNumber is the number of a key among these, and markers or more for other keys.
func markerNumber(key []byte) uint32 {
	word := binary.LittleEndian.Uint32(key) * marker1
	word ^= word >> 16
	word *= marker2
	if word >= markers {
		return word
	}
	for _, b := range key[4:] {
		if b != 0 {
			return markers
		}
	}
	return word
}

// form is how records fill whole words, while a table is built and in its heap:
//
//	fixed      | key | value | zeros |
//	variable   | bytes of the key: 2 | bytes of the value: 2 | key | value | zeros |
//
// There are the bytes only of what varies.
type form struct {
	keySize, valueSize int  // the longest
	keysVary, vary     bool // keys, and values
	prefix             int  // bytes in front of the key
}

// sizeBytes is how many bytes the size of a key or a value takes.
const sizeBytes = 2

func formOf(c *Config) form {
	f := form{keySize: c.KeySize, valueSize: c.ValueSize, keysVary: c.VariableKeys,
		vary: c.Variable}
	for _, varies := range []bool{f.keysVary, f.vary} {
		if varies {
			f.prefix += sizeBytes
		}
	}
	return f
}

// check refuses a record of the wrong size.
func (f *form) check(r Record) error {
	if err := f.checkKey(r.Key); err != nil {
		return err
	}
	return checkSize("value", len(r.Value), f.valueSize, f.vary)
}

// checkKey refuses a key of the wrong size.
func (f *form) checkKey(key []byte) error {
	if f.takes(len(key)) {
		return nil
	}
	return checkSize("key", len(key), f.keySize, f.keysVary)
}

// takes reports whether keys may have a size.
func (f *form) takes(size int) bool {
	return size == f.keySize || f.keysVary && size < f.keySize
}

func checkSize(what string, size, want int, vary bool) error {
	if size == want || vary && size < want {
		return nil
	}
	most := ""
	if vary {
		most = "at most "
	}
	return fmt.Errorf("index: a %s of %s; this index has %ss of %s%d", what,
		plural.Of(size, "byte"), what, most, want)
}

// words is the length of a record.
func (f *form) words(keySize, valueSize int) int {
	return int(uint(f.prefix+keySize+valueSize+7) / 8)
}

// maxWords is the length of the longest one.
func (f *form) maxWords() int { return f.words(f.keySize, f.valueSize) }

// wordsAt is the length of the record that begins with a word.
func (f *form) wordsAt(first uint64) int { return f.words(f.sizesAt(first)) }

// sizesAt are the bytes of the key and of the value of the record that begins with a word.
func (f *form) sizesAt(first uint64) (key, value int) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], first)
	return f.sizes(binary.LittleEndian.Uint32(b[:]))
}

// sizes are the bytes of the key and of the value of the record that begins with a number.
func (f *form) sizes(first uint32) (key, value int) {
	key, value = f.keySize, f.valueSize
	if f.keysVary {
		key = int(first & 0xffff)
		first >>= 16
	}
	if f.vary {
		value = int(first & 0xffff)
	}
	return key, value
}

// encode writes a record into as many words as it has.
func (f *form) encode(to []uint64, key, value []byte) {
	to[len(to)-1] = 0
	b := core.BytesOf(to)
	if f.keysVary {
		binary.LittleEndian.PutUint16(b, uint16(len(key)))
		b = b[sizeBytes:]
	}
	if f.vary {
		binary.LittleEndian.PutUint16(b, uint16(len(value)))
		b = b[sizeBytes:]
	}
	copy(b, key)
	copy(b[len(key):], value)
}

// decode is what a whole record has.
func (f *form) decode(record []uint64) Record {
	key, value := f.sizesAt(record[0])
	b := core.BytesOf(record)[f.prefix:]
	return Record{b[:key:key], b[key : key+value : key+value]}
}

// key is the key of a record.
func (f *form) key(record []uint64) []byte { return f.decode(record).Key }

// Borders and marks guide searches. A reader gets them beforehand, for all ranks; searches in
// addressable memory read them there:
//
//	border   the displacement at every 32nd home, in a byte
//	mark     a home and a slot: records of homes before that one are before the slot, and
//	         records of the home and later ones are there or after. There is one for every
//	         border that does not fit in a byte, and two around a home with many records.
//
// Tables whose keys differ have hardly any marks.

// mark takes 16 bytes in a window and in a file: its numbers, little-endian.
type mark struct{ home, slot uint64 }

const (
	markBytes = 16
	// runMarked is how many records of a home have marks around them.
	runMarked = 2 * borderHomes
)

// put writes a mark.
func (m mark) put(to []byte) {
	binary.LittleEndian.PutUint64(to, m.home)
	binary.LittleEndian.PutUint64(to[8:], m.slot)
}

// guide is what searches on a rank are guided by.
type guide struct {
	borders []byte
	marks   []byte
}

// mark is number i of the marks.
func (g *guide) mark(i int) mark {
	b := g.marks[i*markBytes:]
	return mark{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// guideBytes is the guides of all ranks.
func (t *table) guideBytes() uint64 {
	n := uint64(t.borders) * uint64(t.ranks)
	for _, s := range t.Segments {
		n += uint64(s.Marks) * markBytes
	}
	return n
}

// findGuides finds the guides of the ranks whose memory is addressable.
func (t *table) findGuides() {
	t.guides = make([]guide, t.ranks)
	for rank := range t.guides {
		memory := t.words(rank)
		if memory == nil {
			continue
		}
		g := guide{borders: core.BytesOf(memory[t.bordersAt:])[:t.borders]}
		if n := t.Segments[rank].Marks * markBytes; n > 0 && t.image != nil {
			g.marks = t.image.memory[t.marksAt(t.image.header, rank):][:n]
		} else if n > 0 {
			marks := t.marked.Words(rank)
			if marks == nil {
				continue
			}
			g.marks = core.BytesOf(marks)[:n]
		}
		t.guides[rank] = g
	}
}

// guidesOf gets the guides of some ranks. A rank whose memory is lost has none, and failed says so.
func (t *table) guidesOf(ctx context.Context, ranks ...int) (guides []guide, failed error) {
	var marks *core.Reader
	borders, err := core.NewReader(t.job, t.window, new(core.Regions), (t.borders+7)/8)
	if err == nil && t.marked != nil {
		marks, err = core.NewReader(t.job, t.marked, new(core.Regions), t.marked.Len())
	}
	defer func() { _ = errors.Join(borders.Close(), marks.Close()) }()
	if err != nil {
		return nil, err
	}
	fetch := func(from *core.Reader, rank, off, n int) []byte {
		if n == 0 || err != nil {
			return nil
		}
		var words []uint64
		words, err = from.Read(ctx, rank, off, (n+7)/8)
		return bytes.Clone(core.BytesOf(words)[:min(n, len(words)*8)])
	}
	for _, rank := range ranks {
		g := t.guides[rank]
		if err = nil; g.borders == nil {
			g = guide{fetch(borders, rank, t.bordersAt, t.borders),
				fetch(marks, rank, 0, t.Segments[rank].Marks*markBytes)}
		}
		if err != nil {
			g, failed = guide{}, rankError(rank, err)
		}
		guides = append(guides, g)
	}
	return guides, failed
}

// address takes the memory that this process addresses directly.
func (t *table) address(r core.Regions) {
	if t.batches.Regions, t.batches.InOnePiece = r, true; r.Whole != nil {
		t.flat = r.Whole.Words
	}
}

// words is the memory of a rank, nil where only queues reach it.
func (t *table) words(rank int) []uint64 {
	switch {
	case t.flat != nil:
		return t.flat[rank*t.segment : (rank+1)*t.segment]
	case t.window != nil:
		return t.window.Words(rank)
	}
	return nil
}

// segments are all segments.
func (t *table) segments() (numbers []int) {
	for number := range t.ranks {
		numbers = append(numbers, number)
	}
	return numbers
}

// ownSegments are the segments whose records are this rank's to save, check and list: its own,
// or its part of a file.
func (t *table) ownSegments() (numbers []int) {
	if t.image == nil {
		return []int{t.job.Rank()}
	}
	for number := t.job.Rank(); number < t.ranks; number += t.job.Size() {
		numbers = append(numbers, number)
	}
	return numbers
}

// close gives the memory back.
func (t *table) close() error {
	t.closed.Store(true)
	errs := []error{t.batches.Close()}
	t.flat = nil
	for _, w := range []rma.Window{t.window, t.marked} {
		if w != nil {
			errs = append(errs, w.Close())
		}
	}
	return errors.Join(append(errs, t.image.close())...)
}

// guarded calls what reads the table. Where a page of a mapped file cannot be read, as its
// disk fails or somebody has cut it short, that is an error and not the end of the process. It is
// one as well where such a file now ends inside a page, whose rest can be read and is zero.
func (t *table) guarded(read func() error) (err error) {
	if t.image == nil {
		return read()
	}
	defer t.recovered(debug.SetPanicOnFault(true), &err)
	if err = read(); t.image.cut() {
		err = t.image.lost()
	}
	return err
}

// recovered is deferred by what reads a mapped file. before is what SetPanicOnFault has returned.
func (t *table) recovered(before bool, err *error) {
	debug.SetPanicOnFault(before)
	panicked := recover()
	if panicked == nil {
		return
	}
	fault, ok := panicked.(interface{ Addr() uintptr })
	if !ok || !t.image.holds(fault.Addr()) {
		panic(panicked)
	}
	*err = t.image.lost()
}

// cut reports whether a file that is mapped has been truncated since it was opened: then the end
// mark is zero, or cannot be read. Whatever was read before is right if it has not.
func (m *image) cut() bool {
	return m != nil && m.memory != nil &&
		binary.LittleEndian.Uint64(m.memory[len(m.memory)-8:]) != m.end
}

func (m *image) lost() error {
	return fmt.Errorf("index: a page of %s cannot be read any more: its disk fails, or it was "+
		"truncated", m.path)
}

// holds reports whether an address is in the mapped file.
func (m *image) holds(address uintptr) bool {
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(m.memory)))
	return address >= begin && address-begin < uintptr(len(m.memory))
}

// errClosed is the answer of an index that has been closed.
var errClosed = fmt.Errorf("index: the index is %w", rma.ErrClosed)

// rankError says in whose memory something failed.
func rankError(rank int, err error) error {
	return fmt.Errorf("index: in the memory of rank %d: %w", rank, err)
}
