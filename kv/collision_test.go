package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// fingerprintCollisions puts so many keys that searches meet others with the same fingerprint, and
// gets them.
func fingerprintCollisions() error {
	cfg := Config{Slots: 1 << 12, Bytes: 1 << 18, MaxKey: 8, MaxValue: 8}
	return withMap(engines[1], 1, cfg, func(m *Map) error {
		calls := make([]Call, 3600)
		for i := range calls {
			key := binary.LittleEndian.AppendUint64(nil, uint64(i))
			calls[i] = Call{Kind: Put, Key: key, Value: key}
		}
		if err := m.Batch(calls); err != nil {
			return err
		}
		for i := range calls {
			calls[i].Kind, calls[i].Value = Get, nil
		}
		if err := m.Batch(calls); err != nil {
			return err
		}
		for _, c := range calls {
			if !c.Done || !bytes.Equal(c.Value, c.Key) {
				return fmt.Errorf("key %x has value %x", c.Key, c.Value)
			}
		}
		return nil
	})
}
