package index

import (
	"context"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/rma"
)

const (
	// MinKeySize and MaxKeySize are the bytes that keys of one size may have. With VariableKeys
	// they have up to MaxKeySize, and none at least.
	MinKeySize, MaxKeySize = 4, 4096
	// MaxValueSize is the longest value.
	MaxValueSize = 4096
	// MaxNoteSize is the longest Note, in bytes.
	MaxNoteSize = 65536
	// MaxInlineBytes is the longest record that Auto keeps in the slots: from there on
	// a heap gives more lookups a second (LP 5.7, Fig. 11).
	MaxInlineBytes = 32
	// DefaultLoad is the load of a table whose Config gives none.
	DefaultLoad = 0.8
	// MaxLoad is the highest Load.
	MaxLoad = 0.99
)

// Config shapes an Index. Every rank gives the same. Its tags are the names in a file.
type Config struct {
	// KeySize is the bytes of every key: MinKeySize to MaxKeySize. With VariableKeys it is the
	// bytes of the longest one, 1 to MaxKeySize.
	KeySize int `json:"keyBytes"`
	// VariableKeys lets keys have different sizes. Records are then in a heap, or Hybrid.
	VariableKeys bool `json:"variableKeys,omitempty"`
	// ValueSize is the bytes of every value, 0 to MaxValueSize, or of the longest one where
	// Variable is set.
	ValueSize int `json:"valueBytes"`
	// Variable lets values have different sizes. Records are then in a heap, or Hybrid.
	Variable bool    `json:"variable"`
	Storage  Storage `json:"storage"`
	// InlineBytes is the bytes of key and value that the longest record in a slot of a Hybrid table
	// has, up to 254. 0 leaves it to the build; Index.Config then has what it was.
	InlineBytes int `json:"inlineBytes,omitempty"`
	// Load is how many records the table has for each slot, at most MaxLoad. 0 means
	// DefaultLoad.
	Load float64 `json:"load"`
	// MaxCopies is how many records with the same key there may be; 0: any number.
	MaxCopies int `json:"copiesMax,omitempty"`
	// MaxMemoryBytes is the most bytes that building may take on a rank: PeakBytes says how
	// many it needs. A build that would need more ends with an error. 0: no limit.
	MaxMemoryBytes uint64 `json:"-"`
	// Access says how lookups by Best reach memory that is not addressable: one-sided, or by
	// batches that are shipped to the owners of the keys. It may differ between ranks.
	Access rma.Access `json:"-"`
	// Note is a text of the program, such as what types its records have. Save keeps it in the
	// file; Open and Load give it back, as Config().Note. Load takes another one in its place.
	Note string `json:"note,omitempty"`
}

// Storage says where keys and values are.
type Storage int

const (
	// Auto is Inline for records of fixed size up to MaxInlineBytes, and Heap for others.
	Auto Storage = iota
	// Inline keeps them in the slots.
	Inline
	// Heap keeps them beside the slots, which have a signature of a byte and an offset.
	Heap
	// Hybrid keeps short records in the slots and long ones beside them, where records have
	// different sizes.
	Hybrid
)

// String is the storage's name.
func (s Storage) String() string {
	if s < Auto || s > Hybrid {
		return fmt.Sprintf("Storage(%d)", int(s))
	}
	return [...]string{"auto", "inline", "heap", "hybrid"}[s]
}

// agree makes sure that every rank has the same configuration. Collective.
func (c *Config) agree(ctx context.Context, job rma.Job) error {
	bit := map[bool]uint64{true: 1}
	return rma.Agree(ctx, job, "index", c.complete(),
		rma.Field{Name: "bytes per key", Value: uint64(c.KeySize)},
		rma.Field{Name: "bytes per value", Value: uint64(c.ValueSize)},
		rma.Field{Name: "keys of variable size (0 or 1)", Value: bit[c.VariableKeys]},
		rma.Field{Name: "values of variable size (0 or 1)", Value: bit[c.Variable]},
		rma.Field{Name: "kinds of storage", Value: uint64(c.Storage)},
		rma.Field{Name: "bytes of records in slots", Value: uint64(c.InlineBytes)},
		rma.Field{Name: "loads in millionths", Value: uint64(c.Load * 1e6)},
		rma.Field{Name: "copies of a key", Value: uint64(c.MaxCopies)},
		rma.Field{Name: "limits of memory", Value: c.MaxMemoryBytes},
		// Homes follow from the load, and a search begins where its rank thinks they are.
		rma.Field{Name: "bits of loads", Value: math.Float64bits(c.Load)},
		rma.Field{Name: "hashes of notes", Value: xxh3.HashString(c.Note)})
}

