package set

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// drain gives the slots of all lanes back.
func drain(a *arenas) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drain()
}

// TestHashOfBytes: bytes have the hash that they have as whole words, wherever they are.
func TestHashOfBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	room := make([]byte, 208)
	for n := range 200 {
		for at := range 8 {
			b := room[at : at+n]
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			words := appendWords(nil, b)
			if got, want := hashBytes(b), hashElement(words); got != want {
				t.Fatalf("%d bytes from %d on: %#x, as words %#x", n, at, got, want)
			}
			if len(words) != core.WordsOf(n) || !bytes.Equal(core.BytesOf(words)[:n], b) {
				t.Fatalf("%d bytes from %d on are the words %x", n, at, words)
			}
			if s := appendString(nil, b); !isString(s) || !bytes.Equal(stringBytes(s), b) {
				t.Fatalf("%d bytes from %d on are the string %x", n, at, s)
			}
		}
	}
}

// Elements that differ in their last word alone, or only in their length, have other hashes.
func TestHashOfLongElements(t *testing.T) {
	seen := map[uint64][]byte{}
	add := func(b []byte) {
		h := hashBytes(b)
		if other, ok := seen[h]; ok {
			t.Fatalf("%x and %x have the hash %#x", other, b, h)
		}
		seen[h] = bytes.Clone(b)
	}
	for n := 9; n < 20; n++ {
		words := make([]uint64, n)
		for i := range words {
			words[i] = 1 // what is zero alone has to differ, by its length
		}
		add(core.BytesOf(words))
		for i := range words {
			for _, word := range []uint64{0, 2, pi0, pi1, pi2, pi3} {
				words[i] = word
				add(core.BytesOf(words))
			}
			words[i] = 1
		}
	}
}

// subject of single calls: a set of elements of one length, or of strings.
type singles interface {
	FindOrPut([]byte) (Result, error)
	Contains([]byte) (bool, error)
}

// TestSingleCalls compares single calls with a map, in tables that grow, that are nearly full and
// that are full, with elements in any place of memory.
func TestSingleCalls(t *testing.T) {
	for _, size := range []int{1, 7, 8, 12, 16, 40, 64, 65, 72, 200, 0} {
		for _, k := range kernels() {
			for _, grows := range []bool{false, true} {
				t.Run(fmt.Sprintf("size=%d/%s/grows=%v", size, k, grows), func(t *testing.T) {
					cfg := BytesConfig{Config: Config{Buckets: 1 << 10, variant: by(k)},
						ElementBytes: size}
					if grows {
						cfg.Buckets = 64
						cfg.MaxBytes = 4 << 20
					}
					testSingleCalls(t, cfg)
				})
			}
		}
	}
}

func testSingleCalls(t *testing.T, cfg BytesConfig) {
	jobs := ranksOf(t, engineDirect, 2)
	var all []singles
	var check func() error
	var length func() (uint64, error)
	if cfg.ElementBytes == 0 {
		sets, err := newStrings(jobs, cfg)
		must(t, err)
		all = []singles{sets[0], sets[1]}
		check = func() error { return checkRanks(jobs, checksOf(sets)) }
		length = func() (uint64, error) { return sets[0].Len(t.Context()) }
		defer noGrainIsLost(t, sets)
	} else {
		sets, err := newElements(jobs, cfg)
		must(t, err)
		all = []singles{sets[0], sets[1]}
		check = func() error { return checkRanks(jobs, checksOf(sets)) }
		length = func() (uint64, error) { return sets[0].Len(t.Context()) }
		defer noSlotIsLost(t, sets)
	}
	rng := rand.New(rand.NewPCG(3, uint64(cfg.ElementBytes)))
	room, have := make([]byte, 4096), map[string]bool{}
	fulls := 0
	for range 8000 {
		element := drawn(rng, cfg.ElementBytes, room)
		s := all[rng.IntN(2)]
		if rng.IntN(3) == 0 {
			found, err := s.Contains(element)
			must(t, err)
			if found != have[string(element)] {
				t.Fatalf("Contains(%x) is %v", element, found)
			}
			continue
		}
		r, err := s.FindOrPut(element)
		want := Inserted
		if have[string(element)] {
			want = Found
		}
		if r == Full && want == Inserted && err != nil && len(have) >= 900 {
			fulls++
			continue
		}
		must(t, err)
		if r != want {
			t.Fatalf("FindOrPut(%x) is %v, not %v", element, r, want)
		}
		have[string(element)] = true
	}
	n, err := length()
	must(t, err, check())
	if n != uint64(len(have)) || cfg.MaxBytes > 0 && fulls > 0 {
		t.Errorf("Len is %d, not %d; %d were Full", n, len(have), fulls)
	}
}

