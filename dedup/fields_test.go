package dedup

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Fields of CSV are compared without their quotes, whatever is in these. Quotes that are not CSV
// are refused, and so are all of them unless the format says what they mean.
func TestQuotes(t *testing.T) {
	const names = "\"Smith, Ann\",10\n\"Smith, Bob\",20\n\"Smith, Ann\",30\n"
	inCSV := Format{Field: 1, Quotes: QuotesCSV}
	second := Format{Field: 2, Quotes: QuotesCSV}
	for _, c := range []struct {
		format   Format
		in, want string
		problem  string
	}{
		{inCSV, names, "\"Smith, Ann\",10\n\"Smith, Bob\",20\n", ""},
		{second, "a,10\nb,\"10\"\r\nc,10\r\nd,\"1\"\"0\"\ne,\"1\"\"\"\"0\"\n",
			"a,10\nd,\"1\"\"0\"\ne,\"1\"\"\"\"0\"\n", ""},
		{second, "\"a\nb\",1\n\"a\n\n\"\"\n\",1\nc,2", "\"a\nb\",1\nc,2\n", ""},
		{inCSV, ",1\n\"\",2\n", ",1\n", ""},
		{inCSV, "\ufeff\"a\",1\na,2\n\ufeffa,2\n", "\ufeff\"a\",1\n\ufeffa,2\n", ""},
		{Format{Field: 2, Quotes: QuotesCSV, Delimiter: ';'}, "1,5;\"a;b\"\n2;a;b\n3;\"a;b\";c\n",
			"1,5;\"a;b\"\n2;a;b\n", ""},
		{Format{Field: 1, Quotes: QuotesCSV, Null: true}, "\"a\x00b\"\x00\"a\n\"\x00\"a\x00b\"",
			"\"a\x00b\"\x00\"a\n\"\x00", ""},
		{inCSV, "a,1\nb,5\" disk\nc,\"\n", "a,1\n",
			"record 2: field 2 has a quote, and is not enclosed in quotes"},
		{inCSV, "a,1\n\"b\" c,1\n", "a,1\n", "record 2: field 1 goes on with ' ' after its quotes"},
		{inCSV, "a,1\nb,\"c\nd\n", "a,1\n",
			"record 2: field 2 begins with a quote, and none ends it"},
		{Format{Field: 3, Quotes: QuotesCSV}, "\"a,b\",c\n", "", "there is no field 3, only 2"},
		{Format{Quotes: QuotesCSV}, "", "", "QuotesCSV needs Field"},
		{Format{Field: 1, Quotes: QuotesCSV, Delimiter: '"'}, "", "", `separated by '"'`},

		{Format{Field: 1, Delimiter: ','}, names, "", "record 1: field 1 begins with a quote"},
		{Format{Field: 2, Delimiter: ','}, names, "", "record 1: field 1 begins with a quote"},
		{Format{Field: 1}, "a\t\"b\"\na\"\t\"\n", "a\t\"b\"\na\"\t\"\n", ""},
		{Format{Field: 2, Delimiter: '"'}, "\"a\"b\n\"a\"c\n", "\"a\"b\n", ""},
		{Format{Field: 1, Delimiter: ',', Quotes: QuotesPlain}, names, "\"Smith, Ann\",10\n", ""},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.in),
			iotest.OneByteReader(strings.NewReader(c.in))} {
			var out bytes.Buffer
			_, err := newFilter(t, Config{MemoryBytes: 1}).Copy(t.Context(), &out, in, c.format)
			if out.String() != c.want || (err == nil) != (c.problem == "") ||
				err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%+v of %q: %q, %v", c.format, c.in, out.String(), err)
			}
			if refused := strings.HasSuffix(c.problem, ErrQuote.Error()); refused !=
				errors.Is(err, ErrQuote) {
				t.Errorf("%+v of %q: %v", c.format, c.in, err)
			}
		}
	}
}

// FuzzCSV: records are those of encoding/csv, or both refuse them.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n\"c,\n\"\"\",d\n")
	f.Add("a,5\" b\n")
	f.Add("\"a\"b\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\r") || strings.HasPrefix(text, "\n") ||
			strings.Contains(text, "\n\n") || strings.HasPrefix(text, byteOrderMark) {
			t.Skip() // encoding/csv leaves some of them out
		}
		want, errWant := csv.NewReader(strings.NewReader(text)).ReadAll()
		format := Format{Field: 1, Quotes: QuotesCSV}
		var got []string
		data := []byte(text)
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(data, '\n')
		}
		for len(data) > 0 {
			size := sizeOfCSV(data, '\n')
			field, err := format.field(data[:size])
			if err != nil {
				if errWant == nil {
					t.Fatalf("%q: %v", text, err)
				}
				return
			}
			got, data = append(got, string(field)), data[size+1:]
		}
		if errors.Is(errWant, csv.ErrFieldCount) {
			return
		}
		if errWant != nil || len(got) != len(want) {
			t.Fatalf("%q: %q, want %q: %v", text, got, want, errWant)
		}
		for i, record := range want {
			if record[0] != got[i] {
				t.Fatalf("%q: %q, want %q", text, got, want)
			}
		}
	})
}
