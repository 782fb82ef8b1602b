package tables

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
)

// Tables in a directory are listed with their entries, and checked by name. What is no table is
// left out, and refused.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	m, err := kv.Open(filepath.Join(dir, "sessions"), kv.Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, key := range []string{"a", "b"} {
		if _, err := m.Put([]byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := set.OpenBytes(filepath.Join(dir, "lines"), set.BytesConfig{
		Config: set.Config{MaxBytes: 16 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindOrPut([]byte("a line")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("no table"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := try.New(t, "tables", dir)
	err = run.Run()
	out := run.Out.String()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 3 {
		t.Fatalf("%v: %s%s", err, out, &run.Errors)
	}
	for i, want := range []string{"name is a entries", "lines set of bytes 1 ",
		"sessions map 2 "} {
		got := strings.Join(strings.Fields(lines[i]), " ") + " "
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if !strings.HasSuffix(lines[2], " 1") || !strings.HasSuffix(lines[1], " 0") {
		t.Errorf("processes: %s", out)
	}
	run = try.New(t, "check", filepath.Join(dir, "sessions"))
	err = run.Run()
	if out := run.Out.String(); err != nil ||
		!strings.Contains(out, "nothing is broken; a map, 2 entries") {
		t.Errorf("check: %v: %s%s", err, out, &run.Errors)
	}
	run = try.New(t, "check", other)
	if err := run.Run(); err == nil || !strings.Contains(run.Errors.String(), "not a table") {
		t.Errorf("check of another file: %v: %s", err, &run.Errors)
	}
}

// TestTablesInForms: a folder without tables, tables as JSON, and one that cannot be opened.
func TestTablesInForms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("tables by name need Linux")
	}
	dir := t.TempDir()
	try.Here(t, "tables", dir).Has(t, 0, "no tables in "+dir+"\n")
	if o := try.Here(t, "tables", dir, "--json"); o.Code != 0 || o.Out != "" {
		t.Errorf("exit code %d, %q", o.Code, o.Out)
	}
	try.Here(t, "tables", filepath.Join(dir, "none")).Has(t, cli.ExitFailure, "no such file")
	name := filepath.Join(dir, "m")
	m, err := kv.Open(name, kv.Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, err := m.Put([]byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	var row tableRow
	o := try.Here(t, "tables", dir, "--json")
	if err := json.Unmarshal([]byte(o.Out), &row); err != nil {
		t.Fatalf("%v: %s", err, o.Out)
	}
	if row.Path != name || row.Kind != "map" || row.Entries != 3 || row.Processes != 1 ||
		row.MaxBytes < row.Bytes || row.Bytes == 0 || row.Error != "" {
		t.Errorf("%+v", row)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	try.Here(t, "check", name).Has(t, 0, name+": nothing is broken; a map, 3 entries\n")
	try.Here(t, "check", filepath.Join(dir, "none")).Has(t, cli.ExitFailure, "farhash: ",
		"!nothing is")
}

// TestTablesBroken: a table that is broken is found by check, and one that cannot be opened is
// listed with the reason.
func TestTablesBroken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("tables by name need Linux")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "words")
	s, err := set.Open(name, set.Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	const word = 0x123456789abcdef
	if _, err := s.FindOrPut(word); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	try.Here(t, "check", name).Has(t, 0, "nothing is broken; a set, 1 entries")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	stored := binary.LittleEndian.AppendUint64(nil, 1<<63|word)
	at := bytes.Index(text, stored)
	if at < 0 || bytes.Count(text, stored) != 1 {
		t.Fatal("the word is not there, or twice")
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	other := binary.LittleEndian.AppendUint64(nil, 1<<63|word>>8) // it belongs elsewhere
	if _, err := f.WriteAt(other, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	try.Refused(t, cli.ExitFailure, name+": ", "check", name)
	none := rowOf(t.Context(), file.Info{Path: filepath.Join(dir, "none"), Members: 3},
		false)
	if !strings.Contains(none.Error, "no such file") || none.Entries != 0 || none.Processes != 3 {
		t.Errorf("%+v", none)
	}
}

// TestTablesOfOthers: a file of another user is not opened unless that is asked for, whatever its
// header says, and its name does not reach the terminal as it is.
func TestTablesOfOthers(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "words\x1b[2J")
	s, err := set.Open(name, set.Config{MaxBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 12345, -1); err != nil {
		t.Skip("needs root:", err)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const refusal = "it belongs to user 12345; --any-owner opens it"
	try.Here(t, "tables", dir).Has(t, 0, `words\x1b[2J"  set   `+refusal, "!\x1b")
	try.Here(t, "tables", dir, "--json").Has(t, 0, refusal, "!\x1b")
	try.Here(t, "check", name).Has(t, cli.ExitFailure, refusal)
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
	try.Here(t, "tables", dir, "--any-owner").Has(t, 0, "set   0  ")
	try.Here(t, "check", name, "--any-owner").Has(t, 0, "nothing is broken")
}
