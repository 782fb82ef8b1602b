package schemes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/internal/testkit/replay"
)

func open(t *testing.T, scheme Scheme, buckets int, seed uint64) Table {
	t.Helper()
	table, err := New(scheme, buckets, seed)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestStreams: every scheme answers as a map does, until it is full and beyond.
func TestStreams(t *testing.T) {
	for _, scheme := range Schemes() {
		t.Run(string(scheme), func(t *testing.T) {
			replay.Seeds(t, uint64(replay.Often(8, 100)), func(t *testing.T, seed uint64) {
				stream(t, scheme, seed)
			})
		})
	}
}

func stream(t *testing.T, scheme Scheme, seed uint64) {
	const buckets = MinBuckets
	rng := rand.New(rand.NewPCG(seed, 2))
	table, there := open(t, scheme, buckets, seed), map[uint64]bool{}
	full := 0
	for range 6 * buckets {
		word := mix(1 + rng.Uint64N(3*buckets/2))
		if rng.IntN(2) == 0 {
			if found, _ := table.Find(word); found != there[word] {
				t.Fatalf("Find of %#x: %v", word, found)
			}
			continue
		}
		want := Inserted
		if there[word] {
			want = Found
		}
		answer, _ := table.FindOrPut(word)
		if answer == Full && want == Inserted && len(there) > 0 {
			full++
			if !scheme.Moves() && len(there) < buckets {
				t.Fatalf("%d words of %d buckets are too many", len(there), buckets)
			}
			continue
		}
		if answer != want {
			t.Fatalf("FindOrPut of %#x: %v, want %v", word, answer, want)
		}
		there[word] = true
	}
	for word := range there {
		if found, _ := table.Find(word); !found {
			t.Errorf("%#x is lost", word)
		}
	}
	if err := table.Check(); err != nil {
		t.Error(err)
	}
	if (full == 0) != (scheme == "chained") {
		t.Errorf("%d inserts found no room", full)
	}
}

// TestCheck: a word at a wrong place, and one that is there twice, are found.
func TestCheck(t *testing.T) {
	for _, scheme := range Schemes() {
		for _, twice := range []bool{false, true} {
			table, word := open(t, scheme, MinBuckets, 1), uint64(7)
			table.FindOrPut(word)
			words := wordsOf(table)
			at := index(words[:MinBuckets], word)
			if scheme == "chained" {
				at = index(words[:MinBuckets], MinBuckets)
			}
			words[(at+MinBuckets/2)%MinBuckets] = words[at]
			if !twice {
				words[at] = empty
			}
			if err := table.Check(); err == nil {
				t.Errorf("%s, twice %v: Check finds nothing", scheme, twice)
			}
		}
	}
}

func wordsOf(table Table) []uint64 {
	switch is := table.(type) {
	case *probing:
		return is.words
	case *hopscotch:
		return is.words
	case *cuckoo:
		return is.words
	}
	return table.(*chained).words
}

// sum is what operations took.
type sum struct {
	Cost
	n float64
}

func (s *sum) add(c Cost) {
	s.Add(c)
	s.n++
}

func (s *sum) trips() float64 { return float64(s.Trips) / s.n }

const lawBuckets = 1 << 16

// measured fills a table to a load, and counts finds there and the inserts from a load on.
func measured(t *testing.T, table Table, from, load float64) (present, absent, insert sum) {
	t.Helper()
	n := uint64(load * lawBuckets)
	for i := range n {
		answer, cost := table.FindOrPut(mix(i + 1))
		if answer != Inserted {
			t.Fatalf("insert %d: %v", i, answer)
		}
		if float64(i) >= from*lawBuckets {
			insert.add(cost)
		}
	}
	for i := range n {
		found, cost := table.Find(mix(i + 1))
		if !found {
			t.Fatalf("word %d is lost", i)
		}
		present.add(cost)
		if found, cost = table.Find(mix(1<<40 + i)); found {
			t.Fatalf("word %d was never inserted", i)
		}
		absent.add(cost)
	}
	return present, absent, insert
}

func near(t *testing.T, what string, load, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s at load %v: %.4f round trips, want %.4f", what, load, got, want)
	}
}

// lawTables is how many tables the means of linear probing are from: its runs are long.
const lawTables = 8

// TestLaws: round trips are those of the closed forms.
func TestLaws(t *testing.T) {
	for _, c := range []struct {
		name            string
		make            func(m memory) Table
		present, absent func(a, free float64) float64 // free is 1/(1-a)
	}{
		{"linear", func(m memory) Table { return newLinear(m, 1) },
			func(_, free float64) float64 { return (1 + free) / 2 },
			func(_, free float64) float64 { return (1 + free*free) / 2 }},
		{"double", func(m memory) Table { return newLines(m, 1) },
			func(a, free float64) float64 { return math.Log(free) / a },
			func(_, free float64) float64 { return free }},
		{"chained", func(m memory) Table { return &chained{m} },
			func(a, _ float64) float64 { return 2 + a/2 },
			func(a, _ float64) float64 { return 1 + a }},
	} {
		for _, a := range []float64{.1, .5, .75, .9} {
			free, share, tables := 1/(1-a), 0.01, 1
			if c.name == "linear" {
				share, tables = 0.005*free, lawTables
			}
			var present, absent sum
			for seed := range uint64(tables) {
				is, other, _ := measured(t, c.make(newMemory(lawBuckets, seed)), 0, a)
				present.Add(is.Cost)
				absent.Add(other.Cost)
				present.n, absent.n = present.n+is.n, absent.n+other.n
			}
			near(t, c.name+", present", a, present.trips(), c.present(a, free), share)
			near(t, c.name+", absent", a, absent.trips(), c.absent(a, free), share)
			if c.name == "linear" && (present.Bytes != wordBytes*present.Trips ||
				present.Swaps > 0) {
				t.Errorf("linear: %+v", present)
			}
		}
	}
}

