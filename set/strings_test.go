package set

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// smallStrings has a table that stays as it is, and arenas for little more than the longest string.
func smallStrings(ranks int) BytesConfig {
	cfg := stringsConfig(Config{Buckets: 1 << 12, Depth: 4}, ranks)
	cfg.Capacity = 1
	return cfg
}

// A string that is too long is refused, with the batch that it is in.
func TestLongestString(t *testing.T) {
	for e := range engines {
		sets, err := newStrings(ranksOf(t, e, 1), smallStrings(1))
		must(t, err)
		s, tooLong, results := sets[0], make([]byte, MaxStringBytes+1), make([]Result, 2)
		_, err = s.FindOrPut(tooLong)
		fails(t, "a long string", err, "65537 bytes", "65536")
		_, err = s.Contains(tooLong)
		fails(t, "a long string", err, "65537 bytes")
		err = s.FindOrPutBatch([][]byte{{1}, tooLong}, results)
		if refused := StringError(0); !errors.As(err, &refused) || refused != MaxStringBytes+1 {
			t.Errorf("%v: a batch with a long string: %v", e, err)
		}
		fails(t, "few results", s.FindOrPutBatch(make([][]byte, 3), results), "3 elements")
		n, err := s.Len(t.Context())
		must(t, err, s.FindOrPutBatch(nil, nil))
		r, err := s.FindOrPut(tooLong[1:])
		if n != 0 || r != Inserted || err != nil {
			t.Errorf("%v: %d strings were inserted; then the longest is %v, %v", e, n, r, err)
		}
	}
}

// otherHead is a head of another length that has the fingerprint and, in small tables, the home of
// a head.
func otherHead(head, length uint64) uint64 {
	d := head&lengthMask ^ length
	return head ^ d ^ d<<lengthBits ^ d&(1<<(64-refBits-1-lengthBits)-1)<<(2*lengthBits)
}

// Strings of equal heads are compared to the last word, whatever piece that is in. No search can
// find such strings; the test makes the heads.
func TestEqualHeads(t *testing.T) {
	otherCompared.Claim(t)
	const head = 0x123456789ABC<<lengthBits | (2*pieceWords+1)*8
	var items [][]uint64
	for _, at := range []int{0, 1, pieceWords - 1, pieceWords, 2 * pieceWords, 2*pieceWords + 1} {
		item := make([]uint64, stringWords(head))
		item[at] = 7
		item[0] = head
		items = append(items, item)
	}
	for _, length := range []uint64{0, 5, 3 * pieceWords * 8} {
		other := otherHead(head, length)
		item := make([]uint64, stringWords(other))
		item[0] = other
		if fingerprintKey(hashHead(other)) != fingerprintKey(hashHead(head)) {
			t.Fatalf("%#x and %#x have different fingerprints", other, uint64(head))
		}
		items = append(items, item)
	}
	for e := range allEngines {
		cfg := stringsConfig(Config{Buckets: 64, Access: e.access()}, 2)
		sets, err := newStrings(ranksOf(t, e, 2), cfg)
		must(t, err)
		refs := map[Ref]int{}
		for _, want := range []end{inserted, found} {
			for i, item := range items {
				b := batch{t: sets[i%2].oldest.Load(), items: item, begins: []int{0},
					results: make([]end, 1), refs: make([]Ref, 1), insert: want == inserted}
				must(t, b.run())
				if before, known := refs[b.refs[0]]; b.results[0] != want || known &&
					before != i || known != (want == found) {
					t.Errorf("%v: string %d: %v at %#x", e, i, b.results[0], b.refs[0])
				}
				refs[b.refs[0]] = i
			}
		}
	}
}

// A search for a long string comes to a short one of the same fingerprint, after which the memory
// of the arena ends.
func TestShortStringAtTheEnd(t *testing.T) {
	shorterAtEnd.Claim(t)
	for e := range engines {
		sets, err := newStrings(ranksOf(t, e, 1), smallStrings(1))
		must(t, err)
		table, head := sets[0].oldest.Load(), uint64(0x123456789ABC)<<lengthBits
		a := table.arenas
		last := a.slots - 1
		rank, off := a.locate(Ref(last))
		must(t, a.takeMemory(rank, last, last+1), a.elements.Store(t.Context(), rank, off, head))
		hash := hashHead(head)
		b := batch{t: table, insert: true, results: make([]end, 1), hashes: []uint64{hash},
			items: []uint64{fingerprintKey(hash) | last}}
		must(t, b.insertBuckets())
		for _, length := range []uint64{8, 8 * pieceWords, MaxStringBytes} {
			item := make([]uint64, maxStringWords)
			item[0] = otherHead(head, length)
			b := batch{t: table, items: item, begins: []int{0}, results: make([]end, 1)}
			if err := b.run(); err != nil || b.results[0] != notFound {
				t.Errorf("%v: %d bytes: %v, %v", e, length, b.results[0], err)
			}
		}
		b = batch{t: table, items: []uint64{head}, begins: []int{0}, results: make([]end, 1)}
		if err := b.run(); err != nil || b.results[0] != found {
			t.Errorf("%v: the short string: %v, %v", e, b.results[0], err)
		}
	}
}

