package set

import (
	"fmt"
	"strings"
	"testing"
)

// A bucket that is neither empty, closed nor occupied is damaged. A search that comes to it ends:
// it does not try to claim the bucket for ever.
func TestDamagedBucketEnds(t *testing.T) {
	job := ranksOf(t, engineDirect, 1)
	for _, k := range kernels() {
		sets, err := newSets(job, Config{Buckets: 64, variant: by(k)})
		must(t, err)
		for i := range sets[0].oldest.Load().flat {
			sets[0].oldest.Load().flat[i] = 0x1000
		}
		words := []uint64{1, 2, 3}
		for _, s := range []*Set{sets[0], {anySet{throughQueues(sets[0].space)}}} {
			for _, word := range words {
				if r, err := s.FindOrPut(word); err == nil && r != Full {
					t.Errorf("%s: FindOrPut answers %v", k, r)
				}
				if found, _ := s.Contains(word); found {
					t.Errorf("%s: Contains finds %d", k, word)
				}
			}
			results := make([]Result, len(words))
			if err := s.FindOrPutBatch(words, results); err == nil {
				t.Errorf("%s: FindOrPutBatch answers %v", k, results)
			}
			_ = s.ContainsBatch(words, results)
		}
	}
}

// A bucket that refers to a slot that does not exist is an error of a search that comes to it. No
// search reads what is there.
func TestDanglingReference(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		job := ranksOf(t, engineDirect, ranks)
		for _, k := range kernels() {
			for _, width := range []int{1, 2, shortWords + 1} {
				cfg := Config{Buckets: 64 * uint64(ranks), variant: by(k)}
				sets, err := newElements(job, BytesConfig{Config: cfg, ElementBytes: width * 8})
				must(t, err)
				e := sets[0]
				element := []byte(strings.Repeat("element ", width))
				for name, ref := range map[string]uint64{"the last": refMask,
					"the next": uint64(e.arenas.slots << e.arenas.rankBits)} {
					e.fillWith(element, ref)
					says := fmt.Sprintf("refers to slot %#x, which does not exist", ref)
					for how, s := range map[string]*Bytes{"directly": e,
						"through queues": {anySet: anySet{throughQueues(e.space)}}} {
						_, one := s.FindOrPut(element)
						batch := s.FindOrPutPacked(element, make([]Result, 1), nil)
						for _, err := range []error{one, batch, s.Check(t.Context())} {
							if err == nil || !strings.Contains(err.Error(), says) {
								t.Errorf("%d ranks, %s, %d words, %s slot, %s: %v, not %q", ranks,
									k, width, name, how, err, says)
							}
						}
					}
				}
			}
		}
	}
}

// fillWith has all buckets of rank 0 refer to a slot, with the fingerprint of an element.
func (e *Bytes) fillWith(element []byte, ref uint64) {
	t := e.oldest.Load()
	bucket := fingerprintKey(hashElement(e.aligned(element))) | ref
	for rank := range t.job.Size() {
		words := t.window.Words(rank)
		for i := range words {
			words[i] = bucket
		}
	}
}

// A reference into the arena that the set has not given is an error, not what happens to be there.
func TestNoStringAtReference(t *testing.T) {
	sets, err := newStrings(ranksOf(t, engineDirect, 1),
		BytesConfig{Config: Config{Buckets: 64}})
	must(t, err)
	s := sets[0]
	var refs [2]Ref
	long := []byte(strings.Repeat("\x20\x00\x00\x00\x00\x00\x00\x00", 40))
	must(t, s.FindOrPutRefs([][]byte{long, []byte("short")}, make([]Result, 2), refs[:]))
	for ref := range Ref(1 << 10) {
		got, err := s.Append(nil, ref)
		if given := ref == refs[0] || ref == refs[1]; (err == nil) != given {
			t.Errorf("at %#x, of %#x that were given, is %q, %v", ref, refs, got, err)
		}
	}
}

// Who walks over a damaged bucket gets an error.
func TestAllOverDamagedBucket(t *testing.T) {
	for _, damaged := range []uint64{0x1000, closed} {
		sets, err := newSets(ranksOf(t, engineDirect, 1), Config{Buckets: 64})
		must(t, err)
		_, err = sets[0].FindOrPut(7)
		must(t, err)
		flat := sets[0].oldest.Load().flat
		for i := range flat {
			if flat[i] == 0 {
				flat[i] = damaged
				break
			}
		}
		failed := false
		for word, err := range sets[0].All(t.Context()) {
			if failed = failed || err != nil; err == nil && word != 7 {
				t.Errorf("All has %#x, which nobody inserted", word)
			}
		}
		if err := sets[0].Check(t.Context()); !failed || err == nil {
			t.Errorf("%#x: All has an error: %v; Check: %v", damaged, failed, err)
		}
	}
}
