package report_test

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/itftest"
	"github.com/farhash/farhash/statespace/report"
)

type colour uint8

func (c colour) String() string { return [...]string{"red", "green"}[c] }

type inner struct {
	A      int
	hidden int
}

type everything struct {
	Flag    bool
	Small   int8
	Large   int64
	Huge    uint64
	Big     big.Int
	Text    string
	Colour  colour
	List    []inner
	Nothing []int
	Array   [2]uint8
	Map     map[int]string
	Set     map[string]struct{}
	Pointer *int
	Nil     *int
	Float   float64
	Opaque  struct{ x int }
	Empty   struct{}
	Any     any
}

// Each type has the form that the format has for it.
func TestValues(t *testing.T) {
	five := 5
	s := everything{Flag: true, Small: -3, Large: 1<<53 - 1, Huge: math.MaxUint64, Text: "a\"<",
		Colour: 1, List: []inner{{A: 7, hidden: 1}}, Array: [2]uint8{1, 2},
		Map: map[int]string{10: "x", 9: "y", -1: "z"}, Set: map[string]struct{}{"q": {}, "p": {}},
		Pointer: &five, Float: 0.5, Any: int16(4)}
	s.Big.SetString("-123456789012345678901234567890", 10)
	want := `true -3 9007199254740991 {"#bigint":"18446744073709551615"} ` +
		`{"#bigint":"-123456789012345678901234567890"} "a\"\u003c" "green" [{"A":7}] [] [1,2] ` +
		`{"#map":[[-1,"z"],[9,"y"],[10,"x"]]} {"#set":["p","q"]} 5 ` +
		`{"#unserializable":"\u003cnil\u003e"} {"#unserializable":"0.5"} ` +
		`{"#unserializable":"{x:0}"} {} 4`
	var got []string
	for _, v := range report.Values(reflect.ValueOf(s)) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	vars := report.Vars(reflect.TypeOf(s))
	if len(vars) != len(got) || vars[0] != "Flag" || slices.Contains(vars, "hidden") {
		t.Errorf("%q", vars)
	}
	for _, one := range []any{[2]int{1, 2}, struct{ x int }{3}, struct{}{}} {
		if n := report.Values(reflect.ValueOf(one)); len(n) != 1 ||
			!slices.Equal(report.Vars(reflect.TypeOf(one)), []string{"state"}) {
			t.Errorf("%v: %v", one, n)
		}
	}
	text, _ := json.Marshal([]any{report.Int(1 << 53), report.Int(-(1<<53 - 1))})
	if string(text) != `[{"#bigint":"9007199254740992"},-9007199254740991]` {
		t.Errorf("%s", text)
	}
	type ring struct{ Next *ring }
	r := &ring{}
	r.Next = r
	if text, err := json.Marshal(report.Values(reflect.ValueOf(*r))); err != nil ||
		!strings.Contains(string(text), "too deep") {
		t.Errorf("%s, %v", text, err)
	}
}

// counted is a trace of numbers.
func counted(about string, loop int, numbers ...int64) report.ITFTrace {
	return report.ITFTrace{Source: "s", Property: "p", About: about, Loop: loop,
		Vars: []string{"n", "#meta", "_#meta"}, States: func(yield func(report.ITFState) bool) {
			for i, n := range numbers {
				s := report.ITFState{Values: []any{report.Int(n), report.Int(0), report.Int(0)}}
				if i > 0 {
					s.Action = "up"
				}
				if !yield(s) {
					return
				}
			}
		}}
}

// Each trace has a file, which replaces traces alone.
func TestWriteITF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.itf.json")
	for range 2 {
		if err := report.ITFWritable(path); err != nil {
			t.Fatal(err)
		}
		err := report.WriteITF(path, counted("a", 1, 1, 2), counted("b", -1, 3),
			counted("c", -1, 1<<60))
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Dir(path)
	for i, name := range []string{"t.itf.json", "t-2.itf.json", "t-3.itf.json"} {
		got := itftest.Read(t, filepath.Join(folder, name))
		if got.Meta["number"] != json.Number(string(rune('1'+i))) || got.Meta["description"] !=
			string(rune('a'+i)) || !slices.Equal(got.Vars, []string{"n", "__#meta", "_#meta"}) ||
			(got.Loop == 1) != (i == 0) || len(got.States) != 2-min(i, 1) {
			t.Errorf("%s: %v", name, got)
		}
		if i == 0 && (got.States[1].Action != "up" || got.States[0].Action != "") {
			t.Errorf("%v", got)
		}
	}
	if err := report.WriteITF(path); err != nil {
		t.Fatal(err)
	}
	if got := itftest.Read(t, path); len(got.States) != 0 || got.Meta["of"] != json.Number("0") {
		t.Errorf("%v", got)
	}
	mine := filepath.Join(folder, "mine.json")
	if err := os.WriteFile(mine, []byte(`{"#meta":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := report.ITFWritable(mine)
	if err == nil || !strings.Contains(err.Error(), "would be lost") {
		t.Error(err)
	}
	if err := report.ITFWritable(path+"x", "x", path+"x"); err == nil {
		t.Error("two flags name a file")
	}
	if got := report.ITFName("a.b/trace", 2); got != "a.b/trace-2" {
		t.Error(got)
	}
}

// What is no trace is refused by the reader of the tests.
func TestParse(t *testing.T) {
	for _, text := range []string{`{}`, `{"vars":["a"]}`, `{"vars":["a","a"],"states":[]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":1},"a":1}]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":0}}]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":0},"a":1.5}]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":0},"a":9007199254740992}]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":0},"a":{"#map":[[1]]}}]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":0},"a":null}]}`,
		`{"vars":["a"],"states":[{"#meta":{"index":0},"a":1}],"loop":1}`,
		`{"vars":["a"],"states":[],"more":1}`} {
		if got, err := itftest.Parse([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}
