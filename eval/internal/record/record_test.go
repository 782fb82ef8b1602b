package record_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/farhash/farhash/eval/internal/record"
)

var records = []record.Record{
	{Name: "Set", Keys: []record.Key{record.K("impl", "batch"), record.K("load", 0.5)}, N: 10,
		Values: []record.Value{{Value: 12.5, Unit: "ns/op"}, {Value: 80, Unit: "Mop/s"}}},
	{Name: "Set", Keys: []record.Key{record.K("impl", "batch"), record.K("load", 0.5)}, N: 10,
		Values: []record.Value{{Value: 13.5, Unit: "ns/op"}, {Value: 70, Unit: "Mop/s"}}},
	{Name: "Set", Keys: []record.Key{record.K("impl", "a b/c"), record.K("load", 0.5)}, N: 3,
		Values: []record.Value{{Value: 40, Unit: "Mop/s"}}},
}

func TestRoundTrip(t *testing.T) {
	var text bytes.Buffer
	config := record.Machine("a cpu", "farhash-eval x")
	if err := record.Write(&text, config, records); err != nil {
		t.Fatal(err)
	}
	gotConfig, got, err := record.Read(bytes.NewReader(text.Bytes()), "x")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, records) {
		t.Errorf("%v\ncame back as\n%v\nby\n%s", records, got, &text)
	}
	if gotConfig.Get("cpu") != "a cpu" || gotConfig.Get("command") != "farhash-eval x" {
		t.Errorf("the configuration came back as %v", gotConfig)
	}
	if _, _, err := record.Read(strings.NewReader("BenchmarkX 1 y ns/op\n"), "bad"); err == nil {
		t.Error("a value that is no number is read")
	}
}

func TestTable(t *testing.T) {
	all := record.NewTable("Set", records)
	if len(all.Cases) != 2 || all.Cases[1].Get("impl") != "a_b.c" {
		t.Fatalf("cases are %v", all.Cases)
	}
	batch := all.Find(record.K("impl", "batch"))
	if m, low, high, n := batch.Spread("Mop/s"); m != 75 || low != 70 || high != 80 || n != 2 {
		t.Errorf("75, 70 to 80 of 2 are %v, %v to %v of %d", m, low, high, n)
	}
	other := all.Like(batch, record.K("impl", "a b/c"))
	if other != all.Cases[1] || all.Like(batch, record.K("load", 1)) != nil {
		t.Error("Like does not find the case that differs in one key")
	}
	if _, ok := other.Median("ns/op"); ok || all.HasUnit("none") || !all.HasUnit("ns/op") {
		t.Error("units that were not measured are there")
	}
	if !all.Follows("load", "impl") || all.Follows("impl", "load") {
		t.Error("of the same load there are two implementations, and not the other way round")
	}
	if batch.Number("load") != 0.5 || len(all.Where(record.K("load", 0.5)).Cases) != 2 {
		t.Error("the load of a case is not 0.5")
	}
}