// TestChunks: chunks by the load follow the law of package readsize, which TestOPTable1 there
// compares with OP. An insert takes a compare-and-swap besides.
func TestChunks(t *testing.T) {
	for _, load := range []float64{.5, .7, .8} {
		for _, chunk := range []int{8, 16, 32, 64} {
			_, absent, insert := measured(t, newLinear(newMemory(lawBuckets, 1), chunk), load-.02,
				load)
			near(t, "absent", load, absent.trips(), law(t, load, chunk), 0.03)
			near(t, "insert", load, insert.trips(), 1+law(t, load-.01, chunk), 0.03)
			gets := insert.Trips - insert.Swaps
			if insert.Swaps != int(insert.n) || insert.Bytes != wordBytes*chunk*gets {
				t.Errorf("C=%d at load %v: %+v", chunk, load, insert)
			}
		}
	}
}

// law is the mean number of chunks up to the first empty bucket.
func law(t *testing.T, load float64, chunk int) (chunks float64) {
	t.Helper()
	laws, err := readsize.NewLaws(load)
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; k == 0 || laws.Absent.Unfinished(k) > 0; k += chunk {
		chunks += laws.Absent.Unfinished(k)
	}
	return chunks
}

// TestOneTrip: hopscotch and cuckoo find a word in one round trip. An insert takes as many as its
// gets and moves say.
func TestOneTrip(t *testing.T) {
	const load = .85
	for _, c := range []struct {
		scheme      Scheme
		gets, bytes int
	}{{"hopscotch-32", 1, 256}, {"cuckoo-2x4", 2, 64}, {"cuckoo-2x8", 2, 128},
		{"cuckoo-2x4-breadth", 2, 64}} {
		present, absent, insert := measured(t, open(t, c.scheme, lawBuckets, 1), 0, load)
		split := lawBuckets / 1000 // gets that continue at the first bucket are two
		for _, finds := range []sum{present, absent} {
			n := int(finds.n)
			if finds.Trips != n || finds.Gets < c.gets*n || finds.Gets > c.gets*n+split ||
				finds.Bytes != c.bytes*n || finds.Swaps+finds.Moves > 0 {
				t.Errorf("%s: %d finds took %+v", c.scheme, n, finds.Cost)
			}
		}
		n := int(insert.n)
		reads := insert.Trips - insert.Swaps
		if insert.Moves == 0 || insert.Swaps != n+insert.Moves {
			t.Errorf("%s: %d inserts took %+v", c.scheme, n, insert.Cost)
		}
		if c.gets == 1 && (reads > insert.Gets || reads < insert.Gets-split) {
			t.Errorf("%s: %d inserts took %+v; each get is a round trip", c.scheme, n, insert.Cost)
		}
		if c.gets == 2 && reads != n+insert.Moves {
			t.Errorf("%s: %d inserts took %+v; a move takes a get and a swap", c.scheme, n,
				insert.Cost)
		}
	}
}

// TestBreadth: a search in breadth takes fewer round trips than a random walk, and more bytes.
func TestBreadth(t *testing.T) {
	_, _, walk := measured(t, open(t, "cuckoo-2x4", lawBuckets, 1), .9, .95)
	_, _, breadth := measured(t, open(t, "cuckoo-2x4-breadth", lawBuckets, 1), .9, .95)
	if breadth.Trips >= walk.Trips || breadth.Bytes <= walk.Bytes || breadth.Moves >= walk.Moves {
		t.Errorf("in breadth %+v, by a random walk %+v", breadth, walk)
	}
}

// TestInTurn: a find of cuckoo in turn ends at the bucket with the word. Pilaf needs 1.6 probes at
// load 0.75 with three choices (OP 4.3).
func TestInTurn(t *testing.T) {
	present, absent, _ := measured(t, open(t, "cuckoo-3x1-in-turn", lawBuckets, 1), 0, .75)
	if present.Gets != present.Trips || absent.Trips != 3*int(absent.n) {
		t.Errorf("present %+v, absent %+v", present, absent)
	}
	near(t, "in turn", .75, present.trips(), 1.6, 0.05)
}

func TestRefused(t *testing.T) {
	for _, buckets := range []int{0, MinBuckets / 2, MinBuckets + 1, 2 * MaxBuckets} {
		if _, err := New("chained", buckets, 1); err == nil {
			t.Errorf("%d buckets are not refused", buckets)
		}
	}
	if _, err := New("linear-9", MinBuckets, 1); err == nil {
		t.Error("a scheme that there is not is not refused")
	}
}
