package check_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/farhash/farhash/statespace/check"
	"github.com/farhash/farhash/statespace/explore"
)

// mail is a state of no fixed size: messages on their way, in order, and what has arrived.
type mail struct {
	waiting []uint64
	arrived uint32
}

func (m *mail) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, m.arrived)
	for _, message := range m.waiting {
		b = binary.LittleEndian.AppendUint64(b, message)
	}
	return b, nil
}

func (m *mail) UnmarshalBinary(b []byte) error {
	m.arrived = binary.LittleEndian.Uint32(b)
	for b = b[4:]; len(b) >= 8; b = b[8:] {
		m.waiting = append(m.waiting, binary.LittleEndian.Uint64(b))
	}
	return nil
}

// post sends n messages, each once, in any order, and has them arrive in any order: 3^n states.
func post(n, maxBytes int) check.Model[mail] {
	return check.Model[mail]{Name: "post", Init: []mail{{}}, MaxBytes: maxBytes, Deadlocks: true,
		Next: func(s mail, emit func(string, mail)) {
			for i := range n {
				message := uint64(i+1) * 0x9E3779B97F4A7C15
				at, waits := slices.BinarySearch(s.waiting, message)
				switch {
				case waits:
					emit("arrive", mail{slices.Delete(slices.Clone(s.waiting), at, at+1),
						s.arrived | 1<<i})
				case s.arrived>>i&1 == 0:
					emit("send", mail{slices.Insert(slices.Clone(s.waiting), at, message),
						s.arrived})
				}
			}
		}}
}

// A state takes memory for the bytes that it has, however many it may have.
func TestBinaryMemory(t *testing.T) {
	bytes := func(maxBytes int) uint64 {
		r, err := runOn(1, post(9, maxBytes), check.Options{})
		if err != nil || r.States != 19683 || !r.Complete {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Bytes
	}
	if few, many := bytes(76), bytes(4000); many > few+few/4 {
		t.Errorf("%d bytes of memory where 76 of a state are allowed, %d where 4000 are", few, many)
	}
}

// States of up to 92 bytes are searched, where up to so many are allowed.
func BenchmarkBinaryStates(b *testing.B) {
	for _, maxBytes := range []int{92, 500, 4000} {
		for _, e := range []explore.Encoding{explore.EncodingAuto, explore.EncodingElement} {
			b.Run(fmt.Sprintf("%d/%s", maxBytes, e), func(b *testing.B) {
				states, bytes := 0., 0.
				for b.Loop() {
					r, err := runOn(1, post(11, maxBytes), check.Options{Encoding: e})
					if err != nil || r.States != 177147 || !r.Complete {
						b.Fatalf("%+v, %v", r, err)
					}
					states, bytes = float64(r.States), r.StateBytes()
				}
				b.ReportMetric(bytes, "B/state")
				b.ReportMetric(states*float64(b.N)/b.Elapsed().Seconds(), "states/s")
			})
		}
	}
}
