package shared

import (
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/farhash/farhash/kv"
)

const (
	maxRecordBytes = 4096 // of addresses, for a record with all that a store adds
	minStoreBytes  = 64 << 20
)

// store is an open store. One thread uses it.
type store interface {
	// Calls makes calls, Gets and Puts: together, or one after the other. The values of Gets have
	// room, and may be changed if they fail.
	Calls(calls []kv.Call, together bool) error
	// Close leaves the store as it is.
	Close() error
}

// named is a map that is opened by name.
type named struct{ *kv.Map }

func openMap(path string) (store, error) {
	m, err := kv.Open(path, kv.Config{})
	return named{m}, err
}

func (m named) Calls(calls []kv.Call, together bool) (err error) {
	if together {
		return m.Batch(calls)
	}
	for i := range calls {
		c := &calls[i]
		if c.Kind == kv.Get {
			c.Value, c.Version, c.Done, err = m.Get(c.Key, c.Value)
		} else {
			c.Version, err = m.Put(c.Key, c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pipeline is a connection to a server.
type pipeline struct {
	batcher
}

type batcher interface {
	Batch(calls []kv.Call) error
	Close() error
}

func (p pipeline) Calls(calls []kv.Call, together bool) error {
	if together {
		return p.Batch(calls)
	}
	for i := range calls {
		if err := p.Batch(calls[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// bolt is a database of bbolt. It is not synced, and its free pages are not written.
type bolt struct{ *bbolt.DB }

var table = []byte("table")

func openBolt(path string) (store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("bbolt: %w", err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(table)
		return err
	})
	return bolt{db}, err
}

func (b bolt) Calls(calls []kv.Call, together bool) error {
	if together {
		return b.transact(calls)
	}
	for i := range calls {
		if err := b.transact(calls[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// transact makes calls in one transaction, which writes if one of the calls does.
func (b bolt) transact(calls []kv.Call) error {
	begin := b.View
	for i := range calls {
		if calls[i].Kind == kv.Put {
			begin = b.Update
		}
	}
	return begin(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(table)
		for i := range calls {
			c := &calls[i]
			if c.Kind == kv.Put {
				if err := bucket.Put(c.Key, c.Value); err != nil {
					return err
				}
				continue
			}
			value := bucket.Get(c.Key)
			c.Value, c.Done = append(c.Value, value...), value != nil
		}
		return nil
	})
}
