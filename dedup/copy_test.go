package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/zeebo/xxh3"
)

// firsts is what Copy writes, by a map.
func firsts(text, end string, key func(string) string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, end), end) {
		if text != "" && !seen[key(line)] {
			out.WriteString(line + end)
		}
		seen[key(line)] = true
	}
	return out.String()
}

func whole(line string) string { return line }

// Copy agrees with a map for streams that arrive in any pieces.
func TestCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	long := strings.Repeat("x", 100<<10)
	for round := range 40 {
		var lines []string
		for range r.IntN(9000) {
			lines = append(lines, []string{"", "a\r", "\x00", fmt.Sprint(r.IntN(3000)),
				fmt.Sprint(r.Uint64())}[r.IntN(5)])
			if r.IntN(500) == 0 {
				lines = append(lines, long+fmt.Sprint(r.IntN(3)))
			}
		}
		text := strings.Join(lines, "\n")
		if round%2 == 0 {
			text += "\n"
		}
		var in io.Reader = strings.NewReader(text)
		if round%4 < 2 {
			in = iotest.HalfReader(in)
		}
		for name, cfg := range map[string]Config{"prints": {}, "exact": {Exact: true}} {
			var out bytes.Buffer
			stats, err := newFilter(t, cfg).Copy(t.Context(), &out, in, Format{})
			if want := firsts(text, "\n", whole); err != nil || out.String() != want {
				t.Fatalf("round %d, %s: %d bytes, want %d: %v", round, name, out.Len(),
					len(want), err)
			}
			if stats.KeptBytes != uint64(out.Len()) || stats.Read < stats.Kept {
				t.Errorf("%+v of %d bytes", stats, out.Len())
			}
			in = strings.NewReader(text)
		}
	}
}

// Records end and are compared as the format says.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		format   Format
		in, want string
		problem  string
	}{
		{Format{Null: true}, "a\x00a\nb\x00a", "a\x00a\nb\x00", ""},
		{Format{RecordBytes: 2}, "abab\n\nab\n\n", "ab\n\n", ""},
		{Format{RecordBytes: 2}, "abcdabx", "abcd", "last record has 1 bytes in place of 2"},
		{Format{Field: 2}, "a\tx\nb\tx\tz\nc\ty", "a\tx\nc\ty\n", ""},
		{Format{Field: 2, Delimiter: ','}, "a,x\nb,x\nc\nd,z\n", "a,x\n",
			"record 3: there is no field 2, only 1"},
		{Format{Key: "k"}, `{"k": "a\u0062"}` + "\n" + `{"j":1,"k":"ab"}` + "\n" + `{"k":[1, 2]}` +
			"\n" + `{"k":[1,2]}` + "\n" + `{"k":1}`,
			`{"k": "a\u0062"}` + "\n" + `{"k":[1, 2]}` + "\n" + `{"k":1}` + "\n", ""},
		{Format{Key: "k"}, "{\"k\":1}\n{}\n", "{\"k\":1}\n",
			`record 2: the JSON object has no key "k"`},
		{Format{Key: "k"}, "{\"k\":1}\n{\"k\":\"1\"}\n{\"k\":\"\\\"1\"}\n{\"k\": \"1\"}\n",
			"{\"k\":1}\n{\"k\":\"1\"}\n{\"k\":\"\\\"1\"}\n", ""},
		{Format{Key: "k"}, "3\n", "", "record 1: no JSON object"},
		{Format{Key: "k"}, "{\"k\":1} 2\n", "", "record 1: no JSON object"},
		{Format{Key: "k"}, "{\"k\":1,\"j\":}\n", "", "record 1: no JSON object"},
		{Format{Key: "k"}, "{\"k\":1", "", "record 1: no JSON object"},
		{Format{Field: -1}, "", "", "numbered from 1"},
		{Format{Field: 1, Key: "k"}, "", "", "excludes"},
		{Format{RecordBytes: 2, Null: true}, "", "", "excludes"},
		{Format{RecordBytes: 2, Field: 1}, "", "", "excludes"},
		{Format{RecordBytes: 2, Key: "k"}, "", "", "excludes"},
		{Format{RecordBytes: -1}, "", "", "records have 1 to 1073741824 bytes"},
		{Format{RecordBytes: MaxRecordBytes + 1}, "", "", "records have 1 to 1073741824 bytes"},
	} {
		var out bytes.Buffer
		_, err := newFilter(t, Config{}).Copy(t.Context(), &out, strings.NewReader(c.in), c.format)
		if out.String() != c.want || (err == nil) != (c.problem == "") ||
			err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%+v of %q: %q, %v", c.format, c.in, out.String(), err)
		}
	}
}

