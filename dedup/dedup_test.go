package dedup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/set"
)

func newFilter(t *testing.T, cfg Config) *Filter {
	t.Helper()
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// A filter answers as a map, while its table grows.
func TestSeen(t *testing.T) {
	for name, cfg := range map[string]Config{"prints": {}, "exact": {Exact: true},
		"counts": {Count: true}} {
		t.Run(name, func(t *testing.T) {
			f := newFilter(t, cfg)
			r, want := rand.New(rand.NewPCG(1, 2)), map[string]uint64{}
			for range 60 {
				batch := make([][]byte, r.IntN(10000))
				for i := range batch {
					batch[i] = fmt.Append(nil, r.IntN(200000))
				}
				seen := make([]bool, len(batch))
				if n, err := f.SeenBatch(batch, seen); n != len(batch) || err != nil {
					t.Fatal(n, err)
				}
				for i, b := range batch {
					if want[string(b)]++; seen[i] != (want[string(b)] > 1) {
						t.Fatalf("%s: seen %v, %d times", b, seen[i], want[string(b)])
					}
				}
			}
			if f.Distinct() != uint64(len(want)) {
				t.Errorf("%d distinct records, want %d", f.Distinct(), len(want))
			}
			for record, n := range f.Counts() {
				if want[string(record)] != n {
					t.Errorf("%s: %d times, want %d", record, n, want[string(record)])
				}
			}
		})
	}
}

// A full filter says so at the first new record without room, and one that is not exact still
// answers for known ones. With the memory of the message twice as many fit.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		exact, count bool
		width, some  int // bytes of a record at least, and records that must fit
		memoryBytes  uint64
	}{{false, false, 0, 20000, 4 << 20}, {true, false, 0, 20000, 4 << 20},
		{true, false, 200, 10000, 4 << 20}, {true, true, 0, 20000, 11 << 20 / 10}} {
		record := func(n uint64) []byte { return fmt.Appendf(nil, "%0*d", c.width, n) }
		f := newFilter(t, Config{MemoryBytes: c.memoryBytes, Exact: c.exact, Count: c.count})
		n, full := uint64(0), (*FullError)(nil)
		for ; full == nil; n++ {
			seen, err := f.Seen(record(n))
			if err != nil && !errors.As(err, &full) || err == nil && seen || n > 1<<20 {
				t.Fatal(n, seen, err)
			}
		}
		if n--; full.Distinct != n || n < uint64(c.some) ||
			full.EnoughBytes <= c.memoryBytes {
			t.Errorf("%+v: full after %d: %+v", c, n, full)
		}
		for i := uint64(0); i < n && !c.exact; i++ {
			if seen, err := f.Seen(record(i)); !seen || err != nil {
				t.Fatal(i, seen, err)
			}
		}
		enough, want := newFilter(t, Config{MemoryBytes: full.EnoughBytes, Exact: c.exact,
			Count: c.count}), 2*n
		for i := range want {
			if _, err := enough.Seen(record(i)); err != nil {
				t.Fatalf("%+v: %d bytes are not enough for %d of %d: %v", c, full.EnoughBytes, i,
					want, err)
			}
		}
	}
}

// Of the tables of a set one is just large enough for as many records as were guessed; the last one
// is as large as planned, however many come.
func TestRecords(t *testing.T) {
	for _, records := range []uint64{1, 3000, 50000} {
		const memoryBytes = 36 << 20
		f := newFilter(t, Config{MemoryBytes: memoryBytes, Records: records})
		var full *FullError
		for n := uint64(0); full == nil; n++ {
			_, err := f.Seen(fmt.Append(nil, n))
			if err != nil && !errors.As(err, &full) {
				t.Fatal(err)
			}
			if n == records*9/10 && f.MemoryBytes() > bucketBytes*(3*records+minBuckets) {
				t.Errorf("%d bytes for %d records", f.MemoryBytes(), records)
			}
		}
		if last := f.prints.growth.last; f.prints.buckets() != last ||
			last < memoryBytes/bytesPerBucket*2/3 {
			t.Errorf("the last table has %d buckets, planned were %d", f.prints.buckets(), last)
		}
	}
}

