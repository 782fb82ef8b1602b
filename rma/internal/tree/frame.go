package tree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

var errMalformed = errors.New("a malformed frame")

// run is consecutive ranks that gave the same in a gathering.
type run struct {
	first, count int
	payload      []byte
}

// joinRuns sorts runs and makes one of neighbours that gave the same.
func joinRuns(runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	joined := runs[:0]
	for _, r := range runs {
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			if last.first+last.count == r.first && bytes.Equal(last.payload, r.payload) {
				last.count += r.count
				continue
			}
		}
		joined = append(joined, r)
	}
	return joined
}

// encodeRuns packs the number of a gathering, and what ranks gave.
func encodeRuns(number uint64, runs []run) []byte {
	b := binary.LittleEndian.AppendUint64(nil, number)
	for _, r := range runs {
		b = appendNumbers(b, uint32(r.first), uint32(r.count), uint32(len(r.payload)))
		b = append(b, r.payload...)
	}
	return b
}

// decodeRuns is the inverse, for ranks of a span.
func decodeRuns(b []byte, of span) (number uint64, runs []run, err error) {
	if len(b) < 8 {
		return 0, nil, errMalformed
	}
	number, b = binary.LittleEndian.Uint64(b), b[8:]
	for at := of.first; len(b) > 0; {
		n, rest, err := takeNumbers(b, 3)
		if err != nil || uint64(n[0]) < uint64(at) || n[1] == 0 ||
			uint64(n[0])+uint64(n[1]) > uint64(of.end) || uint64(n[2]) > uint64(len(rest)) {
			return 0, nil, errMalformed
		}
		runs = append(runs, run{int(n[0]), int(n[1]), rest[:n[2]:n[2]]})
		at, b = int(n[0])+int(n[1]), rest[n[2]:]
	}
	return number, runs, nil
}

// spread is what each rank of a job gave.
func spread(runs []run, size int) [][]byte {
	all := make([][]byte, size)
	for _, r := range runs {
		for rank := r.first; rank < r.first+r.count; rank++ {
			all[rank] = r.payload
		}
	}
	return all
}

// state is what the frame F says of a rank.
type state struct {
	rank int
	peer
}

const stateBytes = 17

// silentBit is in the byte of a state where the rank was silent.
const silentBit = 0x80

func encodeStates(states []state) []byte {
	var b []byte
	for _, s := range states {
		code := byte(s.state)
		if s.silent {
			code |= silentBit
		}
		b = append(appendNumbers(b, uint32(s.rank), s.missed), code)
		b = binary.LittleEndian.AppendUint64(b, s.given)
	}
	return b
}

func decodeStates(b []byte, size int) ([]state, error) {
	if len(b)%stateBytes != 0 {
		return nil, errMalformed
	}
	var states []state
	for ; len(b) > 0; b = b[stateBytes:] {
		n, rest, _ := takeNumbers(b, 2)
		s, silent := State(rest[0]&^silentBit), rest[0]&silentBit != 0
		if uint64(n[0]) >= uint64(size) || uint64(n[1]) > uint64(size) ||
			s != Left && s != Died {
			return nil, errMalformed
		}
		states = append(states, state{int(n[0]),
			peer{state: s, silent: silent,
				given: binary.LittleEndian.Uint64(rest[1:]), missed: n[1]}})
	}
	return states, nil
}

func appendNumbers(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// takeNumbers takes count numbers off the front.
func takeNumbers(b []byte, count int) (numbers []uint32, rest []byte, err error) {
	if len(b) < 4*count {
		return nil, nil, errMalformed
	}
	for range count {
		numbers = append(numbers, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	return numbers, b, nil
}
