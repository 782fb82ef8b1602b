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
const recordHeadBytes = 8

var mapContents = archive.Contents{Kind: "farhash map"}

// Save writes all keys and values to a file, in a form that is loaded with any number of ranks,
// slots and bytes. Versions are not saved. The ranks write it together: path must mean the same
// file on each. It replaces what was there only when it is complete; a symbolic link stays, and
// what it leads to is replaced. Collective; nobody may change the map at the same time on any rank.
// Of a map opened by name one process saves what [Map.All] has, while others change it.
func (m *Map) Save(ctx context.Context, path string) error {
	var record []byte
	return archive.SaveTable(ctx, m.job, path, mapContents, func(yield func([]byte, error) bool) {
		for p, err := range m.own(ctx) {
			record = binary.LittleEndian.AppendUint32(record[:0], uint32(len(p.Key)))
			record = binary.LittleEndian.AppendUint32(record, uint32(len(p.Value)))
			if !yield(append(append(record, p.Key...), p.Value...), err) || err != nil {
				return
			}
		}
	})
}

// own iterates over what this rank saves; of a map that processes share, all, while they change it.
func (m *Map) own(ctx context.Context) iter.Seq2[Pair, error] {
	if m.shared != nil {
		return m.All(ctx)
	}
	return m.Local(ctx)
}

// Load puts the keys and values that a file holds which Save has written. A key that is there
// gets the value of the file. A truncated, foreign or corrupt file, and one with keys or values
// that are too long for this map, is refused on every rank, and the map is as it was. Where the
// map has too little room the error is a [FullError], and some of the keys are there. Collective;
// nobody may change the map at the same time on any rank.
func (m *Map) Load(ctx context.Context, path string) error {
	count := func(_ uint32, payload []byte) (int, error) {
		puts, err := m.records(payload)
		return len(puts), err
	}
	l, _, err := archive.LoadTable(ctx, m.job, path, mapContents, count)
	if err != nil {
		return err
	}
	err = l.Each(ctx, 0, func(payload []byte) error {
		puts, err := m.records(payload)
		if err != nil {
			return err
		}
		return m.Batch(puts)
	})
	err = rma.AllSucceeded(ctx, m.job, "kv: loading "+path, err)
	return errors.Join(err, l.Close())
}

// records are the puts of the records of a block, all of which must fit the map.
func (m *Map) records(payload []byte) (puts []Call, err error) {
	for len(payload) >= recordHeadBytes {
		k := uint64(binary.LittleEndian.Uint32(payload))
		v := uint64(binary.LittleEndian.Uint32(payload[4:]))
		if k+v > uint64(len(payload)-recordHeadBytes) {
			break
		}
		payload = payload[recordHeadBytes:]
		put := Call{Kind: Put, Key: payload[:k:k], Value: payload[k : k+v : k+v]}
		if err := m.cfg.check(&put); err != nil {
			return nil, fmt.Errorf("cannot be loaded: %w; make MaxKey and MaxValue larger", err)
		}
		puts, payload = append(puts, put), payload[k+v:]
	}
	if len(payload) > 0 {
		return nil, fmt.Errorf("is corrupt: its bytes end within record %d", len(puts))
	}
	return puts, nil
}