// taker is a window that notes the end of the memory that is taken.
type taker struct {
	rma.Window
	end int
}

func (w *taker) Commit(_, off, words int) error {
	w.end = max(w.end, off+words)
	return nil
}

// A get that expects a longer string reads after a run. There is memory there too.
func TestMemoryAfterRuns(t *testing.T) {
	for _, c := range []struct{ grain, slots, end, want int }{
		{1, 5000, 100, 100 + pieceWords},
		{4, 5000, 100, 4*100 + pieceWords},
		{1, 110, 100, 110},
	} {
		w := new(taker)
		a := arenas{strings: true, grain: c.grain, slots: uint64(c.slots),
			elements: cells{window: w}}
		must(t, a.takeMemory(0, 0, uint64(c.end)))
		if w.end < c.want || w.end > c.slots*c.grain {
			t.Errorf("of a run to %d, %d words have memory, not %d", c.end, w.end, c.want)
		}
	}
}

// contendedString is the string called id: mostly of up to 40 bytes, some of several pieces.
func contendedString(id int) []byte {
	n := id % 40
	if id%61 == 0 {
		n = 8 * (pieceWords + id%200)
	}
	return binary.LittleEndian.AppendUint32(make([]byte, n), uint32(id))
}

// TestEachStringIsInsertedOnce has many goroutines of many ranks insert the same strings while the
// set grows.
func TestEachStringIsInsertedOnce(t *testing.T) {
	overContention(t, func(t *testing.T, jobs []rma.Job, c *contention, home variant.Set) {
		cfg := stringsConfig(Config{Buckets: 64, MaxBytes: 1 << 20, variant: home, Depth: 8},
			len(jobs))
		sets, err := newStrings(jobs, cfg)
		must(t, err)
		must(t, c.run(func(rank, _ int, ids []int, results []Result) (err error) {
			if len(ids) == 1 {
				results[0], err = sets[rank].FindOrPut(contendedString(ids[0]))
				return err
			}
			batch := make([][]byte, len(ids))
			for i, id := range ids {
				batch[i] = contendedString(id)
			}
			return sets[rank].FindOrPutBatch(batch, results)
		}))
		must(t, c.exactlyOnce(), checkRanks(jobs, checksOf(sets)))
		n, err := sets[0].Len(t.Context())
		must(t, err)
		if n != uint64(c.elements) || sets[0].Config().Buckets == 64 {
			t.Fatalf("%d strings of %d are in %d buckets", n, c.elements, sets[0].Config().Buckets)
		}
		noGrainIsLost(t, sets)
	})
}

// noGrainIsLost: each grain that was handed out belongs to a string or is free, as long as ranks
// have few free runs.
func noGrainIsLost(t *testing.T, sets []*Bytes) {
	t.Helper()
	a := sets[0].arenas
	taken, err := a.counter.Sum(t.Context(), cellTaken)
	must(t, err)
	used := uint64(0)
	for element, err := range sets[0].All(t.Context()) {
		must(t, err)
		used += a.grainsOf(stringWords(uint64(len(element))))
	}
	for _, s := range sets {
		drain(s.arenas)
		for _, run := range append(s.arenas.free, s.arenas.freeRemote...) {
			used += run.grains()
		}
	}
	if used != taken {
		t.Fatalf("%d grains are handed out, %d belong to strings or are free", taken, used)
	}
}

