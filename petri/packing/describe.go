package packing

// Role says how a place is represented.
type Role int

// The roles of a place.
const (
	Constant Role = iota // no firing changes it
	Implied              // computed from stored places
	Counted              // stored as a count
	Grouped              // stored as the code of a group
)

// String returns the name of the role.
func (r Role) String() string {
	switch r {
	case Constant:
		return "constant"
	case Implied:
		return "implied"
	case Counted:
		return "counted"
	default:
		return "grouped"
	}
}

// UnknownBound is the bound of a place that no invariant bounds.
const UnknownBound = -1

// PlaceInfo describes how one place is packed.
type PlaceInfo struct {
	ID    string
	Role  Role
	Bound int64 // most tokens by the invariants, or UnknownBound
	Bits  int   // of a counted place, or of the whole field of a group
	Field int   // number of the field, shared by a group; -1 if there is none
}

// Description says how a net is packed, for printing.
type Description struct {
	Bits      int // of a packed marking
	Words     int // of a packed marking
	Constant  int // number of places, and so on
	Implied   int
	Counted   int
	Grouped   int
	Groups    int // fields of grouped places
	Unbounded int // places without a known bound
	Guessed   int // those of them that have a field of a guessed width
	Semiflows int // place invariants found
	Dead      int // transitions that are known never to fire
	Places    []PlaceInfo
}

// Describe returns how the net is packed.
func (p *Packing) Describe() Description {
	d := Description{Bits: p.bits, Words: p.words, Semiflows: len(p.s.flows)}
	for _, live := range p.s.live {
		if !live {
			d.Dead++
		}
	}
	for i := range p.fields {
		if p.fields[i].group {
			d.Groups++
		}
	}
	for i := range p.where {
		info := p.placeInfo(i)
		switch info.Role {
		case Constant:
			d.Constant++
		case Implied:
			d.Implied++
		case Counted:
			d.Counted++
		case Grouped:
			d.Grouped++
		}
		if info.Bound == UnknownBound {
			d.Unbounded++
			if info.Field >= 0 {
				d.Guessed++
			}
		}
		d.Places = append(d.Places, info)
	}
	return d
}

// placeInfo describes one place.
func (p *Packing) placeInfo(place int) PlaceInfo {
	info := PlaceInfo{
		ID: p.net.Places[place].ID, Bound: p.s.bound[place], Field: p.where[place].field,
	}
	if info.Bound == unbounded {
		info.Bound = UnknownBound
	}
	switch {
	case p.implied[place] != nil:
		info.Role = Implied
	case info.Field < 0:
		info.Role = Constant
	default:
		f := &p.fields[info.Field]
		info.Role, info.Bits = Counted, f.width
		if f.group {
			info.Role = Grouped
		}
	}
	return info
}
