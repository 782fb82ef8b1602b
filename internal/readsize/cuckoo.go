package readsize

// Cuckoo is a table where a key has one of so many places (hash functions), each of so
// many slots. LP has 3 ways, and 4 slots in all but one experiment (LP 5.2).
type Cuckoo struct{ Ways, Slots int }

// Parallel is the cost of a lookup that reads all places at once, whatever the load and
// whether the key is there. The reads leave one after another at the rate of messages,
// and share one latency.
func (k Cuckoo) Parallel(c Config) Cost {
	ways := float64(k.Ways)
	bytes := ways * float64(k.Slots*c.SlotBytes)
	return Cost{Requests: ways, Bytes: bytes,
		Ns: c.LatencyNs + c.ByteNs*bytes + (ways-1)/c.MessagesPerSecond*1e9}
}

// Sequential is the cost of a lookup that reads one place after the other in random order.
// For a key that is there it ends where the key is (LP 2.2), which is as likely in each
// place. That needs keys that stand in the table once; where all matches are wanted of
// keys that stand there more often, as in LP Algorithm 3, present keys cost as absent
// ones do.
func (k Cuckoo) Sequential(c Config, present bool) Cost {
	reads := float64(k.Ways)
	if present {
		reads = (reads + 1) / 2
	}
	return Cost{Requests: reads, Bytes: reads * float64(k.Slots*c.SlotBytes),
		Ns: reads * c.ReadNs(k.Slots)}
}
