package set

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
)

// slow is set where every step costs much: under the race detector.
const slow = invariant.Enabled

// alone skips a test in which nothing is concurrent, and that takes long, under the race
// detector: it would find nothing.
func alone(t *testing.T) {
	t.Helper()
	if memory.RaceEnabled {
		t.Skip("one goroutine counts here, and the race detector would find nothing")
	}
}

// elementSizes are those that the streams run with: parts of a word, whole words,
// neither, and the largest.
var elementSizes = []int{1, 7, 8, 12, 16, 100, MaxElementBytes}

// FuzzSet runs streams of operations on words.
func FuzzSet(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		src := &source{data}
		s := decodeShape(src, 0)
		_, err := runStream(s, src.data[:min(len(src.data), 200)])
		must(t, err)
	})
}

// FuzzElements runs streams of operations on elements of all sizes.
func FuzzElements(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		src := &source{data}
		s := decodeShape(src, elementSizes[src.next()%len(elementSizes)])
		_, err := runStream(s, src.data[:min(len(src.data), 200)])
		must(t, err)
	})
}

func addSeeds(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	seeds := 40
	if slow {
		seeds = 10
	}
	for range seeds {
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
}

// TestStreams runs random streams on every engine, for words and for elements.
func TestStreams(t *testing.T) {
	for _, bytes := range append([]int{0}, elementSizes...) {
		rapid.Check(t, func(t *rapid.T) {
			data := rapid.SliceOfN(rapid.Byte(), 20, 300).Draw(t, "stream")
			src := &source{data}
			s := decodeShape(src, bytes)
			s.on(engine(rapid.IntRange(0, int(allEngines)-1).Draw(t, "engine")))
			if _, err := runStream(s, src.data); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestStringStreams is TestStreams for strings. The table stays as it is.
func TestStringStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 20, 300).Draw(t, "stream")
		src := &source{data}
		s := decodeShape(src, anyLength)
		s.moving = false
		s.on(engine(rapid.IntRange(0, int(allEngines)-1).Draw(t, "engine")))
		if _, err := runStream(s, src.data); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSameAnswersOnEveryEngine runs the same stream on all engines. What makes a table
// anew places elements in an order of chance. That occupies the same buckets, and so
// gives the same answers, only where a search may go all around the table.
func TestSameAnswersOnEveryEngine(t *testing.T) {
	for _, size := range []int{0, 12, anyLength} {
		rapid.Check(t, func(t *rapid.T) {
			data := rapid.SliceOfN(rapid.Byte(), 20, 300).Draw(t, "stream")
			src := &source{data}
			s := decodeShape(src, size)
			s.strict, s.alike = true, true
			s.moving = s.cfg.Chunks == 0 && size != anyLength
			var first []byte
			for e := range streamEngines {
				s.on(e)
				answers, err := runStream(s, src.data)
				if err != nil {
					t.Fatal(err)
				}
				if e == 0 {
					first = answers
				} else if !bytes.Equal(answers, first) {
					t.Fatalf("%v answers %v, %v %v", engine(0), first, e, answers)
				}
			}
		})
	}
}
