package check

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// place is a part of a state that is a slice or map, or has some: a tree of the parts of its type.
type place struct {
	name   string // such as .Queue[].Acks
	number uint64 // of a slice or map, from 1 on
	fields []*place
	index  []int  // of fields, in their struct or array
	elem   *place // of a slice or pointer
}

// elementsMost is how many elements of an array are looked at.
const elementsMost = 256

// placesOf are the slices and maps in a type, nil if there are none.
func placesOf(t reflect.Type) *place {
	numbers := uint64(0)
	return newPlace(t, "", &numbers, nil)
}

// newPlace is nil for a part without slices and maps. A type within itself is left out.
func newPlace(t reflect.Type, name string, numbers *uint64, within []reflect.Type) *place {
	if slices.Contains(within, t) {
		return nil
	}
	within = append(within[:len(within):len(within)], t)
	p := &place{name: name}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		*numbers++
		if p.number = *numbers; t.Kind() == reflect.Slice {
			p.elem = newPlace(t.Elem(), name+"[]", numbers, within)
		}
		return p
	case reflect.Array:
		for i := range min(t.Len(), elementsMost) {
			elem := newPlace(t.Elem(), fmt.Sprintf("%s[%d]", name, i), numbers, within)
			if elem == nil {
				break
			}
			p.fields, p.index = append(p.fields, elem), append(p.index, i)
		}
	case reflect.Pointer:
		p.elem = newPlace(t.Elem(), name, numbers, within)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if field := newPlace(f.Type, name+"."+f.Name, numbers, within); field != nil {
				p.fields, p.index = append(p.fields, field), append(p.index, i)
			}
		}
	}
	if p.elem == nil && len(p.fields) == 0 {
		return nil
	}
	return p
}

// find is the place with a number.
func (p *place) find(number uint64) *place {
	if p == nil || p.number == number {
		return p
	}
	for _, field := range p.fields {
		if found := field.find(number); found != nil {
			return found
		}
	}
	return p.elem.find(number)
}

// each calls use with each slice and map at this place of a value that has no elements.
func (p *place) each(v reflect.Value, use func(number uint64, v reflect.Value)) {
	switch {
	case p.number > 0 && v.Len() == 0:
		use(p.number, v)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		p.elem.each(v.Elem(), use)
	case v.Kind() == reflect.Slice && p.elem != nil:
		for i := range v.Len() {
			p.elem.each(v.Index(i), use)
		}
	}
	for i, field := range p.fields {
		if at := p.index[i]; v.Kind() == reflect.Array {
			field.each(v.Index(at), use)
		} else {
			field.each(v.Field(at), use)
		}
	}
}

// alike has seen slices and maps that are nil in a state and empty in another. Such states print
// alike, and are two if AppendBinary writes nil and empty differently.
type alike struct {
	seen map[uint64]uint8 // by the number of a place: 1 as nil, 2 as empty, 3 as both
	told bool
}

// alikeName is the name of a place that is noted.
func (m *system[S]) alikeName(number uint64) string {
	if number == 0 {
		return ""
	}
	return reflect.TypeFor[S]().String() + m.places.find(number).name
}

// lookAlike looks at a state, and notes the first place that is nil and empty.
func (e *expander[S]) lookAlike(packed []uint64) error {
	a := &e.alike
	if a.seen == nil {
		a.seen = map[uint64]uint8{}
	}
	var s S
	if err := e.packing.Decode(packed, &s); err != nil {
		return err
	}
	e.places.each(reflect.ValueOf(&s).Elem(), func(number uint64, v reflect.Value) {
		bit := uint8(1)
		if !v.IsNil() {
			bit = 2
		}
		if a.seen[number] |= bit; a.seen[number] == 3 && !a.told && e.differs(&s, v, packed) {
			a.told = true
			e.note(noteAlike, number)
		}
	})
	return nil
}

// differs reports whether a state packs to other words where v, a slice or map in it, is empty
// instead of nil, or nil instead of empty.
func (e *expander[S]) differs(s *S, v reflect.Value, packed []uint64) bool {
	field := reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // it may be unexported
	was, other := reflect.ValueOf(field.Interface()), reflect.Zero(v.Type())
	if v.IsNil() && v.Kind() == reflect.Slice {
		other = reflect.MakeSlice(v.Type(), 0, 0)
	} else if v.IsNil() {
		other = reflect.MakeMap(v.Type())
	}
	field.Set(other)
	defer field.Set(was)
	return !e.packsTo(s, packed)
}
