package sim

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/farhash/farhash/rma"
)

// Cost is the time that messages, atomics and calls of the engine take. On an idle network a get of
// b bytes from another host is done 2 LatencyNs + b/BytesPerNs after it has left, a put as well,
// and a compare-and-swap after 2 LatencyNs + 24/BytesPerNs + AtomicNs.
//
// A card sends one message after the other and receives one after the other; each
// keeps it busy for the longer of 1/MessagesPerSecond and the time of its bytes,
// header included. All ranks of a host share its card.
type Cost struct {
	LatencyNs         float64 // one way from host to host, for a message without payload
	BytesPerNs        float64 // of a card, in each direction: 12.5 are 100 Gb/s
	MessagesPerSecond float64 // of a card, in each direction; 0 means no limit
	HeaderBytes       int     // of a message, beside its payload
	AtomicNs          float64 // for which an atomic keeps the card of its target busy

	// Between ranks of one host, which need no card.
	HostLatencyNs  float64 // one way
	HostBytesPerNs float64

	// Time of the rank's processor.
	PostNs   float64 // to post an operation
	SubmitNs float64 // of a Submit that starts operations
	PollNs   float64 // a call of Done or Failed; at least 1
	TakeNs   float64 // to take a result, and of the rank's own work with it
}

func (c Cost) check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{{"LatencyNs", c.LatencyNs}, {"MessagesPerSecond", c.MessagesPerSecond},
		{"HeaderBytes", float64(c.HeaderBytes)}, {"AtomicNs", c.AtomicNs},
		{"HostLatencyNs", c.HostLatencyNs}, {"PostNs", c.PostNs}, {"SubmitNs", c.SubmitNs},
		{"PollNs", c.PollNs}, {"TakeNs", c.TakeNs}} {
		if !(v.value >= 0 && v.value <= 1e12) {
			return fmt.Errorf("sim: Cost.%s must be 0 to 1e12, not %v", v.name, v.value)
		}
	}
	if rate := c.MessagesPerSecond; rate > 0 && rate < 1 { // the gap between two must be finite
		return fmt.Errorf("sim: Cost.MessagesPerSecond must be 1 or more, or 0 for no limit, "+
			"not %v", rate)
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"BytesPerNs", c.BytesPerNs}, {"HostBytesPerNs", c.HostBytesPerNs}} {
		if !(v.value >= 1e-6 && v.value <= 1e6) {
			return fmt.Errorf("sim: Cost.%s must be 1e-6 to 1e6, not %v", v.name, v.value)
		}
	}
	return nil
}

// durations are a Cost in the units of the scheduler.
type durations struct {
	latency, hostLatency     instant
	bytePs, hostBytePs       float64
	gap                      instant // between messages of a card
	header                   int
	atomic                   instant
	post, submit, poll, take instant
	meeting                  instant
}

// fromNs is a duration in the units of the scheduler.
func fromNs(ns float64) instant { return instant(math.Round(ns * float64(nanosecond))) }

// durations of a cluster. A collective call takes as many rounds of messages as it takes to
// double from one host to all of them.
func (c Cost) durations(hosts int, incoherent bool) durations {
	f := durations{latency: fromNs(c.LatencyNs), hostLatency: fromNs(c.HostLatencyNs),
		bytePs:     float64(nanosecond) / c.BytesPerNs,
		hostBytePs: float64(nanosecond) / c.HostBytesPerNs,
		header:     c.HeaderBytes, atomic: fromNs(c.AtomicNs),
		post: fromNs(c.PostNs), submit: fromNs(c.SubmitNs),
		poll: max(fromNs(c.PollNs), nanosecond), take: fromNs(c.TakeNs)}
	if c.MessagesPerSecond > 0 {
		f.gap = fromNs(1e9 / c.MessagesPerSecond)
	}
	if incoherent {
		f.atomic = max(f.atomic, incoherentNs*nanosecond)
	}
	f.meeting = 2*f.hostLatency + instant(bits.Len(uint(hosts-1)))*f.latency
	return f
}

// transfer is the time of a payload on the wire.
func (f *durations) transfer(bytes int) instant {
	return instant(math.Round(float64(bytes) * f.bytePs))
}

// transferOnHost is the time of a payload between ranks of one host.
func (f *durations) transferOnHost(bytes int) instant {
	return instant(math.Round(float64(bytes) * f.hostBytePs))
}

// busy is for how long a message keeps a card from the next one; what is joined to another message
// costs no more than its bytes.
func (f *durations) busy(payloadBytes int, joined bool) instant {
	if joined {
		return f.transfer(payloadBytes)
	}
	return max(f.gap, f.transfer(payloadBytes+f.header))
}

// gets is what gets cost a rank whose card so many ranks share, all of them at work: a line of 64
// bytes, and each byte of 4 KiB beyond it. Of gets in flight 64 are posted, and then waited for.
func (c Cost) gets(sharers int) rma.GetCosts {
	const line, long, depth = 64, 4096, 64
	ownNs := c.PostNs + max(c.PollNs, 1) + c.TakeNs
	each := func(bytes float64) float64 {
		wireNs := (bytes + float64(c.HeaderBytes)) / c.BytesPerNs
		if c.MessagesPerSecond > 0 {
			wireNs = max(wireNs, 1e9/c.MessagesPerSecond)
		}
		return max(ownNs+2*c.LatencyNs/depth, float64(sharers)*wireNs)
	}
	return rma.GetCosts{Ns: ownNs + c.SubmitNs + 2*c.LatencyNs + line/c.BytesPerNs,
		ByteNs: 1 / c.BytesPerNs,
		EachNs: each(line), EachByteNs: (each(long) - each(line)) / (long - line)}
}