// complete checks a configuration and fills in what is left to it.
func (c *Config) complete() error {
	least, vary := MinKeySize, c.VariableKeys || c.Variable
	if c.VariableKeys {
		least = 1
	}
	switch {
	case c.KeySize < least || c.KeySize > MaxKeySize:
		return fmt.Errorf("index: KeySize must be %d to %d, not %d", least, MaxKeySize, c.KeySize)
	case c.ValueSize < 0 || c.ValueSize > MaxValueSize:
		return fmt.Errorf("index: ValueSize must be 0 to %d, not %d", MaxValueSize, c.ValueSize)
	case c.Storage < Auto || c.Storage > Hybrid:
		return fmt.Errorf("index: Storage must be Auto, Inline, Heap or Hybrid, not %d", c.Storage)
	case c.Storage == Inline && vary:
		return fmt.Errorf("index: keys and values of variable size need a heap; leave Storage at " +
			"Auto, or choose Hybrid")
	case c.Storage == Hybrid && !vary:
		return fmt.Errorf("index: Hybrid is for records of different sizes, and these have one; " +
			"leave Storage at Auto")
	case c.InlineBytes < 0 || c.InlineBytes > longestInline ||
		c.InlineBytes > 0 && c.Storage != Hybrid:
		return fmt.Errorf("index: InlineBytes must be 0 to %d with Hybrid, and 0 without, not %d",
			longestInline, c.InlineBytes)
	case c.MaxCopies < 0:
		return fmt.Errorf("index: MaxCopies must be 0 or more, not %d", c.MaxCopies)
	case len(c.Note) > MaxNoteSize || !utf8.ValidString(c.Note):
		return fmt.Errorf("index: Note must be at most %d bytes of UTF-8, and has %d: %.40q",
			MaxNoteSize, len(c.Note), c.Note)
	}
	if err := c.Access.Check(); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if c.Storage == Auto {
		c.Storage = Inline
		if vary || c.KeySize+c.ValueSize > MaxInlineBytes {
			c.Storage = Heap
		}
	}
	if c.Load == 0 {
		c.Load = DefaultLoad
	}
	if !(c.Load > 0 && c.Load <= MaxLoad) {
		return fmt.Errorf("index: Load must be above 0 and at most %v, not %v", MaxLoad, c.Load)
	}
	return nil
}

// Lookups says how a Reader looks keys up. It may differ between ranks.
type Lookups struct {
	// Costs are what gets of the memory of another rank cost; how much is read at once depends on
	// them. Zero costs are measured, in up to 20 ms.
	Costs rma.GetCosts
	// GuideBytes is the most that a rank keeps of the borders of all ranks: a byte for each 32
	// slots. With them a search is over with its first read; where they are more, it decides
	// again after each read. 0 means DefaultGuideBytes, and below 0 none are kept.
	GuideBytes int
	// Depth is how many lookups of a batch are in flight. 0 means DefaultDepth.
	Depth int
	// OneSided makes lookups one-sided, through queues, also where memory is directly
	// addressable or batches are better shipped. Stats then counts their requests.
	OneSided bool
}

const (
	// DefaultDepth is how many lookups of a batch are in flight.
	DefaultDepth = 64
	// DefaultGuideBytes is the borders of 2^31 slots.
	DefaultGuideBytes = 1 << 26

	// maxReadBytes is the longest read. Longer ones pay only beyond a load of 0.95.
	maxReadBytes = 1 << 16
	// longReadBytes is what a read may have at least in a search that is longer than the load
	// explains.
	longReadBytes = 1 << 14
)

// complete checks what was asked for and fills in what was left out.
func (l *Lookups) complete() error {
	if l.Depth < 0 || l.Depth > 1<<16 {
		return fmt.Errorf("index: Depth must be 0 to 65536, not %d", l.Depth)
	}
	if c := l.Costs; !(c.Ns >= 0 && c.ByteNs >= 0 && c.EachNs >= 0 && c.EachByteNs >= 0) {
		return fmt.Errorf("index: Costs must not be negative, and are %+v", c)
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	if l.GuideBytes == 0 {
		l.GuideBytes = DefaultGuideBytes
	}
	return nil
}