// TestRuns cuts slots out of runs and gives some back. No two of them overlap.
func TestRuns(t *testing.T) {
	job := local.Single()
	a, err := newStringArenas(t.Context(), job, room{slots: 1 << 16})
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	owners, slots := make([]bool, a.slots), map[Ref]int{}
	own := func(slot Ref, words int, is bool) {
		for i := range uint64(words) {
			if owners[uint64(slot)+i] == is {
				t.Fatalf("grain %d of %d at %d: taken or given back twice", i, words, slot)
			}
			owners[uint64(slot)+i] = is
		}
	}
	h := heldSlots{arenas: a}
	for range 50_000 {
		words := 1 + rng.IntN(1<<rng.IntN(14))
		if slot, ok, err := h.next(words); ok {
			own(slot, words, true)
			slots[slot] = words
		} else {
			must(t, err)
		}
		for slot, words := range slots {
			if len(slots) > 100 || rng.IntN(4) == 0 {
				own(slot, words, false)
				delete(slots, slot)
				h.takeBack(slot, words)
			}
			break
		}
		if rng.IntN(50) == 0 {
			h.release()
		}
		if h.end > maxHeldSlots || len(a.free) > maxFreeRuns {
			t.Fatalf("%d and %d runs", h.end, len(a.free))
		}
	}
	must(t, a.close(), job.Close())
}

// Of more runs than a list takes the shortest is lost.
func TestShortestRunIsLost(t *testing.T) {
	a := arenas{grain: 1}
	var runs []Ref
	for i := range uint64(10) { // not adjacent
		runs = a.addRun(runs, Ref(i*100|(i+3)%10<<refBits), 8)
	}
	for _, run := range runs {
		if run.grains() < 2 || len(runs) != 8 {
			t.Errorf("%d runs, one of %d grains", len(runs), run.grains())
		}
	}
}

