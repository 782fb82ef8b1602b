package index

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/readsize"
)

// Lookups says how a Reader looks keys up. It may differ between ranks.
type Lookups struct {
	// Machine is what the network costs; the zero one is readsize.EDR, that of the paper.
	Machine readsize.Machine
	// AbsentShare is the part of all lookups, 0 to 1, whose key is not there.
	AbsentShare float64
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
	if l.Machine == (readsize.Machine{}) {
		l.Machine = readsize.EDR()
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	if l.GuideBytes == 0 {
		l.GuideBytes = DefaultGuideBytes
	}
	return nil
}

// choose finds the sizes of reads.
func (r *Reader) choose() error {
	t := r.t
	c := readsize.Config{Machine: r.cfg.Machine, SlotBytes: t.slotBytes,
		MaxSlots: maxReadBytes / t.slotBytes, AbsentShare: r.cfg.AbsentShare}
	if err := c.Check(); err != nil {
		return err
	}
	load := float64(t.records) / (float64(t.homes) * float64(t.ranks))
	s, err := readsize.NewSizes(c, min(max(load, 0.01), readsize.MaxLoad))
	if err != nil {
		return err
	}
	r.sizes = s.Ordered
	r.maxSlots = max(slices.Max(r.sizes), longReadBytes/t.slotBytes)
	return nil
}

// size is how many slots the next read has.
func (r *Reader) size(o *op) int {
	last := len(r.sizes) - 1
	n := r.sizes[min(o.asked, last)]
	if o.asked > last {
		n <<= min(o.asked-last, 16) // a search that long is through many records of one key
	}
	return min(n, r.maxSlots)
}
