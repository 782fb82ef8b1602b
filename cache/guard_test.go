package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/guard"
)

// What the assembly does is compared with loops in Go, stage by stage, in memory that ends where
// the last key, bucket, value and answer do.

// TestKernelTakes: takeFlights finds every key that is anywhere in its group before an empty
// bucket, and nothing else, for groups, keys and values of all lengths.
func TestKernelTakes(t *testing.T) {
	if !hasKernel {
		t.Skip("there is no assembly in this build")
	}
	hits := 0
	for keyWords := 1; keyWords <= 9; keyWords++ {
		for valueWords := 1; valueWords <= 17; valueWords++ {
			for _, buckets := range []int{1, 2, 5} {
				for _, ttl := range []time.Duration{0, Forever} {
					name := fmt.Sprintf("%d,%d,%d,%d", keyWords, valueWords, buckets, ttl)
					t.Run(name, func(t *testing.T) {
						hits += newTaken(t, keyWords, valueWords, buckets, ttl).compare(t)
					})
				}
			}
		}
	}
	if hits < 1000 {
		t.Errorf("only %d keys were found", hits)
	}
}

// taken is a group of buckets, and pairs that are looked up there. Two keys differ in one word or
// in two.
type taken struct {
	*Cache
	rng    *rand.Rand
	group  []uint64
	keys   [][]uint64
	values [][]uint64
	hashes []uint64
}

// takenNow is the time.
const takenNow = 2

func newTaken(t *testing.T, keyWords, valueWords, buckets int, ttl time.Duration) *taken {
	d := &taken{Cache: new(Cache), rng: rand.New(rand.NewPCG(uint64(keyWords), uint64(valueWords)))}
	d.shape(Config{KeySize: 8 * keyWords, ValueSize: 8 * valueWords,
		Buckets: uint64(buckets), GroupBuckets: buckets, TTL: ttl}, 1)
	d.group = guard.Slice[uint64](t, buckets*d.bucketWords)
	d.bases = []*uint64{&d.group[0]}
	for i := range keyWords + 1 {
		key, value := make([]uint64, keyWords), make([]uint64, valueWords)
		if i < keyWords {
			key[i] = d.rng.Uint64()
		}
		for j := range value {
			value[j] = d.rng.Uint64()
		}
		d.keys, d.values = append(d.keys, key), append(d.values, value)
		d.hashes = append(d.hashes, hashKey(key))
	}
	if valueWords < 8 { // the checksum would say that the bucket is empty
		d.hashes[0] = pi2 - sum(0, d.values[0])
	}
	return d
}

// compare returns how many keys were found.
func (d *taken) compare(t *testing.T) (hits int) {
	for range 60 {
		d.fill()
		n := 1 + d.rng.IntN(stageBlock)
		p := pipeline{c: d.Cache, now: takenNow}
		p.describe()
		keys := guard.Slice[uint64](t, n*d.keyWords)
		values, found := guard.Slice[uint64](t, n*d.valueWords), guard.Slice[bool](t, n)
		flights := make([]flight, n)
		wantValues, want := make([][]uint64, n), make([]bool, n)
		for i := range flights {
			f, number := &flights[i], d.rng.IntN(len(d.keys))
			f.hash, f.group = d.hashes[number], &d.group[0]
			f.bucket = &d.group[d.rng.IntN(d.cfg.GroupBuckets)*d.bucketWords]
			copy(keys[i*d.keyWords:], d.keys[number])
			wantValues[i] = make([]uint64, d.valueWords)
			want[i] = d.find(*f, d.keys[number], wantValues[i])
		}
		p.work.keys, p.work.n, p.work.flights = &keys[0], uint64(n), &flights[0]
		p.work.values, p.work.found = &values[0], &found[0]
		takeFlights(&p.work)
		if !slices.Equal(found, want) {
			t.Fatalf("the loops find %v, the assembly %v", want, found)
		}
		before := hits
		for i, value := range wantValues {
			if got := values[i*d.valueWords:][:d.valueWords]; want[i] {
				if hits++; !slices.Equal(got, value) {
					t.Fatalf("the loops read %x, the assembly %x", value, got)
				}
			}
		}
		if p.work.hits != uint64(hits-before) {
			t.Fatalf("%d keys are counted, not %d", p.work.hits, hits-before)
		}
	}
	return hits
}

// fill fills the group at random: a bucket in eight is empty, another one invalid, another one
// torn, and another one has another expiry than its checksum. Where pairs expire half of them have.
func (d *taken) fill() {
	for b := range slices.Chunk(d.group, d.bucketWords) {
		number := d.rng.IntN(len(d.keys))
		s := search{c: d.Cache, key: d.keys[number], value: d.values[number]}
		if d.cfg.TTL != 0 {
			s.expiry = d.rng.Uint64N(2 * takenNow)
		}
		s.seal = sealOf(d.hashes[number], s.expiry, s.value)
		s.store(b)
		switch d.rng.IntN(8) {
		case 0:
			b[0] = empty
		case 1:
			b[0] = invalid
		case 2:
			d.valueIn(b)[d.rng.IntN(d.valueWords)]++
		case 3:
			b[1] += uint64(d.keyAt - 1)
		}
	}
}

