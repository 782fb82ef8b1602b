package index

import (
	"fmt"

	"github.com/farhash/farhash/readsize"
)

// Policy says how much a lookup reads at once.
type Policy int

const (
	// Best is Guided for Ordered where the guides of all ranks have at most MaxGuideBytes,
	// Parallel for Cuckoo, and Adaptive for others: the default.
	Best Policy = iota
	// Adaptive decides the size of a read again after each that was not enough, and knows
	// the largest clusters that were met.
	Adaptive
	// Guided is Adaptive that knows beforehand a border for each 32 homes, and where long runs
	// begin and end: a search is over with its first read. For Ordered.
	Guided
	// Model is the size of LP's model under the cap of the link (LP 3.1, Eq. 1 and 2).
	Model
	// Uncapped is the size of LP's model without the cap.
	Uncapped
	// Fixed is FixedBytes.
	Fixed
	// Parallel reads all buckets of a key at once (LP 4.5). For Cuckoo.
	Parallel
	// Sequential reads one after the other, and ends with the record of a key if no key of
	// the table has two. For Cuckoo.
	Sequential
)

// String is the policy's name.
func (p Policy) String() string {
	return nameOf("Policy", int(p), "best", "adaptive", "guided", "model", "uncapped", "fixed",
		"parallel", "sequential")
}

// Lookups says how a Reader looks keys up. It may differ between ranks.
type Lookups struct {
	Policy Policy
	// FixedBytes is the size of a read of Fixed, 0 for 256 as in LP 5.1: as many slots as
	// fit, and at least one.
	FixedBytes int
	// Machine is what the network costs; the zero one is readsize.EDR, that of the paper.
	Machine readsize.Machine
	// AbsentShare is the part of all lookups, 0 to 1, whose key is not there. Adaptive
	// and Guided go by it.
	AbsentShare float64
	// Clusters is how many clusters each worker knows, under Adaptive and Model alone: Guided
	// knows all beforehand. 0 means DefaultClusters for Adaptive, and none for Model; below 0 none.
	Clusters int
	// Depth is how many lookups of a batch are in flight. 0 means DefaultDepth.
	Depth int
	// OneSided makes lookups use queues also where all memory is directly addressable.
	OneSided bool
}

const (
	// DefaultClusters is how many clusters a worker knows, as in LP 5.8.
	DefaultClusters = 1000
	// DefaultDepth is how many lookups of a batch are in flight.
	DefaultDepth = 64

	// fixedBytes is the read size of LP 5.1.
	fixedBytes = 256
	// maxReadBytes is the longest read. Longer ones pay only beyond a load of 0.95.
	maxReadBytes = 1 << 16
	// longReadBytes is what a read may have at least in a known cluster, and in a search that
	// is longer than the load explains.
	longReadBytes = 1 << 14
)

// MaxGuideBytes is the most that Best keeps on a rank to guide searches: the borders of 2^31
// slots.
const MaxGuideBytes = 1 << 26

// best is what Best stands for.
func (t *table) best() Policy {
	switch {
	case t.cfg.Layout == Cuckoo:
		return Parallel
	case t.cfg.Layout == Ordered && t.guideBytes() <= MaxGuideBytes:
		return Guided
	}
	return Adaptive
}