// The tables of sets by the memory, and by how many words there may be.
func TestPlanGrowth(t *testing.T) {
	for _, c := range []struct {
		words, memoryBytes uint64
		want               growth
	}{
		{0, 1 << 30, growth{43688, 89473024}},
		{1, 1 << 30, growth{64, 67108864}},
		{1000, 1 << 30, growth{1392, 88604672}},
		{47185, 1 << 30, growth{65536, 67108864}}, // just large enough, and not more than
		{47186, 1 << 30, growth{16392, 67141632}}, // firstBuckets: here less
		{200000, 1 << 30, growth{17368, 71139328}},
		{1 << 20, 1 << 30, growth{22760, 87605248}},
		{12079595, 1 << 30, growth{65544, 67117056}}, // an eighth of the memory
		{12079596, 1 << 30, growth{43688, 89473024}}, // more, so as without a number
		{11796, 1 << 20, growth{16392, 65568}},
		{1, 1, growth{minBuckets, minBuckets}},
		{1, 17 << 20, growth{64, 1 << 20}}, {1, 18 << 20, growth{64, 5 << 18}},
		{100, 1 << 15, growth{144, 2304}},
	} {
		if got := planGrowthFor(c.words, c.memoryBytes); got != c.want {
			t.Errorf("%d words, %d bytes: %+v, want %+v", c.words, c.memoryBytes, got, c.want)
		}
	}
	for _, c := range []struct {
		buckets uint64
		want    growth
	}{
		{0, growth{minBuckets, minBuckets}}, {minBuckets, growth{minBuckets, minBuckets}},
		{firstBuckets, growth{firstBuckets, firstBuckets}},
		{firstBuckets + 1, growth{firstBuckets / 2, firstBuckets}}, // in whole lines
		{1<<30 + 4096, growth{firstBuckets, 1 << 30}}, {1001, growth{1000, 1000}},
	} {
		for _, bytes := range []uint64{bytesPerBucket, bytesPerElementBucket} {
			if got := planGrowth(c.buckets*bytes, bytes); got != c.want {
				t.Errorf("%d buckets: %+v, want %+v", c.buckets, got, c.want)
			}
		}
	}
}

// Blocks of records, and such as end within one.
func TestRecordsOf(t *testing.T) {
	for block, want := range map[string]int{
		"": 0, "\x01\x00\x00\x00a": 1, "\x00\x00\x00\x00\x02\x00\x00\x00ab": 2,
		"\x01\x00\x00": -1, "\x02\x00\x00\x00a": -1, "\x00\x00\x00\x00\x01": -1,
		"\x00\x00\x01\x00" + strings.Repeat("a", set.MaxStringBytes): -1,
	} {
		records, err := recordsOf([]byte(block))
		if want < 0 && err == nil || want >= 0 && (err != nil || len(records) != want) {
			t.Errorf("%.20q: %d records, %v; want %d", block, len(records), err, want)
		}
	}
}

// Records with keys are kept in chunks, of which few are made.
func TestChunks(t *testing.T) {
	var c counts
	for i, want := range []uint64{1, 1, 1, 4, 5} { // chunks, in MiB
		size := []int{1, chunkBytes - 2, 1, 3 * chunkBytes, 1}[i]
		if got := c.store(make([]byte, size)); len(got) != size || cap(got) != size ||
			c.chunks != want*chunkBytes {
			t.Errorf("%d: %d bytes, with room for %d, of chunks of %d", i, len(got), cap(got),
				c.chunks)
		}
	}
}

