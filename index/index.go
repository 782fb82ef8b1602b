package index

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// Index is a table of records over the memory of all ranks that is only read. It is safe
// for concurrent use; Close is not to run beside other calls.
type Index struct {
	*Reader // with Lookups{}
	job     rma.Job
	t       *table

	notMapped error // why Open has built it
}

// Info says what a table is like. All but Records of this rank and PeakBytes is the same
// on every rank.
type Info struct {
	Records      uint64  // of all ranks
	LocalRecords uint64  // in the memory of this rank
	Load         float64 // records per home
	Storage      Storage // Inline or Heap
	SlotBytes    int
	Slots        uint64 // of each rank
	Homes        uint64 // of each rank: slots where a key may have its home
	OffsetBytes  int    // of an offset into the heap
	SegmentBytes uint64 // of each rank: slots, heap and borders
	Unique       bool   // it is known that no key has two records
	PeakBytes    uint64 // that building took on this rank
	Mapped       bool   // by Open: the table lies in a file, and ranks are its segments
}

// Info says what the table is like.
func (x *Index) Info() Info {
	t := x.t
	return Info{Records: t.records, LocalRecords: t.mine,
		Load:    float64(t.records) / (float64(t.homes) * float64(t.ranks)),
		Storage: t.cfg.Storage, SlotBytes: t.slotBytes, Slots: uint64(t.slots), Homes: t.homes,
		OffsetBytes: t.cfg.OffsetBytes, SegmentBytes: uint64(t.segment) * 8,
		Unique: t.unique, PeakBytes: t.peakBytes, Mapped: t.image != nil}
}

// Config is the configuration in force, with what was left to the index filled in.
func (x *Index) Config() Config { return x.t.cfg }

// Len is the number of records of all ranks.
func (x *Index) Len(context.Context) (uint64, error) { return x.t.records, x.open() }

// Close gives this rank's memory back. The other ranks keep theirs.
func (x *Index) Close() error { return errors.Join(x.Reader.Close(), x.t.close()) }
