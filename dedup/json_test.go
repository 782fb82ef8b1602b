package dedup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Different values of a key stay different, also where they are not Unicode, and equal ones are one
// however they are written.
func TestKeyValues(t *testing.T) {
	classes := [][]string{ // of JSON values, each class of equal ones
		{`"\ud800"`, `"\uD800"`}, {`"\ud801"`}, {`"\udc00"`}, {`"\ufffd"`, "\"\ufffd\""},
		{"\"\xff\""}, {"\"\xfe\""}, {"\"\xed\xa0\x80\""}, {`"\\ud800"`, `"\u005cud800"`},
		{`"\\\ud800"`}, {`"\ud800\ud800"`}, {`"\ud800A"`}, {`"\udc00\ud800"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\"\\\/\b\f\n\r\t"`, `"\u0022\u005c/\u0008\u000c\u000a\u000d\u0009"`},
		{`""`}, {`"1"`}, {`"\"1"`}, {`1`}, {`1.0`}, {`true`}, {`null`}, {`"null"`},
		{`{"a":[1,"}"]}`, `{ "a" : [ 1 , "}" ] }`}, {`["\\"]`}, {`["\\\\"]`}, {"[\"\xff\"]"},
		{"[\"\xfe\"]"}, {`[]`}, {`{}`},
	}
	for _, exact := range []bool{false, true} {
		var in, want strings.Builder
		for _, class := range classes {
			for i, value := range class {
				for j, form := range []string{`{"k":%s}`, ` { "j" : "k" , "k" : %s , "l":[]}`,
					`{"j":{"k":2},"k":1,"\u006b":%s}`} {
					line := fmt.Sprintf(form+"\n", value)
					if in.WriteString(line); i == 0 && j == 0 {
						want.WriteString(line)
					}
				}
			}
		}
		var out bytes.Buffer
		_, err := newFilter(t, Config{MemoryBytes: 1 << 20, Exact: exact}).Copy(t.Context(), &out,
			strings.NewReader(in.String()), Format{Key: "k"})
		if err != nil || out.String() != want.String() {
			t.Errorf("exact %v: %q, want %q: %v", exact, out.String(), want.String(), err)
		}
	}
}

// The name of a key is compared as strings are.
func TestKeyNames(t *testing.T) {
	for name, object := range map[string]string{"a\xff": "{\"a\xff\":1}", "é": `{"\u00e9":1}`,
		`a\u0062`: `{"a\\u0062":1}`, "": `{"":1}`, "\ufffd": `{"\ufffd":1}`} {
		f := Format{Key: name}
		if value, err := f.value([]byte(object)); string(value) != "1" {
			t.Errorf("%q of %q: %q, %v", name, object, value, err)
		}
		for _, other := range []string{"{\"a\xfe\":1}", `{"ab":1}`, "{\"\xff\":1}",
			`{"\ud800":1}`} {
			if value, err := f.value([]byte(other)); err == nil {
				t.Errorf("%q of %q: %q", name, other, value)
			}
		}
	}
}

// FuzzKey: of records that are Unicode the value is what encoding/json reads, and others end in no
// panic.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{`{"k":"a"}`, `{"j":[{"k":"]"}], "k": -1.5e3 }`, `{}`, `[]`,
		` null`, `{"k":"\ud83d\ude00\u00e9\\"}`, "{\"k\":\"\xff\"}", `{"k":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		format := Format{Key: "k"}
		got, err := format.value(record)
		var object map[string]json.RawMessage
		if json.Unmarshal(record, &object) != nil || object == nil || object["k"] == nil {
			if err == nil {
				t.Fatalf("%q of %q", got, record)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", record, err)
		}
		value, text := object["k"], ""
		if value[0] != '"' || !utf8.Valid(value) || bytes.Contains(value, []byte(`\u`)) {
			return
		}
		if err := json.Unmarshal(value, &text); err != nil {
			t.Fatal(err)
		}
		if want := `"` + strings.ReplaceAll(text, `\`, `\\`); string(got) != want {
			t.Fatalf("%q of %q, want %q", got, record, want)
		}
	})
}
