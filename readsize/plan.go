package readsize

import (
	"math"
	"sync"
)

// Sizes are the read sizes for a load, in slots. A caller does not change them.
type Sizes struct {
	Load float64 // that they are for
	Cap  int     // the most that the link has room for

	// For plain linear probing: LP's model without the cap and with it, and the programme.
	Uncapped, Capped int
	Adaptive         []int

	// The same for ordered linear probing; Ordered is the programme.
	OrderedUncapped, OrderedCapped int
	Ordered                        []int

	config Config
	absent *Law // as far as hints ask
}

// NewSizes finds the read sizes for a load.
func NewSizes(c Config, load float64) (*Sizes, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	laws, err := NewLaws(load)
	if err != nil {
		return nil, err
	}
	s := &Sizes{Load: load, Cap: c.Cap(), config: c}
	s.Uncapped, s.Capped = c.Uncapped(laws.Absent), c.Capped(laws.Absent)
	s.OrderedUncapped = c.Uncapped(laws.OrderedAbsent)
	s.OrderedCapped = c.Capped(laws.OrderedAbsent)
	s.Adaptive = c.Programme(laws.Absent.Mix(c.AbsentShare, laws.Present), NoLimit)
	s.Ordered = c.Programme(laws.OrderedAbsent.Mix(c.AbsentShare, laws.OrderedPresent), NoLimit)
	known := max(laws.Absent.Quantile(complete), s.Adaptive[0]) + 1
	known = min(known, len(laws.Absent.unfinished))
	s.absent = &Law{append([]float64(nil), laws.Absent.unfinished[:known]...)}
	return s, nil
}

// Hinted is the read size under the cap with a hint of a cluster, or Capped if the hint
// is of no use; see [Config.Hinted]. It allocates nothing.
func (s *Sizes) Hinted(distance, length int) int {
	return s.config.Hinted(s.absent, distance, length, s.Cap, s.Capped)
}

// HintedAdaptive is the first size of the programme for plain linear probing with a hint
// of a cluster as in [Config.Hinted]: through the cluster, or as far before it as is
// cheapest if a second read then goes through it. It allocates nothing.
func (s *Sizes) HintedAdaptive(distance, length int) int {
	c, first := s.config, s.Adaptive[0]
	end := distance + length + 1
	if length < 1 || distance+length < 1 || distance > first {
		return first
	}
	if distance <= 0 {
		return max(c.limit(end), 1)
	}
	best, least := first, math.Inf(1)
	if c.limit(end) == end {
		best, least = end, c.ReadNs(end)
	}
	for r := 1; r <= distance; r++ {
		cost := c.ReadNs(r) + s.absent.Unfinished(r)*c.ReadNs(end-r)
		if cost < least {
			best, least = r, cost
		}
	}
	return best
}

// Laws are how far searches go at a load.
type Laws struct{ Absent, Present, OrderedAbsent, OrderedPresent *Law }

// NewLaws makes the laws of a load.
func NewLaws(load float64) (*Laws, error) {
	var laws Laws
	for _, l := range []struct {
		to   **Law
		make func(load float64) (*Law, error)
	}{{&laws.Absent, Absent}, {&laws.Present, Present}, {&laws.OrderedAbsent, OrderedAbsent},
		{&laws.OrderedPresent, OrderedPresent}} {
		var err error
		if *l.to, err = l.make(load); err != nil {
			return nil, err
		}
	}
	return &laws, nil
}

// percents is how many loads a plan knows: 0.01, 0.02, ... up to MaxLoad.
const percents = 99

// Plan has the read sizes of a configuration for all loads. It finds them when they are
// first asked for, and keeps them. It is safe for concurrent use.
type Plan struct {
	sizes  [percents]func() *Sizes
	chunks [percents]func() int
}

// NewPlan makes a plan. It computes nothing yet.
func NewPlan(c Config) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p := new(Plan)
	for i := range percents {
		load := float64(i+1) / 100
		p.sizes[i] = sync.OnceValue(func() *Sizes {
			s, err := NewSizes(c, load)
			if err != nil {
				panic(err) // configuration and load have been checked
			}
			return s
		})
		p.chunks[i] = sync.OnceValue(func() int {
			l, err := Absent(load)
			if err != nil {
				panic(err) // the load is one of ours
			}
			return c.Chunk(l, NoLimit)
		})
	}
	return p, nil
}

// nearest is the index of the percent next to a load.
func nearest(load float64) int {
	if !(load > 0) {
		return 0
	}
	return int(min(max(math.Round(load*100), 1), percents)) - 1
}

// Sizes are the read sizes for the percent next to a load; those for 0.01 or for MaxLoad
// where it lies beyond.
func (p *Plan) Sizes(load float64) *Sizes { return p.sizes[nearest(load)]() }

// Chunk is the chunk size of a set for the percent next to a load; see [Config.Chunk].
func (p *Plan) Chunk(load float64) int { return p.chunks[nearest(load)]() }

// Fill finds all sizes and chunks that have not been asked for yet.
func (p *Plan) Fill() {
	for i := range percents {
		p.sizes[i]()
		p.chunks[i]()
	}
}
