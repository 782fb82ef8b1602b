package lp

import (
	"encoding/binary"
	"unsafe"

	"github.com/cockroachdb/swiss"
)

// peer looks up the keys of a sample in a map one at a time, and returns the sum of what was found.
type peer func(s *mapSample) (sum uint64)

// newPeer makes a map of all records, with room for them from the start.
func newPeer(impl mapImpl, shape mapShape, records uint64) peer {
	cfg := shape.config()
	room, value := make([]byte, cfg.KeySize), make([]byte, cfg.ValueSize)
	each := func(put func(key []byte)) {
		for i := range records {
			put(shape.fill(i, room, value))
		}
	}
	switch shape {
	case structs:
		key := func(b []byte) [16]byte { return [16]byte(b) }
		if impl == goMap {
			m := make(map[[16]byte][100]byte, records)
			each(func(b []byte) { m[key(b)] = [100]byte(value) })
			return func(s *mapSample) uint64 { return goStructs(m, as[[16]byte](s.joined)) }
		}
		m := swiss.New[[16]byte, [100]byte](int(records))
		each(func(b []byte) { m.Put(key(b), [100]byte(value)) })
		return func(s *mapSample) uint64 { return swissStructs(m, as[[16]byte](s.joined)) }
	case texts:
		get := newWordsPeer(impl, records, each, func(b []byte) string { return string(b) }, value)
		return func(s *mapSample) uint64 { return get(s.strings) }
	}
	get := newWordsPeer(impl, records, each, binary.LittleEndian.Uint64, value)
	return func(s *mapSample) uint64 { return get(as[uint64](s.joined)) }
}

// as is keys of one size as numbers or arrays.
func as[K any](joined []byte) []K {
	return unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(joined))),
		len(joined)/int(unsafe.Sizeof(*new(K))))
}

// newWordsPeer makes a map whose values are words.
func newWordsPeer[K comparable](impl mapImpl, records uint64, each func(put func(key []byte)),
	key func([]byte) K, value []byte) func(keys []K) uint64 {
	if impl == goMap {
		m := make(map[K]uint64, records)
		each(func(b []byte) { m[key(b)] = binary.LittleEndian.Uint64(value) })
		return func(keys []K) (sum uint64) {
			for _, k := range keys {
				sum += 2 * m[k] // both ends of a value of 8 bytes
			}
			return sum
		}
	}
	m := swiss.New[K, uint64](int(records))
	each(func(b []byte) { m.Put(key(b), binary.LittleEndian.Uint64(value)) })
	return func(keys []K) (sum uint64) {
		for _, k := range keys {
			v, _ := m.Get(k)
			sum += 2 * v
		}
		return sum
	}
}

func goStructs(m map[[16]byte][100]byte, keys [][16]byte) (sum uint64) {
	for _, k := range keys {
		v := m[k]
		sum += ends(v[:])
	}
	return sum
}

func swissStructs(m *swiss.Map[[16]byte, [100]byte], keys [][16]byte) (sum uint64) {
	for _, k := range keys {
		v, _ := m.Get(k)
		sum += ends(v[:])
	}
	return sum
}