// drawn is an element, the same one now and then, at a place of memory that is not that of a word.
func drawn(rng *rand.Rand, size int, room []byte) []byte {
	number := rng.Uint64N(4000)
	if size == 0 {
		size = int(number*7919) % 90
	}
	at := rng.IntN(8)
	element := room[at : at+size]
	filled := rand.New(rand.NewPCG(number, 7))
	for i := range element {
		element[i] = byte(filled.Uint32())
	}
	return element
}

// TestSingleAllocatesNothing: single calls take no memory of the garbage collector.
func TestSingleAllocatesNothing(t *testing.T) {
	const calls = 1000
	job := local.Single()
	defer job.Close()
	for _, size := range []int{8, 13, 16, 40, 100, 0} {
		cfg := BytesConfig{Config: Config{Buckets: 1 << 14}, ElementBytes: size}
		var s singles
		if size == 0 {
			all, err := newStrings([]rma.Job{job}, cfg)
			must(t, err)
			s, size = all[0], 50
		} else {
			all, err := newElements([]rma.Job{job}, cfg)
			must(t, err)
			s = all[0]
		}
		element, number := make([]byte, size), uint32(0)
		for name, call := range map[string]func(){
			"FindOrPut, new":   func() { number++; _, _ = s.FindOrPut(element) },
			"FindOrPut, there": func() { _, _ = s.FindOrPut(element) },
			"Contains":         func() { _, _ = s.Contains(element) },
		} {
			n := testing.AllocsPerRun(calls, func() {
				binary.LittleEndian.PutUint32(element, number)
				call()
			})
			if n > 0.5 {
				t.Errorf("%d bytes: %s allocates %v times", size, name, n)
			}
		}
	}
}

// TestLanesGiveSlotsBack: what lanes hold is no room lost, for elements and strings.
func TestLanesGiveSlotsBack(t *testing.T) {
	laneIsDrained.Claim(t)
	job := local.Single()
	defer job.Close()
	elements, err := newElements([]rma.Job{job}, BytesConfig{ElementBytes: 16, Capacity: 500,
		Config: Config{Buckets: 4096}})
	must(t, err)
	for i := range elements[0].arenas.lanes {
		l := &elements[0].arenas.lanes[i]
		l.held.arenas = elements[0].arenas
		ref, ok, err := l.next(2)
		must(t, err)
		if !ok {
			t.Fatal("a lane gets no slot")
		}
		l.held.takeBack(ref, 2)
	}
	n := elements[0].arenas.capacity()
	results := make([]Result, n)
	must(t, elements[0].FindOrPutPacked(elementsOf(int(n), 16), results, nil))
	if r, err := elements[0].FindOrPut(make([]byte, 16)); r != Full || err == nil {
		t.Errorf("an element more than there are slots: %v, %v", r, err)
	}
	noSlotIsLost(t, elements)
}

// elementsOf makes n different elements, one after the other. None is all zeros.
func elementsOf(n, size int) []byte {
	all := make([]byte, n*size)
	for i := range n {
		binary.LittleEndian.PutUint64(all[i*size:], uint64(i)+1)
	}
	return all
}