// Runs that are adjacent are joined, in whatever order they are given back.
func TestRunsAreJoined(t *testing.T) {
	a := arenas{grain: 1, rankBits: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	var runs []Ref
	for _, i := range rng.Perm(100) {
		runs = a.addRun(runs, a.runOf(Ref(1000+2*i), 1), maxFreeRuns)
		runs = a.addRun(runs, a.runOf(Ref(1001+2*i), 1), maxFreeRuns) // of the other rank
	}
	slices.Sort(runs)
	if want := []Ref{a.runOf(1000, 100), a.runOf(1001, 100)}; !slices.Equal(runs, want) {
		t.Errorf("runs %#x, not %#x", runs, want)
	}
}

// A run is compared with the last ones alone, however many there are: a put gives one back, and
// must not look at all that is left of others.
func TestFewRunsAreSeen(t *testing.T) {
	a := arenas{grain: 1}
	var runs []Ref
	for i := range uint64(maxFreeRuns) { // not adjacent, the first one is the shortest
		runs = append(runs, Ref(i*100|min(i+1, 9)<<refBits))
	}
	first, far, near := runs[0], maxFreeRuns-maxLooks-1, maxFreeRuns-maxLooks
	for _, i := range []int{far, near} {
		_, end := a.cut(runs[i], runs[i].grains())
		before := runs[i].grains()
		runs = a.addRun(runs, end|1<<refBits, maxFreeRuns)
		joined := slices.ContainsFunc(runs, func(run Ref) bool { return run.grains() == before+1 })
		if joined != (i == near) || len(runs) != maxFreeRuns || runs[0] != first {
			t.Errorf("run %d: joined %v, %d runs, the first is %#x", i, joined, len(runs), runs[0])
		}
	}
}

// What Collect has freed is joined with all that is adjacent, and the longest runs are kept.
func TestManyRunsAreJoined(t *testing.T) {
	a := arenas{grain: 1, rankBits: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	const grains, pieces = 4 * maxLooks, 2 * maxFreeRuns
	var freed []Ref
	for i := range 2 * grains { // of two ranks
		freed = append(freed, a.runOf(Ref(i), 1))
	}
	for i := range pieces {
		freed = append(freed, a.runOf(Ref(4*(grains+(i+1)*100)), 1+i%2))
	}
	rng.Shuffle(len(freed), func(i, j int) { freed[i], freed[j] = freed[j], freed[i] })
	a.freeRemote = freed[:100:100] // free already
	a.joinFree(freed[100:])
	long := []Ref{a.runOf(0, grains), a.runOf(1, grains)}
	far := a.freeRemote
	if len(a.free) != 0 || len(far) != maxFreeRuns || !slices.Equal(far[maxFreeRuns-2:], long) ||
		far[2].grains() != 2 {
		t.Errorf("%d and %d runs, %#x", len(a.free), len(far), far[maxFreeRuns-2:])
	}
}

// Many bytes take grains of more words than one.
func TestGrainsOfManyWords(t *testing.T) {
	for bits, want := range map[int]int{20: 1, 33: 1, 34: 2, 36: 8, 41: 256} {
		if grain := grainFor(1 << bits); grain != want {
			t.Errorf("of 2^%d words grains have %d, not %d", bits, grain, want)
		}
	}
	job := local.Single()
	defer job.Close()
	a := &arenas{job: job, grain: 4, strings: true, run: 100}
	_, err := a.open(t.Context(), room{slots: 1000})
	must(t, err)
	defer a.close()
	h := heldSlots{arenas: a}
	first, _, err := h.next(a.grain + 1)
	must(t, err)
	second, _, err := h.next(1)
	must(t, err)
	if _, off := a.locate(second); second != first+2 || off != 2*a.grain {
		t.Errorf("slots are at %d and %d, word %d", first, second, off)
	}
	h.release()
	if len(a.free) != 1 || a.free[0].grains() != a.run-3 {
		t.Errorf("free runs are %#x", a.free)
	}
}

// What Collect removes makes room for other strings.
func TestCollectedStringsMakeRoom(t *testing.T) {
	for e := range engines {
		sets, err := newStrings(ranksOf(t, e, 1), stringsConfig(Config{Buckets: 1 << 12}, 1))
		must(t, err)
		put := func(first byte) uint64 {
			for i := range 600 {
				element := append([]byte{first, byte(i), byte(i >> 8)}, make([]byte, i)...)
				_, err := sets[0].FindOrPut(element)
				must(t, err)
			}
			taken, err := sets[0].arenas.counter.Sum(t.Context(), cellTaken)
			must(t, err)
			return taken
		}
		before := put(1)
		must(t, sets[0].Collect(t.Context(), func(element []byte) bool {
			return len(element) == 3
		}))
		if after := put(2); after > before+sets[0].arenas.run {
			t.Errorf("%v: %d grains were handed out, and %d after strings were removed", e, before,
				after)
		}
		must(t, sets[0].Check(t.Context()))
	}
}

// TestNoRoomForStrings uses up the arenas of all ranks while buckets are free.
func TestNoRoomForStrings(t *testing.T) {
	noRoomLeft.Claim(t)
	for e := range engines {
		sets, err := newStrings(ranksOf(t, e, 3), smallStrings(3))
		must(t, err)
		element, n := make([]byte, 1000), 0
		for r := Inserted; r == Inserted; n++ {
			binary.LittleEndian.PutUint64(element, uint64(n))
			r, err = sets[1].FindOrPut(element)
		}
		var full *FullError
		if !errors.As(err, &full) || !full.NoArena || full.EnoughBytes < 2*full.MaxBytes {
			t.Fatalf("%v: string %d: %v", e, n, err)
		}
		fails(t, "full arenas", err, "arenas are full at load factor", "a MaxBytes of")
		if all := int(3 * sets[0].arenas.slots / 126); n < all-3*8 || n > all+1 {
			t.Errorf("%v: %d strings of 1000 bytes of %d were inserted", e, n, all)
		}
		if r, err := sets[1].FindOrPut(nil); r != Inserted {
			t.Errorf("%v: a string without bytes after that: %v, %v", e, r, err)
		}
	}
}

// A batch that has a long string many times stores it once.
func TestLongDuplicates(t *testing.T) {
	for e := range engines {
		cfg := smallStrings(1)
		cfg.Depth = 64
		sets, err := newStrings(ranksOf(t, e, 1), cfg)
		must(t, err)
		elements, results := make([][]byte, 200), make([]Result, 200)
		for i := range elements {
			elements[i] = make([]byte, MaxStringBytes)
		}
		must(t, sets[0].FindOrPutBatch(elements, results))
		inserted := 0
		for _, r := range results {
			if r == Inserted {
				inserted++
			}
		}
		taken, err := sets[0].arenas.counter.Sum(t.Context(), cellTaken)
		must(t, err)
		if inserted != 1 || taken != maxStringWords {
			t.Errorf("%v: %d of 200 are inserted, %d grains are taken", e, inserted, taken)
		}
	}
}

// Check finds a string that is not as it was stored.
func TestCheckFindsDamagedStrings(t *testing.T) {
	for _, e := range []engine{engineDirect, engineHidden} {
		sets, err := newStrings(ranksOf(t, e, 1), smallStrings(1))
		must(t, err)
		s, element := sets[0], []byte("thirteen byte")
		_, err = s.FindOrPut(element)
		must(t, err)
		a := s.arenas
		for _, c := range []struct {
			at   int
			bits uint64
			says string
		}{
			{0, 1 << 50, "13 bytes with head"}, {0, 1, "12 bytes with head"},
			{1, 1, "that has head"}, {2, 1 << 40, "zeros after its bytes"},
			{0, lengthMask, "ends before it does"},
		} {
			rank, off := a.locate(0)
			was, err := a.elements.Load(t.Context(), rank, off+c.at)
			must(t, err, a.elements.Store(t.Context(), rank, off+c.at, was^c.bits))
			err = s.Check(t.Context())
			must(t, a.elements.Store(t.Context(), rank, off+c.at, was), s.Check(t.Context()))
			fails(t, "a damaged string", err, c.says)
		}
	}
}

// The blocks of a saved set are decoded as a whole or refused.
func FuzzStringRecords(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 7, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 7, 0, 0})
	f.Add([]byte{1, 0, 1, 0})
	f.Add(append([]byte{1, 0, 1, 0}, make([]byte, MaxStringBytes+1)...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		elements, err := recordsOf(payload)
		var again []byte
		for _, element := range elements {
			if len(element) > MaxStringBytes {
				t.Errorf("a string of %d bytes", len(element))
			}
			again = binary.LittleEndian.AppendUint32(again, uint32(len(element)))
			again = append(again, element...)
		}
		if err == nil && !bytes.Equal(again, payload) {
			t.Errorf("% x becomes % x", payload, again)
		}
	})
}

