package set

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/internal/testkit/guard"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma/local"
)

// The assembly knows where the fields are.
func TestElementFlightLayout(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("there is no assembly for 32 bits")
	}
	var f elementFlight
	got := [...]uintptr{unsafe.Offsetof(f.home), unsafe.Offsetof(f.bucket),
		unsafe.Offsetof(f.taken), unsafe.Sizeof(f)}
	if want := [...]uintptr{8, 16, 24, 40}; got != want {
		t.Errorf("home, bucket, taken and the next flight are at %v, the assembly reads %v",
			got, want)
	}
	var w elementWork
	work := [...]uintptr{unsafe.Offsetof(w.lines), unsafe.Offsetof(w.items),
		unsafe.Offsetof(w.results), unsafe.Offsetof(w.refs), unsafe.Offsetof(w.n),
		unsafe.Offsetof(w.slots), unsafe.Offsetof(w.limit), unsafe.Offsetof(w.chunkMask),
		unsafe.Offsetof(w.insert), unsafe.Offsetof(w.end), unsafe.Offsetof(w.whole),
		unsafe.Offsetof(w.bytes), unsafe.Offsetof(w.crosses), unsafe.Offsetof(w.write),
		unsafe.Offsetof(w.segments), unsafe.Offsetof(w.rankBits), unsafe.Offsetof(w.rankMask),
		unsafe.Offsetof(w.free), unsafe.Offsetof(w.freeEnd), unsafe.Offsetof(w.noFree),
		unsafe.Offsetof(w.next), unsafe.Offsetof(w.visit), unsafe.Offsetof(w.flying),
		unsafe.Offsetof(w.absent), unsafe.Offsetof(w.left), unsafe.Offsetof(w.lost),
		unsafe.Offsetof(w.extra), unsafe.Offsetof(w.most), unsafe.Offsetof(w.perRank),
		unsafe.Offsetof(w.ring)}
	for i, at := range work {
		if want := uintptr(8 * (i + 1)); at != want {
			t.Errorf("word %d of elementWork is at %d, the assembly reads %d", i, at, want)
		}
	}
	var s shortFlight
	got = [...]uintptr{unsafe.Offsetof(s.index), unsafe.Offsetof(s.slot), unsafe.Offsetof(s.bucket),
		unsafe.Sizeof(s)}
	if want := [...]uintptr{8, 16, 24, 32}; got != want || unsafe.Offsetof(s.line) != 0 ||
		unsafe.Offsetof(s.examined) != 12 {
		t.Errorf("index, slot, bucket and the next flight are at %v, the assembly reads %v",
			got, want)
	}
}

// The kernel returns for a line what the portable loop returns, and reads no other.
func TestCompareFlights(t *testing.T) {
	if len(vectorKernels()) == 0 {
		t.Skip("no kernel in assembly runs here")
	}
	const lines = 64
	rng := rand.New(rand.NewPCG(1, 2))
	table := &span{flat: guard.Slice[uint64](t, lines*lineBuckets)}
	key := func() uint64 { return occupied | rng.Uint64N(4)<<refBits }
	for line := range lines {
		for i := range rng.IntN(lineBuckets + 1) {
			if line%2 == 0 || rng.IntN(4) > 0 { // with holes where it was read in pieces
				table.flat[line*lineBuckets+i] = key() | rng.Uint64()&refMask
			}
		}
	}
	matches := 0
	for n := 1; n <= stageBlock; n++ {
		got, want := guard.Slice[elementFlight](t, n), make([]elementFlight, n)
		for range 100 {
			for i := range got {
				got[i].key, got[i].home = key(), rng.Uint64N(lines)*lineBuckets
				got[i].bucket, got[i].taken = rng.Uint64(), rng.Uint64()
				want[i] = got[i]
				table.compareLine(&want[i])
			}
			compareFlights(table.flat, got)
			for i, f := range got {
				// Of several that fit any will do.
				if (f.bucket == 0) != (want[i].bucket == 0) || f.taken != want[i].taken ||
					f.bucket != 0 && f.bucket&^refMask != f.key {
					t.Fatalf("the kernel returns %+v, the portable loop %+v", f, want[i])
				}
				if f.bucket != 0 {
					matches++
				}
			}
		}
	}
	if matches == 0 {
		t.Error("no fingerprint was found")
	}
}

// Batches of elements, with duplicates in them, give the answers that a map gives, on
// every kernel and in both kinds of home, until the set is full.
func TestElementBatches(t *testing.T) {
	for _, home := range []variant.Set{lineHomes, wordHomes} {
		for _, kernel := range kernels() {
			if home == wordHomes && kernel != kernelPortable {
				continue
			}
			t.Run(string(kernel), func(t *testing.T) {
				for seed := range uint64(20) {
					elementBatches(t, seed, BytesConfig{ElementBytes: 16,
						Config: Config{Buckets: 1 << 10, Chunk: 8, Chunks: 4,
							variant: variant.Set{WordHomes: home.WordHomes,
								Kernel: string(kernel)}}})
				}
			})
		}
	}
}

func elementBatches(t *testing.T, seed uint64, cfg BytesConfig) {
	t.Helper()
	job := local.Single()
	e, err := NewBytes(t.Context(), job, cfg)
	must(t, err)
	defer func() { must(t, e.Close(), job.Close()) }()
	rng := rand.New(rand.NewPCG(seed, 3))
	known := map[uint64]Ref{}
	for full := false; !full; {
		n := 1 + rng.IntN(150)
		ids, elements := make([]uint64, n), make([]byte, 16*n)
		for i := range ids {
			ids[i] = rng.Uint64N(2 * cfg.Buckets)
			binary.LittleEndian.PutUint64(elements[16*i+8*int(ids[i]%2):], ids[i]+1)
		}
		results, refs := make([]Result, n), make([]Ref, n)
		err := e.FindOrPutPacked(elements, results, refs)
		var fullError *FullError
		if err != nil && !errors.As(err, &fullError) {
			t.Fatal(err)
		}
		for i, id := range ids { // a batch is answered in no particular order
			if _, there := known[id]; results[i] == Inserted && !there {
				known[id] = refs[i]
				results[i] = Found
			}
		}
		for i, id := range ids {
			ref, there := known[id]
			switch r := results[i]; {
			case r == Full && err != nil && !there:
				full = true
			case r == Found && there && ref == refs[i]:
			default:
				t.Fatalf("seed %d: element %d is %v as %#x; it is %v that it is there, as %#x",
					seed, id, r, refs[i], there, ref)
			}
		}
		must(t, e.ContainsPacked(elements, results))
		for i, id := range ids {
			if _, there := known[id]; there != (results[i] == Found) {
				t.Fatalf("seed %d: element %d is %v, and it is %v that it is there",
					seed, id, results[i], there)
			}
		}
	}
	must(t, e.Check(t.Context()))
	if n := uint64(len(known)); n < cfg.Buckets/3 {
		t.Errorf("full with %d elements in %d buckets", n, cfg.Buckets)
	}
}