// TestSinglesAtOnce has goroutines insert the same elements: of each, one answer is Inserted.
func TestSinglesAtOnce(t *testing.T) {
	const goroutines, n = 4, 20_000
	jobs := ranksOf(t, engineDirect, 2)
	elements, err := newElements(jobs, BytesConfig{ElementBytes: 12,
		Config: Config{Buckets: 64, MaxBytes: 8 << 20}})
	must(t, err)
	texts, err := newStrings(jobs, BytesConfig{Config: Config{Buckets: 64, MaxBytes: 8 << 20}})
	must(t, err)
	for kind, all := range map[string][]singles{"elements": {elements[0], elements[1]},
		"strings": {texts[0], texts[1]}} {
		inserted := make([]int, goroutines)
		var running sync.WaitGroup
		for g := range goroutines {
			running.Add(1)
			go func() {
				defer running.Done()
				rng := rand.New(rand.NewPCG(9, 9)) // the same order
				element := make([]byte, 12)
				for range n {
					binary.LittleEndian.PutUint64(element[3:], rng.Uint64N(n/2))
					r, err := all[g%2].FindOrPut(element)
					if err != nil {
						t.Error(err)
						return
					}
					if r == Inserted {
						inserted[g]++
					}
				}
			}()
		}
		running.Wait()
		rng, different := rand.New(rand.NewPCG(9, 9)), map[uint64]bool{}
		for range n {
			different[rng.Uint64N(n/2)] = true
		}
		sum := 0
		for _, n := range inserted {
			sum += n
		}
		if sum != len(different) {
			t.Errorf("%s: %d answers are Inserted, for %d", kind, sum, len(different))
		}
	}
	must(t, checkRanks(jobs, checksOf(elements)), checkRanks(jobs, checksOf(texts)))
	noSlotIsLost(t, elements)
}

// TestRunsOfLanesGiveRoomBack is TestLanesGiveSlotsBack for strings.
func TestRunsOfLanesGiveRoomBack(t *testing.T) {
	job := local.Single()
	defer job.Close()
	texts, err := newStrings([]rma.Job{job}, smallStrings(1))
	must(t, err)
	a := texts[0].arenas
	for i := range a.lanes {
		l := &a.lanes[i]
		l.held.arenas = a
		ref, ok, err := l.next(2)
		must(t, err)
		if !ok || l.held.slots[0].grains() > laneWords {
			t.Fatalf("a lane gets a slot: %v; it keeps %d grains", ok, l.held.slots[0].grains())
		}
		l.held.takeBack(ref, 2)
	}
	r := Inserted
	for n := uint64(0); r == Inserted; n++ {
		r, _ = texts[0].FindOrPut(binary.LittleEndian.AppendUint64(nil, n))
	}
	for i := range a.lanes {
		for _, run := range a.lanes[i].held.slots[:a.lanes[i].held.end] {
			if run.grains() > 1 {
				t.Errorf("the set is %v, and lane %d has %d grains", r, i, run.grains())
			}
		}
	}
}

// TestStoredBytes: an element fills its words with zeros, whatever was there, and is no other one.
func TestStoredBytes(t *testing.T) {
	job := local.Single()
	defer job.Close()
	elements, err := newElements([]rma.Job{job}, BytesConfig{ElementBytes: 13,
		Config: Config{Buckets: 64}})
	must(t, err)
	texts, err := newStrings([]rma.Job{job}, smallStrings(1))
	must(t, err)
	element := []byte("thirteen byte")
	head := headOf(element)
	dirty := func(a *arenas) []uint64 {
		must(t, a.takeMemory(0, 0, 8))
		words := a.words(0)[:4]
		for i := range words {
			words[i] = ^uint64(0)
		}
		return words
	}
	words := dirty(elements[0].arenas)
	elements[0].arenas.store(0, element, 0)
	if want := appendWords(nil, element); !slices.Equal(words[:2], want) ||
		!elements[0].arenas.holds(0, element, 0) {
		t.Errorf("stored: %x, not %x", words, want)
	}
	words = dirty(texts[0].arenas)
	texts[0].arenas.store(0, element, head)
	if want := appendString(nil, element); !slices.Equal(words[:3], want) ||
		!texts[0].arenas.holds(0, element, head) {
		t.Errorf("stored as a string: %x, not %x", words, want)
	}
	if a := texts[0].arenas; a.holds(0, element[:8], headOf(element[:8])) ||
		a.holds(0, append(element, 0), headOf(append(element, 0))) {
		t.Error("a string is taken for its beginning, or for one with a zero more")
	}
}

