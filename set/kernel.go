package set

import (
	"fmt"
	"slices"
	"unsafe"
)

// Kernel names a loop that searches a batch of words over directly addressable
// memory. All give the same answers; they differ in speed.
type Kernel string

const (
	// KernelAuto is the first of Kernels that the table allows.
	KernelAuto Kernel = ""
	// KernelAVX512 keeps a ring of searches in flight and compares a cache line of
	// 8 buckets at once. It needs AVX-512 and homes at cache lines.
	KernelAVX512 Kernel = "avx512"
	// KernelAVX2 does the same in two halves, on AVX2.
	KernelAVX2 Kernel = "avx2"
	// KernelPortable is plain Go: the first buckets of a block of words are loaded
	// together. The only one under the race detector, which cannot instrument assembly.
	KernelPortable Kernel = "portable"
)

// Kernels lists those that this processor can run, the preferred one first.
func Kernels() []Kernel { return append(vectorKernels(), KernelPortable) }

// InFlight is how many searches for words are in flight at most.
func (k Kernel) InFlight() int {
	if k == KernelPortable || k == KernelAuto && Kernels()[0] == KernelPortable {
		return blockWords
	}
	return flights
}

// choose returns the kernel for a table.
func (k Kernel) choose(t *table) (Kernel, error) {
	fits := t.unit == lineBuckets && chunkIsPowerOfTwo(t)
	vector := vectorKernels()
	switch {
	case k == KernelPortable, k == KernelAuto && (!fits || len(vector) == 0):
		return KernelPortable, nil
	case k == KernelAuto:
		return vector[0], nil
	case slices.Contains(vector, k) && fits:
		return k, nil
	case !fits:
		return "", fmt.Errorf("set: kernel %q needs HomeLine and a power of two as Chunk", k)
	}
	return "", fmt.Errorf("set: kernel %q does not run here; there are %v", k, Kernels())
}

func chunkIsPowerOfTwo(t *table) bool { return t.geometry.chunk&(t.geometry.chunk-1) == 0 }

const (
	// kernelWords is how many words a kernel works on in one call. The scheduler runs between
	// calls: assembly cannot be preempted. A call takes some 30 microseconds.
	kernelWords = 2048

	// flights is how many searches a kernel has in flight at most; the assembly has room for as
	// many. 64 insert a fifth more than 32 on an AMD
	// Zen 5 (122 and 101 million words a second), and 1 to 5 % more on an Intel Sapphire Rapids.
	flights = 64
)

// slots is how many searches are in flight of a piece of n words. While the first lines arrive
// nothing can be compared, and while the last words are compared no line arrives: so fewer of a
// small piece. Of 64 words, 24 in flight insert a quarter more than 64 on an Intel Sapphire Rapids.
func slots(n int) uint64 { return uint64(min((n+1)/2, 16+n/8, flights)) }

// kernelWork is the arguments and results of a kernel. The assembly knows the offsets.
//
// A kernel visits its flights in turn. It compares a line with the word and with
// zero; the line was prefetched one turn before. Then it has found the word, or
// claims the first empty bucket, or prefetches the next line and examines it
// one turn later. It examines buckets in the order of the other loops. It is correct
// beside concurrent insertions for these reasons:
//
//   - Buckets of a line fill in order: a search that claims a bucket has read all those
//     before it in the line as occupied, because every search enters a line at its
//     first bucket.
//   - Each of the 8 words loaded was in its bucket at some moment, though not
//     all at the same moment. A word that matches is in the set, wherever it is.
//   - If none matches, the buckets before the first empty one hold other words for
//     good. The compare-and-swap succeeds only if that bucket is still empty, and
//     then so are those behind it: the word is nowhere in the line.
//   - If it fails, the word that won is compared, and the line is loaded again:
//     what was empty in it may not be any more.
type kernelWork struct {
	base      uintptr // address of bucket 0 of the table, even if the span begins behind it
	lines     uint64  // in the table
	words     *uint64
	results   *Result
	n         uint64
	slots     uint64 // of flights in use
	limit     uint64 // lines that a search may examine
	chunkMask uint64 // lines of a chunk, less one
	insert    uint64 // 0: an empty bucket ends the search
	end       uint64 // of the span: bytes from base
	whole     uint64 // 0: the span is not the whole table, and a search ends at its end

	ended       uint64 // searches that inserted their word, or did not find it
	full        uint64
	unfinished  uint64 // searches that ended at the end of the span
	lost, extra uint64
	most        uint64 // lines in which a search found neither its word nor an empty bucket
}

// runKernel searches words, a piece at a time.
func (t *table) runKernel(v *span, words []uint64, results []Result, insert bool) counts {
	var c counts
	for len(words) > 0 {
		n := min(len(words), kernelWords)
		t.runPiece(v, words[:n], results[:n], insert, &c)
		words, results = words[n:], results[n:]
	}
	return c
}

// runPiece is one call of the kernel. It is not inlined, so that there is a safe
// point between calls.
//
//go:noinline
func (t *table) runPiece(v *span, words []uint64, results []Result, insert bool, c *counts) {
	w := kernelWork{
		base:  uintptr(unsafe.Pointer(unsafe.SliceData(v.flat))) - uintptr(v.first)*8,
		lines: t.buckets / lineBuckets,
		words: unsafe.SliceData(words), results: unsafe.SliceData(results),
		n: uint64(len(words)), slots: slots(len(words)),
		limit: t.limit / lineBuckets, chunkMask: uint64(t.geometry.chunk)/lineBuckets - 1,
		end: (v.first + uint64(len(v.flat))) * 8,
	}
	if v.whole {
		w.whole = 1
	}
	if insert {
		w.insert = 1
	}
	search(t.kernel, &w)
	if insert {
		c.inserted += w.ended
	} else {
		c.notFound += w.ended
	}
	c.found += w.n - w.ended - w.full - w.unfinished
	c.full += w.full
	c.lost += w.lost
	c.extra += w.extra
	// Whole lines: the bucket of the last line at which a search ended is not recorded.
	c.longest = max(c.longest, min(w.most+1, w.limit)*lineBuckets)
}

// firstLine inserts single words in assembly, as far as the first line is enough: up to load 0.5
// that is nearly always so. A compare-and-swap waits for all stores before it, and the load of the
// next search is begun ahead of its time only if few instructions lie before it. So this is one
// call that keeps everything in registers, and counts what it has inserted itself. The assembly
// knows the offsets.
type firstLine struct {
	base   *uint64 // bucket 0; nil: single words are not searched for here
	lines  uint64  // in the table
	counts *uint64 // of insertions, one in each stripe
	avx512 bool    // the kernel, which is AVX2 else
}

// lostFirst is unfinished after a compare-and-swap that another insertion won.
const lostFirst = unfinished + 1

// newFirstLine is for a table whose buckets and counters are all directly addressable.
func (t *table) newFirstLine() firstLine {
	if t.flat == nil || t.kernel == KernelPortable || t.arenas != nil || t.tally.own == nil {
		return firstLine{}
	}
	return firstLine{base: &t.flat[0], lines: t.units, counts: &t.tally.own[0],
		avx512: t.kernel == KernelAVX512}
}
