package set

import (
	"encoding/binary"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
)

// Races over memory as scripts: some insertions happen in the middle of another, at a
// line of code that has a mark.

// wordLosesItsBucket: a word is inserted just before another search claims the
// same bucket, for the same word or another one.
func wordLosesItsBucket(t *testing.T) {
	mark.Need(t)
	wordLoses.Claim(t)
	words := wordsWithHomes(2, []uint64{0})
	for i, want := range []Result{Found, Inserted} {
		jobs := ranksOf(t, engineDirect, 1)
		sets, err := newSets(jobs, Config{Buckets: 64, variant: by(kernelPortable)})
		must(t, err)
		first := Result(0)
		claimsWord.Claim(t)
		claimsWord.Intercept(t, func() {
			if first == 0 {
				first, err = sets[0].FindOrPut(words[i])
			}
		})
		second, errSecond := sets[0].FindOrPut(words[0])
		must(t, err, errSecond, checkRanks(jobs, checksOf(sets)))
		if first != Inserted || second != want {
			t.Errorf("word %d is %v, then word 0 %v", i, first, second)
		}
	}
}

// elementLosesItsBucket is the same for elements, one by one and in batches.
func elementLosesItsBucket(t *testing.T) {
	mark.Need(t)
	elementLoses.Claim(t)
	singleLoses.Claim(t)
	slotComesBack.Claim(t)
	elements := elementsAtHome(3)
	for _, batch := range []bool{false, true} {
		place := claimsSingle
		if batch {
			place = claimsElement
		}
		for i, want := range []Result{Found, Inserted} {
			r := elementRace{place: place, visit: 1, batch: batch,
				during: elements[i : i+1]}
			// What has lost its slot leaves it to the next element of the batch.
			results := r.run(t, elements[0], elements[2])
			if results[0] != want || results[1] != Inserted {
				t.Errorf("batch %v: after element %d, elements 0 and 2 are %v", batch, i, results)
			}
		}
	}
}

// lineReadInPieces: two elements come into a line while a batch reads it, one into a
// bucket that it has read and one into a bucket that it has not. The first of them is
// the one that it searches for.
func lineReadInPieces(t *testing.T) {
	mark.Need(t)
	elements := elementsAtHome(3)
	for visit := 1; visit <= lineBuckets; visit++ {
		for _, during := range [][][]byte{elements[:2], elements[:3]} {
			r := elementRace{place: lineIsRead, visit: visit, batch: true, during: during}
			if results := r.run(t, elements[0]); results[0] != Found {
				t.Errorf("%d elements come before bucket %d is read: element 0 is then %v",
					len(during), visit-1, results[0])
			}
		}
	}
}

// elementsAtHome are elements of 8 bytes whose home is the beginning of the table.
func elementsAtHome(n int) (elements [][]byte) {
	for i := uint64(0); len(elements) < n; i++ {
		if hashElement([]uint64{i})>>56 == 0 {
			elements = append(elements, binary.LittleEndian.AppendUint64(nil, i))
		}
	}
	return elements
}

// elementRace has some elements inserted when another insertion comes to a place for
// the visit-th time.
type elementRace struct {
	place  *mark.Mark
	visit  int
	batch  bool
	during [][]byte
}

// run inserts elements, of which all that come during the race are new, and returns their
// results.
func (r *elementRace) run(t *testing.T, elements ...[]byte) []Result {
	t.Helper()
	jobs := ranksOf(t, engineDirect, 1)
	sets, err := newElements(jobs, BytesConfig{ElementBytes: len(elements[0]),
		Config: Config{Buckets: 64, variant: by(kernelPortable)}})
	must(t, err)
	r.place.Claim(t)
	visits := 0
	r.place.Intercept(t, func() {
		if visits++; visits != r.visit {
			return
		}
		for _, element := range r.during {
			if result, err := sets[0].FindOrPut(element); result != Inserted || err != nil {
				t.Errorf("an element that comes during the race: %v, %v", result, err)
			}
		}
	})
	results := make([]Result, len(elements))
	if r.batch {
		must(t, sets[0].FindOrPutPacked(flatten(elements), results, nil))
	} else {
		for i, element := range elements {
			results[i], err = sets[0].FindOrPut(element)
			must(t, err)
		}
	}
	if visits < r.visit {
		t.Fatalf("%q was reached %d times", r.place, visits)
	}
	must(t, checkRanks(jobs, checksOf(sets)))
	noSlotIsLost(t, sets)
	return results
}

// stringLosesItsBucket: a string whose bucket an equal one has won gives its slot back.
func stringLosesItsBucket(t *testing.T) {
	mark.Need(t)
	stringComesBack.Claim(t)
	sets, err := newStrings(ranksOf(t, engineDirect, 1), smallStrings(1))
	must(t, err)
	s, element, first := sets[0], []byte("a string"), true
	claimsSingle.Claim(t)
	claimsSingle.Intercept(t, func() {
		if first {
			first = false
			r, err := s.FindOrPut(element)
			must(t, err)
			if r != Inserted {
				t.Errorf("an equal string that comes during the race: %v", r)
			}
		}
	})
	r, err := s.FindOrPut(element)
	if r != Found || err != nil || first {
		t.Errorf("after an equal string has come: %v, %v", r, err)
	}
	must(t, s.Check(t.Context()))
	noGrainIsLost(t, sets)
}

// flatten lays elements one after the other.
func flatten(elements [][]byte) (all []byte) {
	for _, element := range elements {
		all = append(all, element...)
	}
	return all
}
