//go:build clib

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
)

// These tests call the Go of the library in this process, without a library that is installed.

// zero is what a function takes by address, all zeros. Tests cannot name types of C.
func zero[T, R any](func(*T) (R, error)) *T { return new(T) }

// put sets a number of C.
func put[N ~float64](to *N, value float64) { *to = N(value) }

// refuses reports an error that is not what is wanted; "" is none.
func refuses(t *testing.T, what string, err error, want string) {
	t.Helper()
	var argument argumentError
	if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
		!errors.As(err, &argument)) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}

// TestErrorCodes: which code of farhash.h an error has.
func TestErrorCodes(t *testing.T) {
	const other = -1
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), other}, {errNull, -2}, {fmt.Errorf("a: %w", errArgument("b")), -2},
		{set.WordError(1), -2}, {set.StringError(1), -2}, {&kv.CounterError{}, -2},
		{&set.FullError{}, -4}, {&kv.FullError{}, -4}, {syscall.ENOMEM, -5},
		{fmt.Errorf("a: %w", syscall.ENOSPC), -5}, {&fs.PathError{Err: syscall.ENOSPC}, -5},
		{&fs.PathError{Err: syscall.EPERM}, -6}, {fs.ErrNotExist, -6}, {file.ErrNoTable, -7},
		{file.ErrKind, -7}, {&rma.RankError{}, -8}, {&rma.PeerError{}, -8},
		{context.DeadlineExceeded, -9}, {errUnsupported, -10},
	} {
		if code := int(codeOf(c.err, other)); code != c.want {
			t.Errorf("%v: code %d, want %d", c.err, code, c.want)
		}
		if code := int(ended(c.err, other)); code != c.want {
			t.Errorf("%v: a call ends with %d, want %d", c.err, code, c.want)
		}
	}
	if code := ended(nil, other); code != 0 {
		t.Errorf("no error ends with %d", int(code))
	}
	if a, b := yes(true, nil), yes(false, nil); a != 1 || b != 0 {
		t.Errorf("yes is %d, no is %d", int(a), int(b))
	}
	if code := yes(true, errNull); code != -2 {
		t.Errorf("an error is answered by %d", int(code))
	}
	code := ended(nil, other)
	func() {
		defer guard(&code)
		panic("x")
	}()
	if code != -12 {
		t.Errorf("a panic has the code %d", int(code))
	}
}

// TestRegistry: each value has a number of its own, which is used again once it is dropped.
func TestRegistry(t *testing.T) {
	var r registry[int]
	values := make([]int, 100)
	numbers := map[int]bool{}
	var there []func() bool // by value
	for i := range values {
		n := r.add(&values[i])
		numbers[int(n)] = true
		there = append(there, func() bool { return r.at(n) == &values[i] })
	}
	for i := range values { // once the list has grown
		if !there[i]() {
			t.Errorf("the number of value %d has another value", i)
		}
	}
	if len(numbers) != len(values) {
		t.Errorf("%d numbers of %d values", len(numbers), len(values))
	}
	n := r.add(&values[0])
	if r.drop(n); r.at(n) != nil {
		t.Error("a value is there after it was dropped")
	}
	if again := r.add(&values[1]); again != n {
		t.Errorf("number %d, and %d is free", int(again), int(n))
	}
}

// shutting is a table that counts how often it is closed.
type shutting struct {
	times int
	err   error
}

func (s *shutting) shut() error { s.times++; return s.err }

// TestRoster: a job closes the tables that are still open, once, and tells all errors.
func TestRoster(t *testing.T) {
	var r roster
	first, second := errors.New("first"), errors.New("second")
	a, b, gone := &shutting{err: first}, &shutting{err: second}, &shutting{}
	for _, s := range []*shutting{a, b, gone} {
		r.enter(s)
	}
	r.remove(gone)
	err := r.shutAll()
	if !errors.Is(err, first) || !errors.Is(err, second) || r.shutAll() != nil {
		t.Errorf("error %v", err)
	}
	if a.times != 1 || b.times != 1 || gone.times != 0 {
		t.Errorf("closed %d, %d and %d times", a.times, b.times, gone.times)
	}
}