// What was written before an error is right: reading fails, memory is full, the caller stops.
func TestCopyError(t *testing.T) {
	var text []byte
	for i := range 400000 {
		text = fmt.Appendln(text, i)
	}
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	pipe, feed := io.Pipe()
	go func() {
		_, _ = feed.Write(text[:100000])
		_, _ = feed.Write(text[100000:200000]) // returns when all is read
		cancel()
	}()
	for name, c := range map[string]struct {
		in          io.Reader
		memoryBytes uint64
		is          func(error) bool
	}{
		"read": {io.MultiReader(bytes.NewReader(text), iotest.ErrReader(broken)), 0,
			func(err error) bool { return errors.Is(err, broken) }},
		"full": {bytes.NewReader(text), 2 << 20,
			func(err error) bool { var f *FullError; return errors.As(err, &f) }},
		"stopped": {pipe, 0, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		var out bytes.Buffer
		f := newFilter(t, Config{MemoryBytes: c.memoryBytes})
		caller := t.Context()
		if name == "stopped" {
			caller = ctx
		}
		stats, err := f.Copy(caller, &out, c.in, Format{})
		if !c.is(err) || !bytes.HasPrefix(text, out.Bytes()) ||
			stats.KeptBytes != uint64(out.Len()) {
			t.Errorf("%s: %v, %d bytes, %+v", name, err, out.Len(), stats)
		}
		if n := out.Len(); n > 0 && text[n-1] != '\n' {
			t.Errorf("%s: the last line is cut", name)
		}
	}
}

// What could not be written does not count as kept.
func TestCopyUnwritten(t *testing.T) {
	f := newFilter(t, Config{})
	r, w := io.Pipe()
	failed := errors.New("no room")
	_ = r.CloseWithError(failed)
	stats, err := f.Copy(t.Context(), w, strings.NewReader("a\nb\na\n"), Format{})
	if !errors.Is(err, failed) || stats != (Stats{Read: 3, ReadBytes: 6}) {
		t.Errorf("%v, %+v", err, stats)
	}
}

// Blocks are the stream, cut between records, in whatever pieces it arrives.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\nbb\n\nc"), false, 0, false)
	f.Add([]byte("a\x00b"), true, 3, false)
	f.Add([]byte("\"a\nb\",\"\"\"\n\"\nc\n\"d\n"), false, 0, true)
	var memory []byte // of all blocks: new ones would take most of the time
	f.Fuzz(func(t *testing.T, text []byte, null bool, size int, csv bool) {
		format := Format{Null: null && size == 0, RecordBytes: max(size, 0) % 100}
		if csv {
			format.RecordBytes, format.Quotes = 0, QuotesCSV
		}
		s := splitter{in: iotest.OneByteReader(bytes.NewReader(text)), format: format}
		var all []byte
		for {
			b := s.next(memory)
			memory = b.data[:0]
			all = append(all, b.data...)
			if n := format.RecordBytes; n > 0 && len(b.data)%n != 0 ||
				n == 0 && len(b.data) > 0 && b.data[len(b.data)-1] != format.end() {
				t.Fatalf("a block is cut in a record: %q", b.data)
			}
			if csv && b.err == nil && bytes.Count(b.data, []byte{'"'})%2 == 1 {
				t.Fatalf("a block is cut in quotes: %q", b.data)
			}
			if b.err != nil {
				size := max(format.RecordBytes, 1)
				if (b.err == io.EOF) != (len(text)%size == 0) {
					t.Fatal(b.err)
				}
				break
			}
		}
		if n := format.RecordBytes; n > 0 {
			text = text[:len(text)/n*n]
		} else if len(text) > 0 && text[len(text)-1] != format.end() {
			text = append(slices.Clone(text), format.end())
		}
		if !bytes.Equal(all, text) {
			t.Fatalf("%q has become %q", text, all)
		}
	})
}

// Records with the same field are counted together, by the first of them; also where the field is
// the whole record.
func TestCountsOfKeys(t *testing.T) {
	f, got, out := newFilter(t, Config{Count: true}), "", new(bytes.Buffer)
	in := strings.NewReader("a\nb,1\na,2\nc\nb,1\nd,3\nc,4\n")
	if _, err := f.Copy(t.Context(), out, in, Format{Field: 1, Delimiter: ','}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("%q was written", out)
	}
	for record, n := range f.Counts() {
		got += fmt.Sprintf("%d %s\n", n, record)
	}
	if want := "2 a\n2 b,1\n2 c\n1 d,3\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A filter that counts is full when the records that it keeps beside their keys are too many, and
// an exact filter that is full stays so.
func TestCountsFull(t *testing.T) {
	f, in := newFilter(t, Config{Count: true, MemoryBytes: 4 << 20}), new(bytes.Buffer)
	for i := range 10000 {
		fmt.Fprintf(in, "%d,%01000d\n", i, 0)
	}
	_, err := f.Copy(t.Context(), io.Discard, in, Format{Field: 1, Delimiter: ','})
	var full *FullError
	if !errors.As(err, &full) || full.Distinct >= 10000 {
		t.Fatalf("%d distinct records, %v", f.Distinct(), err)
	}
	e := newFilter(t, Config{Exact: true, MemoryBytes: 1})
	for n := 0; ; n++ {
		if _, err := e.Seen(fmt.Append(nil, n)); err != nil {
			break
		}
	}
	if _, err := e.Seen([]byte("0")); !errors.As(err, &full) {
		t.Errorf("after an error: %v", err)
	}
}

// Copy stops between two batches of a block.
func TestCopyStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, n := newFilter(t, Config{}), 0
	f.print = func(b []byte) xxh3.Uint128 {
		if n++; n == batchRecords+1 {
			cancel()
		}
		return xxh3.Hash128(b)
	}
	in := strings.NewReader(strings.Repeat("a\n", 10*batchRecords))
	stats, err := f.Copy(ctx, io.Discard, in, Format{})
	if !errors.Is(err, context.Canceled) || stats.Read != 2*batchRecords {
		t.Errorf("%v, %+v", err, stats)
	}
}
