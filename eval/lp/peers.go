package lp

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/swiss"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
)

// Peers are maps of one process, which all ranks read. Their keys and values are words, so they
// are measured where an index has keys and values of 8 bytes.
const (
	goMap    impl = "go-map"
	swissMap impl = "swiss" // github.com/cockroachdb/swiss
)

const peerBytes = 8 // of a key, and of a value

func (i impl) peer() bool { return i == goMap || i == swissMap }

// peerLookups looks keys up one at a time, and returns how many were found and the sum of their
// stamps.
type peerLookups func(sample []byte) (found [2]uint64)

// newPeer makes a map of all records, with room for them from the start.
func newPeer(i impl, k *keys) peerLookups {
	var key [peerBytes]byte
	each := func(put func(key, value uint64)) {
		for number := range uint64(k.records) {
			k.fillKey(key[:], number)
			put(binary.LittleEndian.Uint64(key[:]), uint64(k.stamp(number)))
		}
	}
	if i == goMap {
		m := make(map[uint64]uint64, k.records)
		each(func(key, value uint64) { m[key] = value })
		return func(sample []byte) (found [2]uint64) {
			for ; len(sample) > 0; sample = sample[peerBytes:] {
				if v, ok := m[binary.LittleEndian.Uint64(sample)]; ok {
					found[0]++
					found[1] += v
				}
			}
			return found
		}
	}
	m := swiss.New[uint64, uint64](k.records)
	each(m.Put)
	return func(sample []byte) (found [2]uint64) {
		for ; len(sample) > 0; sample = sample[peerBytes:] {
			if v, ok := m.Get(binary.LittleEndian.Uint64(sample)); ok {
				found[0]++
				found[1] += v
			}
		}
		return found
	}
}

// peer measures a peer. Collective.
func (t *throughput) peer(ctx context.Context, job rma.Job, i impl, emit experiment.Emit) error {
	keys := keys{keyBytes: t.keyBytes, valueBytes: t.valueBytes, records: int(t.records)}
	if job.Rank() == 0 {
		runtime.GC()
		t.shared = newPeer(i, &keys)
	}
	if err := job.Barrier(ctx); err != nil { // it orders the write above before the read below
		return err
	}
	lookups := t.shared
	sample, n, stamps := keys.sample(job.Rank(), int(t.lookups))
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	start := time.Now()
	got := lookups(sample)
	elapsed := time.Since(start)
	if want := [2]uint64{n, stamps}; got != want {
		return fmt.Errorf("%s found %d, and should find %d", i, got, want)
	}
	err := t.keep(ctx, job, emit, "LPLookup", int(t.lookups)*job.Size(), elapsed,
		[]record.Key{record.K("impl", string(i)), record.K("load", "-"), record.K("batch", 1),
			record.K("lookups", t.lookups.String())})
	if job.Rank() == 0 {
		t.shared = nil // all have ended: keep gathers their times
	}
	return err
}