// TestSingleAfterClosed: an element is not absent because a closed bucket has it not.
func TestSingleAfterClosed(t *testing.T) {
	jobs := ranksOf(t, engineDirect, 1)
	sets, err := newElements(jobs, BytesConfig{ElementBytes: 16,
		Config: Config{Buckets: 64, MaxBytes: 1 << 20}})
	must(t, err)
	e, element := sets[0], []byte("sixteen bytes...")
	first := e.oldest.Load()
	first.flat[first.home(hashBytes(element))] = closed
	for _, want := range []Result{Inserted, Found} {
		if r, err := e.FindOrPut(element); r != want || err != nil {
			t.Errorf("beyond a closed bucket: %v, %v, not %v", r, err, want)
		}
		if found, err := e.Contains(element); !found || err != nil {
			t.Errorf("beyond a closed bucket: Contains is %v, %v", found, err)
		}
	}
}

// TestLanesOfSleepers: goroutines that sleep with lanes locked keep nobody waiting.
func TestLanesOfSleepers(t *testing.T) {
	jobs := ranksOf(t, engineDirect, 1)
	sets, err := newElements(jobs, BytesConfig{ElementBytes: 16, Config: Config{Buckets: 1024}})
	must(t, err)
	a, element := sets[0].arenas, make([]byte, 16)
	for i := range a.lanes {
		a.lanes[i].mu.Lock()
		element[0]++
		if r, err := sets[0].FindOrPut(element); r != Inserted || err != nil {
			t.Errorf("while %d lanes are locked: %v, %v", i+1, r, err)
		}
	}
	for i := range a.lanes {
		a.lanes[i].mu.Unlock()
	}
	must(t, sets[0].Check(t.Context()))
	noSlotIsLost(t, sets)
}

// TestLanesKeepCapacity: other ranks have Capacity slots beside what the lanes of one rank hold.
func TestLanesKeepCapacity(t *testing.T) {
	const capacity = 500
	jobs := ranksOf(t, engineDirect, 3)
	sets, err := newElements(jobs, BytesConfig{ElementBytes: 16, Capacity: capacity,
		Config: Config{Buckets: 4096}})
	must(t, err)
	for _, e := range sets[:2] {
		for i := range e.arenas.lanes {
			l := &e.arenas.lanes[i]
			l.held.arenas = e.arenas
			_, _, err := l.next(2)
			must(t, err)
		}
	}
	results := make([]Result, capacity)
	must(t, sets[2].FindOrPutPacked(elementsOf(capacity, 16), results, nil))
}

// TestSingleRefs: a single call gives the reference of its element, however it came to it.
func TestSingleRefs(t *testing.T) {
	for e := range engines {
		for _, size := range []int{16, 0} {
			cfg := BytesConfig{Config: Config{Buckets: 64, MaxBytes: 1 << 20}, ElementBytes: size}
			sets, err := newElements(ranksOf(t, e, 2), cfg)
			must(t, err)
			refs := map[uint64]Ref{}
			for i := range uint64(600) {
				number := i % 300
				element := binary.LittleEndian.AppendUint64(make([]byte, 8), number)
				ref, r, err := sets[i%2].FindOrPutRef(element)
				must(t, err)
				if known, ok := refs[number]; ok && (r != Found || ref != known) {
					t.Fatalf("%v: element %d: %v with reference %#x, not %#x", e, number, r, ref,
						known)
				}
				refs[number] = ref
				got, err := sets[1].Append(nil, ref)
				must(t, err)
				if !bytes.Equal(got, element) {
					t.Fatalf("%v: reference %#x of element %d is that of %x", e, ref, number, got)
				}
			}
		}
	}
}
