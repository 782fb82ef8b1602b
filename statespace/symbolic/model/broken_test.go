package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/symbolic"
)

// smallLDD has states of two integers, and a relation that reads the first and writes both: from 1
// it leads to 2, where the second becomes 7.
func smallLDD() []byte {
	var f lddWriter
	f.int(2, -1)
	f.diagram([][]entry{{{value: 1}, {value: 5}}})
	f.int(1)
	f.int(1, 2, 0, 0, 1)
	f.diagram([][]entry{{{value: 1}, {value: 2}, {value: 7}}})
	f.int(0)
	return f.Bytes()
}

// smallBDD has states of one integer of two bits, and a relation from 1 to 2.
func smallBDD() []byte {
	var f bddWriter
	f.int(1, 2, 16)
	f.diagrams(f.set([]uint32{0, 2}, [][]bool{{false, true}}), 1, f.all([]uint32{0, 2}))
	f.int(1)
	pairs := []uint32{0, 1, 2, 3}
	f.diagrams(f.set(pairs, [][]bool{{false, true, true, false}}), f.all(pairs))
	return f.Bytes()
}

// change is a number of a file that is another one.
type change struct {
	offset int
	bytes  int // of the number
	value  uint64
	at     int64  // the offset that the error names
	says   string // what it contains
}

func (c *change) of(file []byte) []byte {
	broken := bytes.Clone(file)
	if c.bytes == 4 {
		binary.LittleEndian.PutUint32(broken[c.offset:], uint32(c.value))
	} else {
		binary.LittleEndian.PutUint64(broken[c.offset:], c.value)
	}
	return broken
}

// brokenLDD are changes of smallLDD.
var brokenLDD = []change{
	{0, 4, 0, 0, "no integers"},
	{0, 4, 3, 48, "the initial states have 2 entries, and states 3"},
	{0, 4, 1 << 31, 0, "it can be 0 to"},
	{8, 8, 1, 32, "the root is node"},
	{8, 8, 1 << 60, 48, "node 4 names a node that is not before it"},
	{24, 8, 9 << 17, 16, "node 2 names a node that is not before it"},
	{16, 8, 9 << 1, 16, "node 2 names a node that is not before it"},
	{24, 8, 0, 16, "nothing follows the entry of node 2"},
	{32, 8, 1 << 1, 32, "the list of node 3 ends like a vector"},
	{32, 8, 2 << 1, 32, "vectors of node 3 have 2 and 1 entries"},
	{48, 8, 4, 48, "the root is node 4, and there are nodes up to 3"},
	{48, 8, 0, 48, "the initial set is empty"},
	{56, 4, 1 << 31, 56, "the number of relations is -2147483648"},
	{60, 4, 3, 60, "the number of levels that a relation reads is 3; it can be 0 to 2"},
	{68, 4, 2, 68, "a level of a relation is 2"},
	{76, 4, 0, 76, "the levels of a relation are not sorted"},
	{60, 4, 0, 0, ""},
	{88, 8, 5<<48 | 2<<1, 88, "the list of node 4 is not sorted"},
	{136, 8, 2, 136, "vectors of relation 1 have 1 entries; its levels need 3, or one more"},
}

// brokenBDD are changes of smallBDD.
var brokenBDD = []change{
	{4, 4, 0, 4, "an integer has 0 bits"},
	{4, 4, 1 << 20, 4, "an integer has 1048576 bits"},
	{4, 4, 3, 84, "the initial set has 2 variables, and a state 3 bits"},
	{8, 4, 1 << 31, 8, "the number of bits of an action label"},
	{20, 8, 1, 20, "node 1 names a node that is not before it"},
	{20, 8, 9, 20, "node 1 names a node that is not before it"},
	{28, 8, 3 << 40, 84, "variable 1 of the initial set is 3 and not 2"},
	{44, 8, 1 | 3<<40, 36, "the variables of node 2 and below it are not sorted"},
	{60, 8, 1, 84, "a list of variables is no conjunction"},
	{68, 8, 4, 68, "the root is node 4, and there are nodes up to 3"},
	{224, 8, 3, 224, "a relation has a variable of bit 0, and not the other one"},
	{224, 8, 8, 224, "a diagram has variable 0, which its list of variables has not"},
}

