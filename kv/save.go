package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/rma"
)

// A record of a saved map, little-endian, is
//
//	| bytes of the key (4) | bytes of the value (4) | key | value |
const (
	recordHeadBytes = 8
	// loadCalls is how many records are put by one batch.
	loadCalls = 1 << 12
)

var mapContents = archive.Contents{Kind: "farhash map"}

// Save writes all keys and values to a file, in a form that is loaded with any number of ranks,
// slots and bytes. Versions are not saved. The ranks write it together: path must mean the same
// file on each. It replaces what was there only when it is complete; a symbolic link stays, and
// what it leads to is replaced. Collective; nobody may change the map meanwhile on any rank.
func (m *Map) Save(ctx context.Context, path string) error {
	err := m.endMove(ctx)
	if err = rma.AllSucceeded(ctx, m.job, "kv: saving "+path, err); err != nil {
		return err
	}
	var record []byte
	return archive.SaveTable(ctx, m.job, path, mapContents, func(yield func([]byte, error) bool) {
		for p, err := range m.local(ctx) {
			record = binary.LittleEndian.AppendUint32(record[:0], uint32(len(p.Key)))
			record = binary.LittleEndian.AppendUint32(record, uint32(len(p.Value)))
			if !yield(append(append(record, p.Key...), p.Value...), err) || err != nil {
				return
			}
		}
	})
}

// endMove ends a move of the table that a rank which died has left unfinished.
func (m *Map) endMove(ctx context.Context) error {
	if !m.grows() {
		return nil
	}
	now, err := m.state(ctx)
	if err != nil || !now.moving() {
		return err
	}
	s, err := m.session()
	if err != nil {
		return err
	}
	err = s.finishMove(ctx, m, now)
	m.pool.Give(s, err != nil)
	return err
}

// local iterates over the keys in this rank's slots, and their values, where no table moves and
// nobody changes the map.
func (m *Map) local(ctx context.Context) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		w, err := m.walker()
		if err != nil {
			yield(Pair{}, err)
			return
		}
		defer w.close()
		t := m.latestTable()
		begin := uint64(m.job.Rank()) * t.perRank
		more := true
		_, err = w.slotsIn(ctx, t, begin, begin+t.perRank, func(slot, word uint64) (bool, error) {
			if p, there, err := w.pair(ctx, t, slot, word); there || err != nil {
				more = yield(p, err) && err == nil
			}
			return more, nil
		})
		if err != nil && more {
			yield(Pair{}, err)
		}
	}
}

// Load puts the keys and values that a file holds which Save has written. A key that is there
// gets the value of the file. A truncated, foreign or corrupt file, and one with keys or values
// that are too long for this map, is refused on every rank, and the map is as it was. Where the
// map has too little room the error is a [FullError], and some of the keys are there. Collective;
// nobody may change the map meanwhile on any rank.
func (m *Map) Load(ctx context.Context, path string) error {
	l, err := archive.LoadTable(ctx, m.job, path, mapContents, m.countRecords)
	if err != nil {
		return err
	}
	calls := make([]Call, 0, loadCalls)
	err = l.Each(ctx, 0, func(payload []byte) error { return m.putRecords(calls, payload) })
	err = rma.AllSucceeded(ctx, m.job, "kv: loading "+path, err)
	return errors.Join(err, l.Close())
}

// record is the key and value of the first record of a payload, and what follows it. ok is false if
// there is no whole record.
func record(payload []byte) (key, value, rest []byte, ok bool) {
	if len(payload) < recordHeadBytes {
		return nil, nil, nil, false
	}
	k := uint64(binary.LittleEndian.Uint32(payload))
	v := uint64(binary.LittleEndian.Uint32(payload[4:]))
	if payload = payload[recordHeadBytes:]; k+v > uint64(len(payload)) {
		return nil, nil, nil, false
	}
	return payload[:k:k], payload[k : k+v : k+v], payload[k+v:], true
}

// countRecords counts the records of a block, all of which must fit the map.
func (m *Map) countRecords(payload []byte) (n int, err error) {
	for ; len(payload) > 0; n++ {
		key, value, rest, ok := record(payload)
		if !ok {
			return 0, fmt.Errorf("is corrupt: its bytes end within record %d", n)
		}
		if err := m.cfg.check(&Call{Kind: Put, Key: key, Value: value}); err != nil {
			return 0, fmt.Errorf("cannot be loaded: %w; make MaxKey and MaxValue larger", err)
		}
		payload = rest
	}
	return n, nil
}

// putRecords puts the records of a block. calls is room for them.
func (m *Map) putRecords(calls []Call, payload []byte) error {
	for len(payload) > 0 {
		calls = calls[:0]
		for len(payload) > 0 && len(calls) < loadCalls {
			key, value, rest, _ := record(payload)
			calls = append(calls, Call{Kind: Put, Key: key, Value: value})
			payload = rest
		}
		if err := m.Batch(calls); err != nil {
			return err
		}
	}
	return nil
}