// What was saved is seen by the filter that loads it, if that is of the same kind.
func TestSaveLoad(t *testing.T) {
	n := 100000
	if invariant.Enabled {
		n = 10000
	}
	for _, exact := range []bool{false, true} {
		path, ctx := filepath.Join(t.TempDir(), "seen"), context.Background()
		f, g := newFilter(t, Config{Exact: exact}), newFilter(t, Config{Exact: exact})
		for i := range n {
			if _, err := f.Seen(fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(f.Save(ctx, path), g.Load(ctx, path)); err != nil {
			t.Fatal(err)
		}
		for i := range 2 * n {
			if seen, err := g.Seen(fmt.Append(nil, i)); err != nil || seen != (i < n) {
				t.Fatal(i, seen, err)
			}
		}
		if distinct := g.Distinct(); distinct != uint64(2*n) {
			t.Errorf("exact %v: %d distinct records", exact, distinct)
		}
		if err := newFilter(t, Config{Exact: !exact}).Load(ctx, path); err == nil {
			t.Errorf("a filter loads what one saved with exact %v", exact)
		}
	}
	f := newFilter(t, Config{Exact: true})
	if _, err := f.Seen(make([]byte, set.MaxStringBytes)); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(t.Context(), filepath.Join(t.TempDir(), "seen")); err == nil {
		t.Error("a record that is a chain is saved")
	}
	if err := newFilter(t, Config{Count: true}).Save(t.Context(), "x"); err == nil {
		t.Error("counts are saved")
	}
}

// A file is loaded by filters that compare the same, and by no others.
func TestCompared(t *testing.T) {
	formats := []Format{{}, {Field: 1}, {Field: 2}, {Field: 1, Delimiter: ','},
		{Field: 1, Quotes: QuotesPlain}, {Key: "1"}, {Key: "\xff"}, {Key: "\xfe"}, {Key: "\ufffd"}}
	same := []Format{{Null: true}, {Field: 1, Delimiter: '\t'}, {Field: 2},
		{Field: 1, Quotes: QuotesCSV}}
	for _, exact := range []bool{false, true} {
		filter := func(compared string) *Filter {
			return newFilter(t, Config{Exact: exact, MemoryBytes: 1 << 12, Compared: compared})
		}
		for i, format := range formats {
			path := filepath.Join(t.TempDir(), "seen")
			f := filter(format.Compared())
			if _, err := f.Seen([]byte("a")); err != nil {
				t.Fatal(err)
			}
			if err := f.Save(t.Context(), path); err != nil {
				t.Fatalf("%+v: %v", format, err)
			}
			for j, other := range formats {
				g := filter(other.Compared())
				if err := g.Load(t.Context(), path); (err == nil) != (i == j) ||
					g.Distinct() > 0 != (i == j) || err != nil && !strings.Contains(err.Error(),
					"is of "+format.Compared()+" and not of "+other.Compared()) {
					t.Errorf("%+v loads a file of %+v: %v", other, format, err)
				}
			}
			if i < len(same) && filter(same[i].Compared()).Load(t.Context(), path) != nil {
				t.Errorf("%+v does not load a file of %+v", same[i], format)
			}
		}
	}
	for _, bad := range []string{"\xff", strings.Repeat("x", maxComparedBytes+1)} {
		path := filepath.Join(t.TempDir(), "seen")
		err := newFilter(t, Config{Compared: bad}).Save(t.Context(), path)
		if err == nil || !strings.Contains(err.Error(), "it must be UTF-8") {
			t.Errorf("%.9q: %v", bad, err)
		}
	}
}

// What is loaded counts beside what was seen before, and takes room.
func TestLoadAdds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	f, g := newFilter(t, Config{MemoryBytes: 1}), newFilter(t, Config{MemoryBytes: 1})
	most := int(f.prints.growth.capacity()) / 2
	see := func(f *Filter, from, to int) (err error) {
		for i := from; i < to && err == nil; i++ {
			_, err = f.Seen(fmt.Append(nil, i))
		}
		return err
	}
	if err := errors.Join(see(f, 0, 10), see(g, 5, 15), f.Save(t.Context(), path),
		g.Load(t.Context(), path)); err != nil || g.Distinct() != 15 {
		t.Fatalf("%d distinct records, want 15: %v", g.Distinct(), err)
	}
	err := see(g, 100, 200)
	if full := (*FullError)(nil); !errors.As(err, &full) || g.Distinct() != uint64(most) {
		t.Errorf("full with %d records, want %d: %v", g.Distinct(), most, err)
	}
}

// Records that are longer than any string of a set are compared as a whole, and counted.
func TestLongRecords(t *testing.T) {
	f, want := newFilter(t, Config{Count: true}), map[string]uint64{}
	var records [][]byte
	for _, size := range []int{linkBytes - 1, linkBytes, linkBytes + 1, set.MaxStringBytes - 1,
		set.MaxStringBytes, 2 * linkBytes, 2*linkBytes + 1, 3 * set.MaxStringBytes} {
		for _, at := range []int{0, 1, size / 2, size - 1, 0} { // what differs
			record := make([]byte, size)
			record[at] = 1
			records = append(records, record)
		}
		records = append(records, make([]byte, size))
	}
	seen := make([]bool, len(records))
	for range 2 {
		if n, err := f.SeenBatch(records, seen); n != len(records) || err != nil {
			t.Fatal(n, err)
		}
		for i, r := range records {
			if want[string(r)]++; seen[i] != (want[string(r)] > 1) {
				t.Errorf("record %d of %d bytes: seen %v", i, len(r), seen[i])
			}
		}
	}
	if f.Distinct() != uint64(len(want)) {
		t.Errorf("%d records, want %d", f.Distinct(), len(want))
	}
	for record, n := range f.Counts() {
		if want[string(record)] != n {
			t.Errorf("a record of %d bytes: %d times", len(record), n)
		}
		delete(want, string(record))
	}
	if len(want) > 0 {
		t.Errorf("%d records are missing", len(want))
	}
}

// Unique yields first occurrences, and stops when its caller does.
func TestUnique(t *testing.T) {
	f, got := newFilter(t, Config{}), ""
	for r, err := range f.Unique(slices.Values([][]byte{{'a'}, {'b'}, {'a'}, {'c'}, {'d'}})) {
		if got += string(r); err != nil || got == "abc" {
			break
		}
	}
	if got != "abc" {
		t.Errorf("%q, want abc", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, err := range f.Unique(slices.Values([][]byte{{'a'}, {'b'}})) {
		if count++; !errors.Is(err, errClosed) {
			t.Errorf("of a closed filter: %v", err)
		}
	}
	if count != 1 {
		t.Errorf("%d errors, want 1", count)
	}
}

// A batch needs an answer for each record.
func TestSeenBatchLengths(t *testing.T) {
	f := newFilter(t, Config{})
	for _, n := range []int{1, 3} {
		if _, err := f.SeenBatch([][]byte{{1}, {2}}, make([]bool, n)); err == nil {
			t.Errorf("2 records have %d answers", n)
		}
	}
	if f.Distinct() > 0 {
		t.Error("a record was stored")
	}
}

// A record is stored if there is room for two words, and the words that it has in common with
// others take none. In one batch and one by one it is the same.
func TestCapacity(t *testing.T) {
	for _, together := range []bool{false, true} {
		for _, common := range []bool{false, true} {
			f := newFilter(t, Config{MemoryBytes: 1})
			f.print = func(b []byte) xxh3.Uint128 {
				h := xxh3.Hash128(b)
				if common {
					h.Lo = 2
				}
				return h
			}
			words := f.prints.growth.capacity()
			if words%2 == 0 {
				t.Fatalf("%d words fit; choose a size with an odd number", words)
			}
			want := int(words) / 2
			if common {
				want = int(words) - 2 // the first takes two, and two have room before the last
			}
			records, seen := make([][]byte, words+1), make([]bool, words+1)
			for i := range records {
				records[i] = fmt.Append(nil, i)
			}
			n, err := 0, error(nil)
			if together {
				n, err = f.SeenBatch(records, seen)
			}
			for ; !together && err == nil; n++ {
				_, err = f.Seen(records[n])
			}
			if !together {
				n--
			}
			var full *FullError
			if !errors.As(err, &full) || n != want || f.Distinct() != uint64(want) {
				t.Errorf("together %v, common %v: %d records of %d words, want %d: %v", together,
					common, n, words, want, err)
			}
			for _, r := range records[:want] {
				if seen, err := f.Seen(r); !seen || err != nil {
					t.Fatalf("%s of a full filter: %v, %v", r, seen, err)
				}
			}
		}
	}
}

// The chance of an error is at least, and not much more than, the sum over all records of the
// chance that the record has the words, or the fingerprint, of earlier ones.
func TestChance(t *testing.T) {
	const records = 1000
	one, shared := 0.0, 0.0
	for n := range records {
		word := math.Ldexp(2*float64(n), -63) // that it is one of the 2n words so far
		one += word * word
		shared += math.Ldexp(float64(n), -126)
	}
	f := newFilter(t, Config{})
	for i := range records {
		if _, err := f.Seen(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Chance(); got < one || got > 1.01*one {
		t.Errorf("chance %g of %d records, want %g", got, records, one)
	}
	if got := sharedChance(records); got < shared || got > 1.01*shared {
		t.Errorf("shared: chance %g of %d records, want %g", got, records, shared)
	}
}

// A closed filter answers with an error.
func TestClosed(t *testing.T) {
	f := newFilter(t, Config{})
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := f.Seen(nil)
	if saved := f.Save(t.Context(), "x"); err == nil || saved == nil || f.MemoryBytes() != 0 {
		t.Errorf("%v, %v, %d bytes", err, saved, f.MemoryBytes())
	}
}

// Fingerprints that have one word in common are of different records, also in one batch. A record
// is new unless both of its words are there.
func TestWordsInCommon(t *testing.T) {
	f := newFilter(t, Config{})
	f.print = func(b []byte) xxh3.Uint128 {
		return xxh3.Uint128{Lo: uint64(b[0]) << 40, Hi: uint64(b[1]) << 30}
	}
	records := [][]byte{{1, 2}, {1, 3}, {4, 2}, {1, 2}, {1, 3}, {5, 6}}
	seen := make([]bool, len(records))
	if n, err := f.SeenBatch(records, seen); n != len(records) || err != nil {
		t.Fatal(n, err)
	}
	if want := []bool{false, false, false, true, true, false}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	if seen, err := f.Seen([]byte{5, 7}); seen || err != nil {
		t.Errorf("seen %v, %v, though one word is new", seen, err)
	}
}

// The set answers a batch in no order: the first of equal records is the fresh one, whichever of
// them was inserted.
func TestFresh(t *testing.T) {
	var f fresh
	for range 2 {
		f.begin([]set.Result{set.Found, set.Inserted, set.Found, set.Inserted},
			[]set.Ref{7, 7, 9, 15})
		var got []bool
		for _, ref := range []set.Ref{7, 7, 9, 15, 15} {
			got = append(got, f.take(ref))
		}
		if want := []bool{true, false, false, true, false}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		f.begin([]set.Result{set.Found, set.Found, set.Found, set.Found}, []set.Ref{7, 7, 9, 15})
		if f.take(7) || f.take(15) {
			t.Error("what an earlier batch has inserted is fresh")
		}
	}
}
