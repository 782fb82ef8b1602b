package set

import (
	"context"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// anyLength, as the bytes of an element, is for a set of elements of any length; 0 is for words.
const anyLength = -1

// subject is one rank's view of a Set or Elements that holds elements called 0 to
// 255.
type subject interface {
	// findOrPut returns the references of the elements too where it can.
	findOrPut(ids []int, single bool) ([]Result, []Ref, error)
	contains(ids []int, single bool) ([]Result, error)
	local() ([]int, error)
	size() (uint64, float64, error)
	collect(keep func(id int) bool) error
	save(path string) error
	load(path string) error
	check(ctx context.Context) error
	stats() Stats
	close() error

	table() *table
	hash(id int) uint64
	id(bucket uint64) (int, error)
}

// subjectsOf makes the set of a stream on all ranks.
func subjectsOf(jobs []rma.Job, s shape) ([]subject, error) {
	subjects := make([]subject, len(jobs))
	if s.bytes == 0 {
		sets, err := newSets(jobs, s.cfg)
		for i := range sets {
			subjects[i] = wordSubject{sets[i]}
		}
		return subjects, err
	}
	if s.bytes == anyLength {
		sets, err := newStrings(jobs, stringsConfig(s.cfg, s.ranks))
		for i := range sets {
			subjects[i] = stringSubject{sets[i]}
		}
		return subjects, err
	}
	cfg := BytesConfig{Config: s.cfg, ElementBytes: s.bytes, Capacity: 256}
	sets, err := newElements(jobs, cfg)
	for i := range sets {
		subjects[i] = elementSubject{sets[i], s.skewed}
	}
	return subjects, err
}

type wordSubject struct{ s *Set }

// wordOf gives the words 0 and MaxWord, small ones and large ones.
func wordOf(id int) uint64 {
	switch {
	case id == 255:
		return MaxWord
	case id < 128:
		return uint64(id)
	}
	return uint64(id) << 55
}

func idOf(word uint64) (int, error) {
	for id := range 256 {
		if wordOf(id) == word {
			return id, nil
		}
	}
	return none, fmt.Errorf("%#x was never inserted", word)
}

func (w wordSubject) findOrPut(ids []int, single bool) ([]Result, []Ref, error) {
	results := make([]Result, len(ids))
	if single {
		r, err := w.s.FindOrPut(wordOf(ids[0]))
		results[0] = r
		return results, nil, err
	}
	return results, nil, w.s.FindOrPutBatch(wordsOf(ids), results)
}

func (w wordSubject) contains(ids []int, single bool) ([]Result, error) {
	results := make([]Result, len(ids))
	if single {
		there, err := w.s.Contains(wordOf(ids[0]))
		results[0] = resultOf(there, err)
		return results, err
	}
	return results, w.s.ContainsBatch(wordsOf(ids), results)
}

func wordsOf(ids []int) []uint64 {
	words := make([]uint64, len(ids))
	for i, id := range ids {
		words[i] = wordOf(id)
	}
	return words
}

func (w wordSubject) local() ([]int, error) {
	return idsIn(w.s.Local(context.Background()), idOf)
}

func (w wordSubject) size() (uint64, float64, error) { return sizeOf(w.s) }

func (w wordSubject) collect(keep func(id int) bool) error {
	return w.s.Collect(context.Background(), func(word uint64) bool {
		id, err := idOf(word)
		return err != nil || keep(id)
	})
}

func (w wordSubject) save(path string) error { return w.s.Save(context.Background(), path) }
func (w wordSubject) load(path string) error { return w.s.Load(context.Background(), path) }

func (w wordSubject) check(ctx context.Context) error { return w.s.Check(ctx) }
func (w wordSubject) stats() Stats                    { return w.s.Stats() }
func (w wordSubject) close() error                    { return w.s.Close() }
func (w wordSubject) table() *table                   { return w.s.oldest.Load() }
func (w wordSubject) hash(id int) uint64              { return hashWord(wordOf(id)) }
func (w wordSubject) id(bucket uint64) (int, error)   { return idOf(bucket &^ occupied) }

type elementSubject struct {
	e      *Bytes
	skewed bool
}

// bytesFor writes the elements one after the other. They differ from each other
// in one byte, the first or the last.
func (s elementSubject) bytesFor(ids []int) []byte {
	size := s.e.oldest.Load().size
	buf := make([]byte, len(ids)*size+8)
	if s.skewed {
		buf = buf[3:]
	}
	buf = buf[:len(ids)*size]
	for i, id := range ids {
		if element := buf[i*size : (i+1)*size]; id < 128 {
			element[0] = byte(id)
		} else {
			element[size-1] = byte(id)
		}
	}
	return buf
}

func (s elementSubject) idOf(element []byte) (int, error) {
	last := len(element) - 1
	for i, b := range element {
		if b != 0 && i != 0 && i != last {
			return none, fmt.Errorf("% x was never inserted", element)
		}
	}
	return max(int(element[0]), int(element[last])), nil
}

func (s elementSubject) findOrPut(ids []int, single bool) ([]Result, []Ref, error) {
	results := make([]Result, len(ids))
	if single {
		r, err := s.e.FindOrPut(s.bytesFor(ids))
		results[0] = r
		return results, nil, err
	}
	refs := make([]Ref, len(ids))
	err := s.e.FindOrPutPacked(s.bytesFor(ids), results, refs)
	dst := make([]byte, s.e.oldest.Load().size)
	for i, id := range ids {
		if results[i] == Full {
			continue
		}
		var failed error
		if dst, failed = s.e.Append(dst[:0], refs[i]); failed != nil {
			return nil, nil, failed
		}
		if string(dst) != string(s.bytesFor(ids[i:i+1])) {
			return nil, nil, fmt.Errorf("the reference of element %d is that of % x", id, dst)
		}
	}
	return results, refs, err
}

func (s elementSubject) contains(ids []int, single bool) ([]Result, error) {
	results := make([]Result, len(ids))
	if single {
		there, err := s.e.Contains(s.bytesFor(ids))
		results[0] = resultOf(there, err)
		return results, err
	}
	return results, s.e.ContainsPacked(s.bytesFor(ids), results)
}

func (s elementSubject) local() ([]int, error) {
	return idsIn(s.e.Local(context.Background()), s.idOf)
}

func (s elementSubject) size() (uint64, float64, error) { return sizeOf(s.e) }

func (s elementSubject) collect(keep func(id int) bool) error {
	return s.e.Collect(context.Background(), func(element []byte) bool {
		id, err := s.idOf(element)
		return err != nil || keep(id)
	})
}

func (s elementSubject) save(path string) error { return s.e.Save(context.Background(), path) }
func (s elementSubject) load(path string) error { return s.e.Load(context.Background(), path) }

func (s elementSubject) check(ctx context.Context) error { return s.e.Check(ctx) }
func (s elementSubject) stats() Stats                    { return s.e.Stats() }
func (s elementSubject) close() error                    { return s.e.Close() }
func (s elementSubject) table() *table                   { return s.e.oldest.Load() }

func (s elementSubject) hash(id int) uint64 {
	return hashElement(s.e.aligned(s.bytesFor([]int{id})))
}

func (s elementSubject) id(bucket uint64) (int, error) {
	words, err := s.e.oldest.Load().elementOf(bucket)
	if err != nil {
		return none, err
	}
	return s.idOf(core.BytesOf(words)[:s.e.oldest.Load().size])
}

type stringSubject struct{ s *Bytes }

// stringsConfig has room for all strings, and for the longest one in all operations in flight. It
// has larger tables only if cfg has.
func stringsConfig(cfg Config, ranks int) BytesConfig {
	c := BytesConfig{Config: cfg,
		Capacity: (1<<20 + defaultDepth*MaxStringBytes) / meanStringBytes}
	least, line := c, uint64(lineBuckets*ranks)
	least.Buckets = (cfg.Buckets + line - 1) / line * line
	c.MaxBytes += least.Bytes()
	return c
}

// allStrings are what the stream calls 0 to 255: some differ in length alone, some in one byte;
// some fill a piece or two, and some have a word more.
var allStrings = func() (all [256][]byte) {
	const piece = 8 * (pieceWords - 1)
	long := []int{piece - 1, piece, piece + 1, piece + 8, piece + 9, 2*piece + 8, 2*piece + 9,
		1 << 14, MaxStringBytes - 1, MaxStringBytes}
	for id := range all {
		switch {
		case id < 40:
			all[id] = make([]byte, id)
			continue
		case id < 40+2*len(long):
			all[id] = make([]byte, long[(id-40)/2])
		default:
			all[id] = make([]byte, 1+id%24)
		}
		at := 0
		if id%2 == 1 {
			at = len(all[id]) - 1
		}
		all[id][at] = byte(id)
	}
	return all
}()

var stringIDs = func() map[string]int {
	ids := map[string]int{}
	for id, s := range allStrings {
		ids[string(s)] = id
	}
	return ids
}()

func stringsOf(ids []int) [][]byte {
	elements := make([][]byte, len(ids))
	for i, id := range ids {
		elements[i] = allStrings[id]
	}
	return elements
}

func stringID(element []byte) (int, error) {
	if id, known := stringIDs[string(element)]; known {
		return id, nil
	}
	return none, fmt.Errorf("%d bytes % .40x were never inserted", len(element), element)
}

func (s stringSubject) findOrPut(ids []int, single bool) ([]Result, []Ref, error) {
	results := make([]Result, len(ids))
	if single {
		r, err := s.s.FindOrPut(allStrings[ids[0]])
		results[0] = r
		return results, nil, err
	}
	return results, nil, s.s.FindOrPutBatch(stringsOf(ids), results)
}

func (s stringSubject) contains(ids []int, single bool) ([]Result, error) {
	results := make([]Result, len(ids))
	if single {
		there, err := s.s.Contains(allStrings[ids[0]])
		results[0] = resultOf(there, err)
		return results, err
	}
	return results, s.s.ContainsBatch(stringsOf(ids), results)
}

func (s stringSubject) local() ([]int, error) {
	return idsIn(s.s.Local(context.Background()), stringID)
}

func (s stringSubject) size() (uint64, float64, error) { return sizeOf(s.s) }

func (s stringSubject) collect(keep func(id int) bool) error {
	return s.s.Collect(context.Background(), func(element []byte) bool {
		id, err := stringID(element)
		return err != nil || keep(id)
	})
}

func (s stringSubject) save(path string) error { return s.s.Save(context.Background(), path) }
func (s stringSubject) load(path string) error { return s.s.Load(context.Background(), path) }

func (s stringSubject) check(ctx context.Context) error { return s.s.Check(ctx) }
func (s stringSubject) stats() Stats                    { return s.s.Stats() }
func (s stringSubject) close() error                    { return s.s.Close() }
func (s stringSubject) table() *table                   { return s.s.oldest.Load() }

func (s stringSubject) hash(id int) uint64 {
	return hashHead(appendString(nil, allStrings[id])[0])
}

func (s stringSubject) id(bucket uint64) (int, error) {
	words, err := s.s.elementOf(bucket)
	if err != nil {
		return none, err
	}
	return stringID(stringBytes(words))
}

// idsIn are what the stream calls the items of a set.
func idsIn[T any](items iter.Seq2[T, error], idOf func(item T) (int, error)) ([]int, error) {
	var ids []int
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		id, err := idOf(item)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// sizeOf is how many items a set has, and the share of its buckets that they take.
func sizeOf(s interface {
	Len(context.Context) (uint64, error)
	Used(context.Context) (float64, error)
}) (uint64, float64, error) {
	n, err := s.Len(context.Background())
	if err != nil {
		return 0, 0, err
	}
	load, err := s.Used(context.Background())
	return n, load, err
}
