package readsize

// Sizes are the read sizes for a load, in slots. A caller does not change them.
type Sizes struct {
	Cap int // the most that the link has room for

	// For plain linear probing: LP's model without the cap and with it ("Var. Linear (uncons.)"
	// and "Variable Linear" in LP Table 1), and the programme. Capped is the best size that the
	// link has room for, which is not the lesser of Uncapped and Cap.
	Uncapped, Capped int
	Adaptive         []int

	// The same for ordered linear probing; Ordered is the programme.
	OrderedUncapped, OrderedCapped int
	Ordered                        []int
}

// NewSizes finds the read sizes for a load. The programmes are for keys that are there, as LP
// looks them up; in an ordered table a search for another key takes at most 0.2 % longer by them
// than by its own.
func NewSizes(c Config, load float64) (*Sizes, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	laws, err := NewLaws(load)
	if err != nil {
		return nil, err
	}
	link := c.cap()
	return &Sizes{Cap: link,
		Uncapped: c.best(laws.Absent, noLimit), Capped: c.best(laws.Absent, link),
		OrderedUncapped: c.best(laws.OrderedAbsent, noLimit),
		OrderedCapped:   c.best(laws.OrderedAbsent, link),
		Adaptive:        c.programme(laws.Present), Ordered: c.programme(laws.OrderedPresent)}, nil
}

// Ordered is Sizes.Ordered for a load, without the others.
func (c Config) Ordered(load float64) ([]int, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l, err := orderedPresent(load)
	if err != nil {
		return nil, err
	}
	return c.programme(l), nil
}

// Laws are how far searches go at a load.
type Laws struct{ Absent, Present, OrderedAbsent, OrderedPresent *Law }

// NewLaws makes the laws of a load.
func NewLaws(load float64) (*Laws, error) {
	var laws Laws
	for _, l := range []struct {
		to   **Law
		make func(load float64) (*Law, error)
	}{{&laws.Absent, absent}, {&laws.Present, present}, {&laws.OrderedAbsent, orderedAbsent},
		{&laws.OrderedPresent, orderedPresent}} {
		var err error
		if *l.to, err = l.make(load); err != nil {
			return nil, err
		}
	}
	return &laws, nil
}