// Requests of strings are decoded as a whole or refused.
func FuzzStringRequests(f *testing.F) {
	jobs, stop := startRanks(engineCarriers, 1, 1)
	sets, err := newStrings(jobs, smallStrings(1))
	must(f, err)
	f.Cleanup(func() { must(f, sets[0].Close(), stop()) })
	f.Add(1, core.BytesOf([]uint64{0}))
	f.Add(2, core.BytesOf([]uint64{8, 5, 0}))
	f.Add(1, core.BytesOf([]uint64{MaxStringBytes + 1}))
	f.Add(1, core.BytesOf([]uint64{lengthMask}))
	f.Add(2, core.BytesOf([]uint64{0}))
	f.Add(1, core.BytesOf([]uint64{0, 0}))
	f.Fuzz(func(t *testing.T, n int, data []byte) {
		request := make([]uint64, len(data)/8)
		copy(core.BytesOf(request), data)
		words, fits := 0, n >= 0
		for i := 0; i < n && fits; i++ {
			fits = words < len(request) && request[words]&lengthMask <= MaxStringBytes
			if fits {
				words += stringWords(request[words])
			}
		}
		fits = fits && words == len(request)
		answer := make([]uint64, max(0, min(n, rma.MaxShipWords)))
		_, err := sets[0].oldest.Load().answer(kindFind, n, request, answer)
		if fits != (err == nil) {
			t.Errorf("%d items in %x: %v", n, request, err)
		}
	})
}

// A reference means the same string on all ranks; others are refused.
func TestReferencesOfStrings(t *testing.T) {
	for e := range engines {
		sets, err := newStrings(ranksOf(t, e, 2), smallStrings(2))
		must(t, err)
		want := [][]byte{{}, []byte("a line"), bytes.Repeat([]byte{7}, 9*pieceWords), {}}
		var refs [2][4]Ref
		for rank, s := range sets {
			results := make([]Result, len(want))
			must(t, s.FindOrPutRefs(want, results, refs[rank][:]))
			for i, ref := range refs[rank] {
				got, err := sets[1-rank].Append([]byte("x"), ref)
				if err != nil || string(got) != "x"+string(want[i]) {
					t.Errorf("%v: string %d has %d bytes, %v", e, i, len(got)-1, err)
				}
			}
		}
		if refs[0] != refs[1] || refs[0][0] != refs[0][3] || refs[0][0] == refs[0][1] {
			t.Errorf("%v: references %v", e, refs)
		}
		if _, err := sets[0].Append(nil, refMask); err == nil {
			t.Errorf("%v: there is a string with the last reference", e)
		}
		if err := sets[0].FindOrPutRefs(want, make([]Result, 4), make([]Ref, 3)); err == nil {
			t.Errorf("%v: 3 references of 4 strings", e)
		}
		n, err := sets[1].Memory(t.Context())
		if least := uint64(1<<12*8 + 9*pieceWords); err != nil || n < least || n > least+1<<18 {
			t.Errorf("%v: the set takes %d bytes, %v", e, n, err)
		}
	}
}
