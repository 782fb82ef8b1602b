package readsize

import (
	"fmt"
	"math"
)

// Machine is what the cost of a read depends on (LP 3.1, 3.2, 3.5).
type Machine struct {
	LatencyNs          float64 // c: a read of no bytes
	ByteNs             float64 // alpha: each byte of a read
	LinkBytesPerSecond float64 // l: what the link carries
	MessagesPerSecond  float64 // rho0: most reads of no bytes
	HeaderBytes        float64 // h: a message without payload
}

// EDR is the machine of LP 5.1: InfiniBand EDR, 100 Gb/s.
func EDR() Machine {
	return Machine{LatencyNs: 1290, ByteNs: 0.08, LinkBytesPerSecond: 12.5e9,
		MessagesPerSecond: 87.17e6, HeaderBytes: 30}
}

// The figures of a machine are between these, or 0. Beyond them results are not finite.
const (
	minFigure = 1e-6
	maxFigure = 1e15
)

// Check says what is wrong with a machine, nil if nothing is.
func (m Machine) Check() error {
	for _, p := range []struct {
		what  string
		value float64
		zero  bool
	}{
		{"latency in ns", m.LatencyNs, true}, {"ns of a byte", m.ByteNs, true},
		{"bandwidth in bytes per second", m.LinkBytesPerSecond, false},
		{"rate of messages per second", m.MessagesPerSecond, false},
		{"header in bytes", m.HeaderBytes, false},
	} {
		if !(p.value >= minFigure && p.value <= maxFigure) && !(p.value == 0 && p.zero) {
			return fmt.Errorf("readsize: the %s must be %g to %g, not %v", p.what, minFigure,
				maxFigure, p.value)
		}
	}
	if m.LatencyNs+m.ByteNs == 0 {
		return fmt.Errorf("readsize: a machine whose reads cost nothing prefers no read size; " +
			"give it a latency")
	}
	return nil
}

// Config is a table on a machine: what all sizes depend on beside the load.
type Config struct {
	Machine
	SlotBytes int // w, at least 1
	// MaxSlots is the most slots of one read under any policy, say what a buffer has
	// room for; 0: no limit.
	MaxSlots int
}

// maxSlotBytes keeps products of sizes from overflowing.
const maxSlotBytes = 1 << 30

// Check says what is wrong with a configuration, nil if nothing is.
func (c Config) Check() error {
	switch {
	case c.SlotBytes < 1 || c.SlotBytes > maxSlotBytes:
		return fmt.Errorf("readsize: a slot has 1 to %d bytes, not %d", maxSlotBytes, c.SlotBytes)
	case c.MaxSlots < 0:
		return fmt.Errorf("readsize: the most slots of a read must be positive, or 0 for no "+
			"limit, not %d", c.MaxSlots)
	}
	return c.Machine.Check()
}

// ReadNs is T(R), the cost of one read of so many slots (LP 3.2, Eq. 3).
func (c Config) ReadNs(slots int) float64 {
	return c.LatencyNs + c.slotNs()*float64(slots)
}

// slotNs is what a slot adds to the cost of a read.
func (c Config) slotNs() float64 { return c.ByteNs * float64(c.SlotBytes) }

// cap is the most slots that reads may have without saturating the link (LP 3.1, Eq. 2),
// at least 1. The paper rounds to the nearest, which its read sizes show: 23 of 22.7.
// The rate of messages is for messages with one slot, as in the paper.
func (c Config) cap() int {
	w := float64(c.SlotBytes)
	rate := c.MessagesPerSecond * c.HeaderBytes / (c.HeaderBytes + w)
	slots := math.Round(c.LinkBytesPerSecond / (w * rate))
	return int(min(max(slots, 1), math.MaxInt32))
}

// limit is the most slots of one read: what is given, unless MaxSlots is less.
func (c Config) limit(most int) int {
	if c.MaxSlots > 0 {
		return min(most, c.MaxSlots)
	}
	return most
}

// Cost is what a lookup is expected to take.
type Cost struct {
	Requests float64 `json:"requests"` // reads posted
	Bytes    float64 `json:"bytes"`    // of payload
	Ns       float64 `json:"ns"`       // by the cost model of LP 3.2
}

// Cost is what a lookup by this law takes whose reads have these sizes in slots, the last
// of which is repeated. It is NaN if there is no size or one is below 1.
func (c Config) Cost(l *Law, sizes ...int) Cost {
	requests, slots := l.Reads(sizes...)
	bytes := slots * float64(c.SlotBytes)
	return Cost{Requests: requests, Bytes: bytes, Ns: requests*c.LatencyNs + bytes*c.ByteNs}
}