// find is takeFlights for one flight.
func (d *taken) find(f flight, key, value []uint64) bool {
	at := int(uintptr(unsafe.Pointer(f.bucket))-uintptr(unsafe.Pointer(f.group))) / 8
	for range d.cfg.GroupBuckets {
		b := d.group[at : at+d.bucketWords]
		switch {
		case b[0] == empty:
			return false
		case b[0] != invalid && slices.Equal(d.keyIn(b), key):
			expiry := d.expiryIn(b)
			return !expired(expiry, takenNow) && d.readValue(b, b[0], f.hash, expiry, value)
		}
		at = (at + d.bucketWords) % len(d.group)
	}
	return false
}

// TestKernelStages: hashFlights and advanceFlights leave the flights that the loops leave, of
// gets and of puts, where the first candidate has the key and where it has not.
func TestKernelStages(t *testing.T) {
	if !hasKernel {
		t.Skip("there is no assembly in this build")
	}
	for _, mode := range modes {
		for words := 1; words <= 17; words++ {
			cfg := Config{KeySize: 8 * words, ValueSize: 8, Buckets: 64, Mode: mode,
				TTL: time.Duration(words % 2), clock: stopped()}
			must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
				c.moveTo(guard.Copy(t, c.batches.Segments.Of(0)))
				keys := guard.Slice[uint64](t, stageBlock*words)
				for i := range keys {
					keys[i] = uint64(i) * 0x9E3779B97F4A7C15
				}
				half := stageBlock / 2
				err := c.PutBatch(core.BytesOf(keys[:half*words]), make([]byte, 8*half),
					make([]Result, half))
				for n := 1; n <= stageBlock; n++ {
					for _, k := range []kind{kindGet, kindPut} {
						b := batch{keys: keys[(stageBlock-n)*words:], results: make([]Result, n)}
						compareStages(t, c, b, k)
					}
				}
				return err
			}))
		}
	}
}

// moveTo gives a cache of one rank other memory, which has what its own has.
func (c *Cache) moveTo(segment []uint64) {
	c.batches.Segments.Words[0], c.bases[0] = segment, &segment[c.lockWords]
}

// compareStages compares the flights of the assembly with what a loop makes of the keys.
func compareStages(t *testing.T, c *Cache, b batch, k kind) {
	t.Helper()
	var want [stageRing][stageBlock]flight
	for i := range b.results {
		key := b.keys[i*c.keyWords:][:c.keyWords]
		hash := hashKey(key)
		group, first := c.group(hash, 0)
		bucket := c.bucketAt(c.rankOf(hash), group, first)
		if k == kindGet && bucket[c.keyAt] != key[0] {
			bucket = c.bucketAt(c.rankOf(hash), group, (first+1)%c.cfg.GroupBuckets)
		}
		want[0][i] = flight{hash, &bucket[0], &c.bucketAt(c.rankOf(hash), group, 0)[0]}
	}
	p := pipeline{c: c, batch: b, kind: k}
	p.describe()
	p.hash(0)
	p.advance(0)
	if p.ring != want {
		t.Errorf("%d keys of %d words, %v, kind %d: the loop leaves %+v, the assembly %+v",
			len(b.results), c.keyWords, c.cfg.Mode, k, want[0], p.ring[0])
	}
}

// bucketAt is a bucket in directly addressable memory.
func (c *Cache) bucketAt(rank int, group uint64, i int) []uint64 {
	return c.batches.Segments.Of(rank)[c.bucketOffset(group, i):][:c.bucketWords:c.bucketWords]
}

// TestBatchesStayInside: batches of all lengths, over memory and with keys, values and answers
// that end where memory ends, give what single calls give.
func TestBatchesStayInside(t *testing.T) {
	const pairs = 2*stageBlock + 3
	for _, mode := range modes {
		for _, words := range [][2]int{{1, 1}, {2, 3}, {5, 9}, {9, 2}} {
			keySize, valueSize := 8*words[0], 8*words[1]
			cfg := Config{KeySize: keySize, ValueSize: valueSize, Buckets: 256, Mode: mode,
				TTL: time.Duration(words[0] % 2), clock: stopped()}
			must(t, withCache(engines[0], 1, cfg, func(c *Cache) error {
				c.moveTo(guard.Copy(t, c.batches.Segments.Of(0)))
				keys := guard.Slice[byte](t, pairs*keySize)
				values := guard.Slice[byte](t, pairs*valueSize)
				read := guard.Slice[byte](t, pairs*valueSize)
				for i := range pairs {
					copy(keys[i*keySize:], spread(uint64(i+1), keySize))
					copy(values[i*valueSize:], spread(uint64(i+7), valueSize))
				}
				for n := 1; n <= pairs; n++ {
					from := pairs - n
					keys, values, read := keys[from*keySize:], values[from*valueSize:],
						read[from*valueSize:]
					results, found := guard.Slice[Result](t, n), guard.Slice[bool](t, n)
					clear(read)
					must(t, c.PutBatch(keys, values, results), c.GetBatch(keys, read, found))
					want := slices.Repeat([]Result{Updated}, n)
					if want[0] = Inserted; !slices.Equal(results, want) {
						return fmt.Errorf("%d puts: %v", n, results)
					}
					if slices.Contains(found, false) || !bytes.Equal(read, values) {
						return fmt.Errorf("%d gets: %v, %x, not %x", n, found, read, values)
					}
				}
				return c.checkPart(t.Context(), 0)
			}))
		}
	}
}