// complete checks what was asked for and fills in what was left out.
func (l *Lookups) complete(t *table) error {
	layout := t.cfg.Layout
	cuckoo := l.Policy == Parallel || l.Policy == Sequential
	switch {
	case l.Policy < Best || l.Policy > Sequential:
		return fmt.Errorf("index: there is no Policy %d", l.Policy)
	case l.Policy != Best && cuckoo != (layout == Cuckoo):
		return fmt.Errorf("index: Policy %v is not for layout %v", l.Policy, layout)
	case l.Policy == Guided && layout != Ordered:
		return fmt.Errorf("index: Policy guided is for Ordered, not for layout %v", layout)
	case l.FixedBytes < 0 || l.FixedBytes > maxReadBytes:
		return fmt.Errorf("index: FixedBytes must be 0 to %d, not %d", maxReadBytes, l.FixedBytes)
	case l.Clusters > 1<<20:
		return fmt.Errorf("index: Clusters must be at most 2^20, not %d", l.Clusters)
	case l.Depth < 0 || l.Depth > 1<<16:
		return fmt.Errorf("index: Depth must be 0 to 65536, not %d", l.Depth)
	}
	if l.Policy == Best {
		l.Policy = t.best()
	}
	if l.FixedBytes == 0 {
		l.FixedBytes = fixedBytes
	}
	if l.Machine == (readsize.Machine{}) {
		l.Machine = readsize.EDR()
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	switch l.Policy {
	case Adaptive:
		if l.Clusters == 0 {
			l.Clusters = DefaultClusters
		}
	case Model:
	default:
		l.Clusters = 0
	}
	l.Clusters = max(l.Clusters, 0)
	return nil
}

// choose finds the sizes of reads.
func (r *Reader) choose() error {
	t := r.t
	if t.cfg.Layout == Cuckoo {
		r.maxSlots = 1
		return nil
	}
	c := readsize.Config{Machine: r.cfg.Machine, SlotBytes: t.unitBytes,
		MaxSlots: maxReadBytes / t.unitBytes, AbsentShare: r.cfg.AbsentShare}
	if err := c.Check(); err != nil {
		return err
	}
	load := float64(t.records) / (float64(t.homes) * float64(t.ranks))
	s, err := readsize.NewSizes(c, min(max(load, 0.01), readsize.MaxLoad))
	if err != nil {
		return err
	}
	r.model = s
	switch r.cfg.Policy {
	case Fixed:
		r.sizes = []int{max(1, r.cfg.FixedBytes/t.unitBytes)}
	case Model:
		r.sizes = []int{s.Capped}
	case Uncapped:
		r.sizes = []int{s.Uncapped}
	default:
		r.sizes = s.Adaptive
		if t.cfg.Layout == Ordered {
			r.sizes = s.Ordered
		}
	}
	for _, n := range r.sizes {
		r.maxSlots = max(r.maxSlots, n)
	}
	if r.cfg.Clusters > 0 || r.adapts() {
		r.maxSlots = max(r.maxSlots, longReadBytes/t.unitBytes)
	}
	return nil
}

// adapts reports whether sizes of reads change during a search.
func (r *Reader) adapts() bool { return r.cfg.Policy == Adaptive || r.cfg.Policy == Guided }

// aim decides where a search in slots begins, and where it may end.
func (r *Reader) aim(o *op) {
	t := r.t
	o.at, o.bound = int(o.home), t.units
	switch {
	case r.guides != nil:
		o.at, o.bound, o.exact = r.guides[o.rank].between(int(o.home), t.units)
	case t.cfg.Layout == Ordered && r.cfg.Clusters > 0:
		base := o.rank * t.units
		start, end, exact := o.known.between(base+int(o.home), base+t.units)
		o.at, o.bound, o.exact = start-base, end-base, exact
	}
	if o.at >= o.bound {
		o.over = true
	}
}

// size is how many slots the next read has.
func (r *Reader) size(o *op) int {
	last := len(r.sizes) - 1
	n := r.sizes[min(o.asked, last)]
	if o.asked > last && r.adapts() {
		n <<= min(o.asked-last, 16) // a search that long is through many records of one key
	}
	if r.cfg.Clusters > 0 && r.t.cfg.Layout == Linear {
		if distance, length := o.known.hint(o.rank*r.t.units + o.at); length > 0 {
			n = r.hinted(o, n, distance, length)
		}
	}
	return min(n, r.maxSlots)
}

// hinted is the size of a read near a cluster (LP 3.4).
func (r *Reader) hinted(o *op, n, distance, length int) int {
	switch {
	case r.cfg.Policy == Model:
		return r.model.Hinted(distance, length)
	case distance <= 0:
		return distance + length + 1
	case o.asked == 0:
		return r.model.HintedAdaptive(distance, length)
	}
	return min(n, distance+length+1)
}