// TestEnd: of two that close a job, one does, and the other waits for it.
func TestEnd(t *testing.T) {
	leaving, left, ended := make(chan bool), false, make(chan bool)
	j, err := newJob(alone{}, func() error {
		close(leaving)
		time.Sleep(20 * time.Millisecond) // in which one that did not wait would end
		left = true
		return errBegin
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-leaving
		if err := j.end(); err != nil || !left {
			t.Errorf("the second: error %v, and the first has ended: %v", err, left)
		}
		close(ended)
	}()
	if err := j.end(); !errors.Is(err, errBegin) {
		t.Errorf("the first: error %v", err)
	}
	<-ended
}

// errBegin is why begins cannot make a table, and begun is how often it was tried.
var (
	errBegin = errors.New("it cannot begin")
	begun    int
)

func fails[H any](H) error    { begun++; return errBegin }
func succeeds[H any](H) error { begun++; return nil }

// TestOpenRefuses: arguments that make no sense are known before a table begins, and a table that
// cannot be made leaves no handle and no number. One that is made is closed with its job.
func TestOpenRefuses(t *testing.T) {
	var r registry[shutting]
	j, wrong, made := newAlone(), errors.New("wrong"), &shutting{}
	out, err := hold(&r, 1, made)
	if err != nil {
		t.Fatal(err)
	}
	before, free := out, len(r.free)
	if err := open(j, "x", wrong, &out, &r, 1, made, fails); !errors.Is(err, wrong) || begun != 0 {
		t.Errorf("wrong arguments: %v, begun %d times", err, begun)
	}
	err = open(j, "x", nil, nil, &r, 1, made, succeeds)
	if !errors.Is(err, errNull) || begun != 0 {
		t.Errorf("no place for the handle: %v, begun %d times", err, begun)
	}
	if err := open(j, "x", nil, &out, &r, 1, made, fails); !errors.Is(err, errBegin) || begun != 1 {
		t.Errorf("a table that cannot be made: %v, begun %d times", err, begun)
	}
	if out != before || len(r.free) != free {
		t.Errorf("a handle is left; %d numbers are free, want %d", len(r.free), free)
	}
	if err := open(j, "x", nil, &out, &r, 1, made, succeeds); err != nil || out == before {
		t.Errorf("error %v", err)
	}
	if err := j.shutAll(); err != nil || made.times != 1 {
		t.Errorf("closed %d times with its job, %v", made.times, err)
	}
}

// TestReadConfigs: configurations of C that make no sense are refused, with the names that they
// have there.
func TestReadConfigs(t *testing.T) {
	const reserved, depth, access = "a reserved field of farhash_", "depth is 65537", "access is 3"
	o := zero(readOptions)
	for seconds, want := range map[float64]string{0: "", 1e9: "", -1: "timeout_seconds is -1",
		1e10: "timeout_seconds is 1e+10", math.NaN(): "timeout_seconds is NaN"} {
		put(&o.timeout_seconds, seconds)
		got, err := readOptions(o)
		refuses(t, "options", err, want)
		if err == nil && got.timeout != time.Duration(seconds*1e9) {
			t.Errorf("%v s are %v", seconds, got.timeout)
		}
	}
	o.timeout_seconds, o.one_sided = 0, 1
	if got, err := readOptions(o); err != nil || !got.hidden || got.passive ||
		len(got.list()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	o.reserved[len(o.reserved)-1] = 1
	_, err := readOptions(o)
	refuses(t, "options", err, reserved+"options")

	s := zero(readSetConfig)
	s.depth = 65537
	_, err = readSetConfig(s)
	refuses(t, "set", err, depth)
	s.depth, s.access = 65536, 3
	_, err = readSetConfig(s)
	refuses(t, "set", err, access)
	s.access, s.reserved[0] = 2, 1
	_, err = readSetConfig(s)
	refuses(t, "set", err, reserved+"set_config")
	s.reserved[0], s.buckets, s.max_bytes = 0, 7, 9
	if got, err := readSetConfig(s); err != nil || got.Buckets != 7 || got.MaxBytes != 9 ||
		got.Depth != 65536 || got.Access != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = readSetConfig(nil)
	refuses(t, "no set", err, "is NULL")

	e := zero(readBytesConfig)
	e.element_bytes = set.MaxElementBytes + 1
	_, err = readBytesConfig(e)
	refuses(t, "bytes", err, "element_bytes is ")
	e.element_bytes, e.set.depth = 8, 65537
	_, err = readBytesConfig(e)
	refuses(t, "bytes", err, depth)
	e.set.depth, e.reserved[0] = 0, 1
	_, err = readBytesConfig(e)
	refuses(t, "bytes", err, reserved+"bytes_config")
}

// TestReadTables: the same of caches, maps and indexes.
func TestReadTables(t *testing.T) {
	c := zero(readCacheConfig)
	c.key_size = cache.MaxPairBytes + 1
	_, err := readCacheConfig(c)
	refuses(t, "cache", err, "key_size is ")
	c.key_size, c.value_size = 8, cache.MaxPairBytes+1
	_, err = readCacheConfig(c)
	refuses(t, "cache", err, "value_size ")
	c.value_size, c.access = 16, 3
	_, err = readCacheConfig(c)
	refuses(t, "cache", err, "access is 3")
	c.access = 0
	put(&c.ttl_seconds, math.NaN())
	_, err = readCacheConfig(c)
	refuses(t, "cache", err, "ttl_seconds is no number")
	for seconds, want := range map[float64]time.Duration{0: 0, 1.5: 1500 * time.Millisecond,
		1e-10: 1, -1: cache.Forever, 1e300: cache.Forever} {
		put(&c.ttl_seconds, seconds)
		if got, err := readCacheConfig(c); err != nil || got.TTL != want || got.KeySize != 8 ||
			got.ValueSize != 16 {
			t.Errorf("%v s: %+v, %v", seconds, got, err)
		}
	}
	c.reserved[0] = 1
	_, err = readCacheConfig(c)
	refuses(t, "cache", err, "a reserved field of farhash_cache_config")

	m := zero(readMapConfig)
	m.copies, m.max_key, m.depth = 2, 5, 65537
	_, err = readMapConfig(m)
	refuses(t, "map", err, "depth is 65537")
	m.depth = 0
	if got, err := readMapConfig(m); err != nil || !got.Copies || got.MaxKey != 5 {
		t.Errorf("%+v, %v", got, err)
	}

	x := zero(readIndexConfig)
	for load, want := range map[float64]string{0: "", index.MaxLoad: "", -.1: "load is -0.1",
		1.5: "load is 1.5", math.NaN(): "load is NaN"} {
		put(&x.load, load)
		_, err = readIndexConfig(x)
		refuses(t, "index", err, want)
	}
	put(&x.load, .5)
	x.max_copies = math.MaxInt32 + 1
	_, err = readIndexConfig(x)
	refuses(t, "index", err, "max_copies ")
	x.max_copies, x.key_size = 0, index.MaxKeySize+1
	_, err = readIndexConfig(x)
	refuses(t, "index", err, "key_size is ")
	if _, err := readIndexConfig(nil); err != nil {
		t.Error(err) // an index that is loaded needs none
	}
}

// same compares a configuration that was read with the one that is wanted, field by field.
func same[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v, want\n%+v; %v", got, want, err)
	}
}

// TestEveryField: each field of a configuration of C comes to the one of Go that has its name.
func TestEveryField(t *testing.T) {
	s := zero(readSetConfig)
	s.buckets, s.chunk, s.chunks, s.depth, s.access, s.max_bytes = 1, 2, 3, 4, 1, 6
	words := set.Config{Buckets: 1, Chunk: 2, Chunks: 3, Depth: 4, Access: rma.OneSided,
		MaxBytes: 6}
	gotSet, err := readSetConfig(s)
	same(t, gotSet, err, words)

	e := zero(readBytesConfig)
	e.set, e.element_bytes, e.capacity = *s, 7, 8
	gotBytes, err := readBytesConfig(e)
	same(t, gotBytes, err, set.BytesConfig{Config: words, ElementBytes: 7, Capacity: 8})

	c := zero(readCacheConfig)
	c.key_size, c.value_size, c.buckets, c.mode, c.retries = 1, 2, 3, 2, -4
	c.group_buckets, c.choices, c.depth, c.access = 5, 6, 7, 2
	put(&c.ttl_seconds, 8)
	gotCache, err := readCacheConfig(c)
	same(t, gotCache, err, cache.Config{KeySize: 1, ValueSize: 2, Buckets: 3, Mode: cache.Coarse,
		Retries: -4, GroupBuckets: 5, Choices: 6, Depth: 7, Access: rma.Shipped,
		TTL: 8 * time.Second})

	m := zero(readMapConfig)
	m.slots, m.bytes, m.max_key, m.max_value, m.copies, m.chunk = 1, 2, 3, 4, 5, 6
	m.depth, m.access, m.max_bytes = 7, 1, 9
	gotMap, err := readMapConfig(m)
	same(t, gotMap, err, kv.Config{Slots: 1, Bytes: 2, MaxKey: 3, MaxValue: 4, Copies: true,
		Chunk: 6, Depth: 7, Access: rma.OneSided, MaxBytes: 9})
	m.copies, m.access, m.reserved[3] = 0, 2, 1
	_, err = readMapConfig(m)
	refuses(t, "map", err, "a reserved field of farhash_map_config")
	m.reserved[3] = 0
	if got, err := readMapConfig(m); err != nil || got.Copies || got.Access != rma.Shipped {
		t.Errorf("%+v, %v", got, err)
	}

	x := zero(readIndexConfig)
	x.key_size, x.value_size, x.max_memory_bytes, x.max_copies, x.variable = 4, 2, 3, 5, 6
	x.depth, x.access = 7, 1
	put(&x.load, .5)
	gotIndex, err := readIndexConfig(x)
	same(t, gotIndex, err, index.Config{KeySize: 4, ValueSize: 2, MaxMemoryBytes: 3, MaxCopies: 5,
		Variable: true, Load: .5, Access: rma.OneSided})
	x.depth = 65537
	_, err = readIndexConfig(x)
	refuses(t, "index", err, "depth is 65537")
	x.depth, x.reserved[1] = 0, 1
	_, err = readIndexConfig(x)
	refuses(t, "index", err, "a reserved field of farhash_index_config")
}

// filled is what a function writes to a struct of C.
func filled[S, T any](write func(S, *T), from S) *T {
	to := new(T)
	write(from, to)
	return to
}

// TestEveryCount: each counter of Go is written to the counter of C with the same name.
func TestEveryCount(t *testing.T) {
	s := filled(writeSetStats, set.Stats{Inserted: 1, Found: 2, NotFound: 3, Full: 4, LostSwaps: 5,
		ExtraChunks: 6, LongestProbe: 7})
	if got := fmt.Sprint(s.inserted, s.found, s.not_found, s.full, s.lost_swaps, s.extra_chunks,
		s.longest_probe); got != "1 2 3 4 5 6 7" {
		t.Errorf("set: %s", got)
	}
	c := filled(writeCacheStats, cache.Counts{Hits: 1, Misses: 2, Inserted: 3, Updated: 4,
		Evicted: 5, Deletes: 6, Deleted: 7, Mismatches: 8, Retries: 9, Invalid: 10, LockWaits: 11,
		LocksBroken: 12, Occupied: 13})
	if got := fmt.Sprint(c.hits, c.misses, c.inserted, c.updated, c.evicted, c.deletes, c.deleted,
		c.mismatches, c.retries, c.invalid, c.lock_waits, c.locks_broken,
		c.occupied); got != "1 2 3 4 5 6 7 8 9 10 11 12 13" {
		t.Errorf("cache: %s", got)
	}
}

// assign sets a whole number of C.
func assign[N ~int32 | ~uint32 | ~uint64](to *N, value int) { *to = N(value) }

// TestMapCalls: calls of maps that make no sense are refused, and others are those of Go.
func TestMapCalls(t *testing.T) {
	d := &dictionary{maxKey: 4, maxValue: 8}
	key, value := []byte("key"), []byte("12345678")
	right := zero(d.ask)
	right.key, right.key_size = unsafe.Pointer(&key[0]), 3
	right.value, right.value_size, right.room = unsafe.Pointer(&value[0]), 8, 8
	const get, insert, remove, add = 0, 1, 2, 5
	for kind := get; kind <= add; kind++ {
		c := *right
		assign(&c.kind, kind)
		call, err := d.ask(&c)
		if refuses(t, fmt.Sprint("kind ", kind), err, ""); int(call.Kind) != kind ||
			string(call.Key) != "key" || kind == insert && string(call.Value) != "12345678" ||
			kind == add && call.Delta != 0x3837363534333231 {
			t.Errorf("kind %d: %+v", kind, call)
		}
		c.key_size = 5
		_, err = d.ask(&c)
		refuses(t, "a long key", err, "key_size is 5; this map takes 1 to 4")
		c.key_size = 0
		_, err = d.ask(&c)
		refuses(t, "no key", err, "key_size is 0; this map takes 1 to 4")
		c.key_size, c.key = 3, nil
		_, err = d.ask(&c)
		refuses(t, "no key", err, "is NULL")
		c.key, c.value = right.key, nil
		_, err = d.ask(&c)
		refuses(t, "no value", err, map[bool]string{false: "is NULL"}[kind == remove])
	}
	for _, kind := range []int{get - 1, add + 1} {
		c := *right
		assign(&c.kind, kind)
		_, err := d.ask(&c)
		refuses(t, fmt.Sprint("kind ", kind), err, "kind is ")
	}
	c := *right
	assign(&c.kind, insert)
	c.value_size = 9
	_, err := d.ask(&c)
	refuses(t, "a long value", err, "value_size is 9; this map takes 0 to 8")
	assign(&c.kind, add)
	d.maxValue = 7
	_, err = d.ask(&c)
	refuses(t, "a counter", err, "a counter has 8 bytes")
}

// TestElementsOfC: an element has bytes and a length that it may have in its set.
func TestElementsOfC(t *testing.T) {
	text := []byte("text")
	for _, c := range []struct {
		bytes int // of the elements of the set
		data  unsafe.Pointer
		size  int
		want  string
	}{
		{0, unsafe.Pointer(&text[0]), 4, ""}, {0, nil, 0, ""}, {0, nil, 1, "is NULL"},
		{0, unsafe.Pointer(&text[0]), 65537, "an element has 0 to 65536 bytes"},
		{4, unsafe.Pointer(&text[0]), 4, ""}, {4, nil, 4, "is NULL"}, {4, nil, 0, "have 4 bytes"},
		{4, unsafe.Pointer(&text[0]), 3, "size is 3"}, {4, unsafe.Pointer(&text[0]), 5, "give 4"},
	} {
		got, err := sized((&byteSet{bytes: c.bytes}).element, c.data, c.size)
		refuses(t, fmt.Sprint(c.size, " bytes of ", c.bytes), err, c.want)
		if err == nil && string(got) != string(text[:c.size]) {
			t.Errorf("%q", got)
		}
	}
	got, err := sized((&byteSet{bytes: 2}).packed, unsafe.Pointer(&text[0]), 2)
	if err != nil || string(got) != "text" {
		t.Errorf("packed: %q, %v", got, err)
	}
	_, err = sized((&byteSet{}).packed, unsafe.Pointer(&text[0]), 2)
	refuses(t, "packed elements of any length", err, "or make the set with element_bytes")
}

// sized calls a function that takes a size of C.
func sized[N ~uint64 | ~uint32, R any](f func(unsafe.Pointer, N) (R, error), data unsafe.Pointer,
	size int) (R, error) {
	return f(data, N(size))
}

// TestResultsOfC: results of a batch become the codes of C, however many there are.
func TestResultsOfC(t *testing.T) {
	for n := range 40 {
		results := make([]set.Result, n)
		for i := range results {
			results[i] = set.Result(i%4) + set.NotFound
		}
		want := make([]int8, n)
		for i, r := range results {
			want[i] = int8(r) - 1
		}
		if code := endedBatch(results, nil); code != 0 {
			t.Errorf("code %d", int(code))
		}
		for i, r := range results {
			if int8(r) != want[i] {
				t.Fatalf("result %d of %d is %d, want %d", i, n, int8(r), want[i])
			}
		}
	}
	if answers[set.NotFound] != 0 || answers[set.Found] != 1 || answers[set.Full] != -4 {
		t.Errorf("%v", answers)
	}
}

// TestOpenOptions: what is asked of a table by name.
func TestOpenOptions(t *testing.T) {
	o := zero(readOpenOptions)
	for i, set := range []func(){func() {}, func() { o.mode = 0o600 }, func() { o.any_owner = 1 },
		func() { o.existing = 1 }} {
		set()
		if list, err := readOpenOptions(o); err != nil || len(list) != 1+i {
			t.Errorf("%d options, want %d, %v", len(list), 1+i, err)
		}
	}
	o.reserved[0] = 1
	_, err := readOpenOptions(o)
	refuses(t, "options", err, "a reserved field of farhash_open_options")
}

// TestMessages: messages name fields as C does, and what the program has given stays.
func TestMessages(t *testing.T) {
	for name, want := range map[string]string{"MaxMemoryBytes": "max_memory_bytes", "Load": "load",
		"x": "x"} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
	if got := inC("Load, /Load and KeySize", "/Load", "KeySize"); got !=
		"load, /Load and KeySize" {
		t.Errorf("%q", got)
	}
	if errs := errReserved("x"); codeOf(errs, 0) != -2 {
		t.Error(errs)
	}
}
