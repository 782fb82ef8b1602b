package record

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Table has the cases of records of one name, in the order of their appearance.
type Table struct {
	Name  string
	Cases []*Case
}

// Case is all that was measured under the same conditions.
type Case struct {
	Keys    []Key
	samples map[string][]float64 // by unit
}

// NewTable gathers the records of a name.
func NewTable(name string, records []Record) *Table {
	t := &Table{Name: name}
	at := map[string]*Case{}
	for i := range records {
		r := &records[i]
		if r.Name != name {
			continue
		}
		id := identity(r.Keys)
		c := at[id]
		if c == nil {
			c = &Case{Keys: r.Keys, samples: map[string][]float64{}}
			at[id] = c
			t.Cases = append(t.Cases, c)
		}
		for _, v := range r.Values {
			c.samples[v.Unit] = append(c.samples[v.Unit], v.Value)
		}
	}
	return t
}

// identity is the same for the same keys in any order.
func identity(keys []Key) string {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	var id strings.Builder
	for _, k := range keys {
		id.WriteString("/" + k.Name + "=" + k.Value)
	}
	return id.String()
}

// Get is the value of a key, "" if the case does not have it.
func (c *Case) Get(name string) string { return Config(c.Keys).Get(name) }

// Number is the value of a key as a number, 0 if it is none.
func (c *Case) Number(name string) float64 {
	v, err := strconv.ParseFloat(c.Get(name), 64)
	if err != nil {
		return 0
	}
	return v
}

// Has reports whether the case has all these keys.
func (c *Case) Has(keys ...Key) bool {
	return !slices.ContainsFunc(keys, func(k Key) bool { return c.Get(k.Name) != k.Value })
}

// Spread is the median, the least and the largest of a unit; n is 0 where there is none.
func (c *Case) Spread(unit string) (median, least, largest float64, n int) {
	all := c.samples[unit]
	if len(all) == 0 {
		return 0, 0, 0, 0
	}
	return Median(all), slices.Min(all), slices.Max(all), len(all)
}

// Median is the median of a unit; ok is false where there is none.
func (c *Case) Median(unit string) (median float64, ok bool) {
	median, _, _, n := c.Spread(unit)
	return median, n > 0
}

// Find is the first case that has all these keys, nil if there is none.
func (t *Table) Find(keys ...Key) *Case {
	for _, c := range t.Cases {
		if c.Has(keys...) {
			return c
		}
	}
	return nil
}

// Where has the cases that have all these keys.
func (t *Table) Where(keys ...Key) *Table {
	some := &Table{Name: t.Name}
	for _, c := range t.Cases {
		if c.Has(keys...) {
			some.Cases = append(some.Cases, c)
		}
	}
	return some
}

// Like is the case that has the keys of c except one, nil if there is none or c does not
// have that key.
func (t *Table) Like(c *Case, but Key) *Case {
	if c.Get(but.Name) == "" {
		return nil
	}
	keys := slices.Clone(c.Keys)
	for i := range keys {
		if keys[i].Name == but.Name {
			keys[i] = but
		}
	}
	id := identity(keys)
	for _, other := range t.Cases {
		if identity(other.Keys) == id {
			return other
		}
	}
	return nil
}

// Values are the values of a key, in the order of their appearance.
func (t *Table) Values(key string) (all []string) {
	for _, c := range t.Cases {
		if v := c.Get(key); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// Follows reports whether the value of a key follows from the value of another.
func (t *Table) Follows(key, from string) bool {
	value := map[string]string{}
	for _, c := range t.Cases {
		v, seen := value[c.Get(from)]
		if seen && v != c.Get(key) {
			return false
		}
		value[c.Get(from)] = c.Get(key)
	}
	return true
}

// HasUnit reports whether a case has a value of a unit.
func (t *Table) HasUnit(unit string) bool {
	return slices.ContainsFunc(t.Cases, func(c *Case) bool { return len(c.samples[unit]) > 0 })
}

// Median is the middle one of values, the mean of two where their number is even.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	i := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[i]
	}
	return (sorted[i-1] + sorted[i]) / 2
}

// Units are those that the case has values of, sorted.
func (c *Case) Units() []string { return slices.Sorted(maps.Keys(c.samples)) }