// TestBroken: what is wrong with a file is said, with its offset.
func TestBroken(t *testing.T) {
	for name, files := range map[string]struct {
		good    []byte
		changes []change
	}{"ldd": {smallLDD(), brokenLDD}, "bdd": {smallBDD(), brokenBDD}} {
		m, err := Read(bytes.NewReader(files.good), int64(len(files.good)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if res, err := Explore(t.Context(), m, Options{MaxBytes: 1 << 20,
			Strategy: symbolic.Loops}); err != nil || res.States.Int64() != 2 {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		for _, c := range files.changes {
			_, err := Read(bytes.NewReader(c.of(files.good)), 1<<20)
			bad := (*FormatError)(nil)
			if !errors.As(err, &bad) || c.says != "" && (!strings.Contains(bad.Msg, c.says) ||
				bad.Offset != c.at) {
				t.Errorf("%s with %d at %d: %v", name, c.value, c.offset, err)
			}
		}
		end := len(files.good)
		if name == "ldd" {
			end -= 4 // what comes after the relations is not read
		}
		for n := range end {
			_, err := Read(bytes.NewReader(files.good[:n]), 1<<20)
			if bad := (*FormatError)(nil); !errors.As(err, &bad) || bad.Offset != int64(n) {
				t.Fatalf("%s of %d bytes: %v", name, n, err)
			}
		}
		if _, err := Read(bytes.NewReader(files.good), int64(end-1)); err == nil ||
			!strings.Contains(err.Error(), "longer than it may be") {
			t.Errorf("%s of one byte too many: %v", name, err)
		}
	}
}

// TestBrokenRelation: a relation that writes one integer has vectors that are not sorted, or too
// long.
func TestBrokenRelation(t *testing.T) {
	for says, vectors := range map[string][][]entry{
		"the list of node 4 is not sorted":      {{{value: 1}}, {{copy: true}}},
		"vectors of relation 1 have 3 entries;": {{{value: 1}, {value: 2}, {value: 3}}},
	} {
		var f lddWriter
		f.int(1, -1)
		f.diagram([][]entry{{{value: 0}}})
		f.int(1)
		f.int(0, 1, 0)
		f.diagram(vectors)
		_, err := Read(&f, 1<<20)
		if bad := (*FormatError)(nil); !errors.As(err, &bad) || !strings.Contains(bad.Msg, says) {
			t.Errorf("%v: %v, want %q", vectors, err, says)
		}
	}
}

// TestReadFile: errors name the file.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ldd")
	if _, err := ReadFile(path, 1<<20); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(path, smallLDD()[:9], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, 1<<20); err == nil ||
		err.Error() != path+": at byte 9: the file ends too early" {
		t.Errorf("half a file: %v", err)
	}
}

// TestPatterns: copy nodes in too many combinations are refused.
func TestPatterns(t *testing.T) {
	const n = 11
	var f lddWriter
	f.int(n, -1)
	var first []entry
	for range n {
		first = append(first, entry{})
	}
	f.diagram([][]entry{first})
	f.int(1)
	f.int(0, n)
	for i := range n {
		f.int(i)
	}
	list := uint64(noEntries) // any combination of copies and zeros
	for range n {
		f.nodes = append(f.nodes, [2]uint64{0, list << 17})
		plain := uint64(len(f.nodes) + 1)
		f.nodes = append(f.nodes, [2]uint64{plain << 1, list<<17 | 1<<16})
		list = plain + 1
	}
	f.word(2 * n)
	for _, node := range f.nodes[n:] {
		f.word(node[0], node[1])
	}
	f.word(list)
	m, err := Read(&f, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Explore(t.Context(), m, Options{MaxBytes: 1 << 20, Strategy: symbolic.Loops})
	if bad := (*FormatError)(nil); !errors.As(err, &bad) || bad.Offset == 0 ||
		!strings.Contains(bad.Msg, "more than 1024 combinations") {
		t.Errorf("2^%d combinations: %v", n, err)
	}
}

// FuzzRead holds Read to a model that can be loaded, or to an error with an offset. What is loaded
// can be counted and followed, or has too many nodes.
func FuzzRead(f *testing.F) {
	f.Add(smallLDD())
	f.Add(smallBDD())
	for seed := range uint64(8) {
		_, ldd := randomLDD(rand.New(rand.NewPCG(seed, 1)))
		_, bdd := randomBDD(rand.New(rand.NewPCG(seed, 1)))
		f.Add(ldd)
		f.Add(bdd)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Read(bytes.NewReader(file), 1<<16)
		bad, full := (*FormatError)(nil), (*symbolic.FullError)(nil)
		if err != nil {
			if !errors.As(err, &bad) || bad.Offset > int64(len(file)) || bad.Msg == "" {
				t.Fatalf("no offset or no message in the error %#v", err)
			}
			return
		}
		if m.Levels > 1<<12 {
			return
		}
		s, err := symbolic.New(t.Context(), symbolic.Config{Levels: m.Levels, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		initial, relations, err := m.Load(s)
		if errors.As(err, &bad) || errors.As(err, &full) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Count(initial); err != nil {
			t.Fatal(err)
		}
		for _, r := range relations {
			n, err := s.Image(initial, r)
			if err == nil {
				s.Hold(n)
				_, err = s.Preimage(n, r, initial)
				s.Release(n)
			}
			if err != nil && !errors.As(err, &full) {
				t.Fatal(err)
			}
		}
	})
}
