package sim

import (
	"fmt"
	"strings"
)

// The papers do not give the time of a processor for one operation. These are
// assumptions, of the order that verbs take on a server.
const (
	assumedPostNs   = 30
	assumedSubmitNs = 60
	assumedPollNs   = 2
	assumedTakeNs   = 20

	// Ranks of one host over shared memory: 60 ns for a get, measured between two
	// processes; a core copies some 10 bytes a nanosecond.
	hostLatencyNs  = 30
	hostBytesPerNs = 10
)

// card is a cost with the assumptions filled in. A blocking get of nothing, from its
// posting until its result is taken, takes getNs.
func card(getNs, bytesPerNs, messagesPerSecond float64) Cost {
	const processorNs = assumedPostNs + assumedSubmitNs + assumedTakeNs
	return Cost{LatencyNs: (getNs - processorNs) / 2, BytesPerNs: bytesPerNs,
		MessagesPerSecond: messagesPerSecond, HeaderBytes: 30,
		HostLatencyNs: hostLatencyNs, HostBytesPerNs: hostBytesPerNs,
		PostNs: assumedPostNs, SubmitNs: assumedSubmitNs, PollNs: assumedPollNs,
		TakeNs: assumedTakeNs}
}

// DAS5 is the cluster of OP 4: FDR InfiniBand of 48 Gb/s, driven by Berkeley UPC.
//
// 2.7 us a get follows from OP Table 1: with one process on each of 32 and 48 machines
// a find-or-put of the mixed workload takes 3.8 and 4.1 us, and waits for one get and
// in half of all cases for a compare-and-swap. 12.5 million messages a second follow
// from there as well: with 16 processes a machine all of 2, 32 and 48 machines stay at
// 6.0 to 6.4 million requests a second for each machine (two gets and half a
// compare-and-swap for each operation on remote buckets), and a machine answers as many
// as it sends.
func DAS5() Cost { return card(2700, 6, 12.5e6) }

// EDR is the cluster of LP 5.1: ConnectX-5 EDR InfiniBand. c = 1290 ns for a read of
// nothing, alpha = 0.08 ns for a byte (12.5 bytes/ns), rho0 = 87.17 million reads a
// second; a header of h = 30 bytes (LP 3.1).
func EDR() Cost { return card(1290, 12.5, 87.17e6) }

// ndr is the network of MD 5.1: ConnectX-7 NDR InfiniBand of 400 Gb/s. The paper gives
// no latency and no rate of messages: 1.2 us a get and 200 million messages a second are
// assumptions. What the paper measures there, some 40 us for a read by one of 128
// processes of a node, is the time of its MPI library, which is not in this preset.
func ndr() Cost { return card(1200, 50, 200e6) }

// roce is the network of NE 1: Ethernet of 40 Gb/s with RoCE. 10 us a round trip
// follow from NE 4: 9.9 of them, at load 0.75, take about 100 us. 10 million messages a
// second are an assumption.
func roce() Cost { return card(10_000, 5, 10e6) }

// tcp is TCP between hosts without help of a card: 8 us a get, and 190 thousand
// gets a second, as UCX reaches over TCP on a small machine; 10 Gb/s are an assumption.
func tcp() Cost { return card(8000, 1.25, 190e3) }

var presets = []struct {
	name string
	cost func() Cost
}{{"das5", DAS5}, {"edr", EDR}, {"ndr", ndr}, {"roce", roce}, {"tcp", tcp}}

// Presets lists the names that [Preset] knows.
func Presets() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

// Preset returns a cost by its name.
func Preset(name string) (Cost, error) {
	for _, p := range presets {
		if p.name == name {
			return p.cost(), nil
		}
	}
	return Cost{}, fmt.Errorf("sim: there is no network %q; there are %s", name,
		strings.Join(Presets(), ", "))
}
