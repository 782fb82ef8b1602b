package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
)

// largest is the largest integer that every reader of JSON keeps.
const largest = 1<<53 - 1

// Int is an integer: a number of JSON, or {"#bigint": ...} where some readers would round it.
func Int(n int64) any {
	if n > largest || n < -largest {
		return record{{"#bigint", strconv.FormatInt(n, 10)}}
	}
	return n
}

// record is an object whose fields have an order.
type record []field

type field struct {
	name  string
	value any
}

func (r record) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range r {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// exported are the numbers of the exported fields of a type, if it is a struct.
func exported(t reflect.Type) (all []int) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			all = append(all, i)
		}
	}
	return all
}

// Vars are the variables of states of a type: its exported fields, or if there are none, state.
func Vars(t reflect.Type) (itfNames []string) {
	for _, i := range exported(t) {
		itfNames = append(itfNames, t.Field(i).Name)
	}
	if len(itfNames) == 0 {
		return []string{"state"}
	}
	return itfNames
}

// Values are the values of the variables of a state.
func Values(v reflect.Value) (all []any) {
	for _, i := range exported(v.Type()) {
		all = append(all, value(v.Field(i), 0))
	}
	if len(all) == 0 {
		return []any{value(v, 0)}
	}
	return all
}

// deepest is how far values nest. A value may refer to itself.
const deepest = 64

// value is a Go value. Structs are records of their exported fields, slices and arrays lists, maps
// maps, and maps to struct{} sets. A number or string with a method String is what that returns.
// What the format has no form for is its text, marked as such.
func value(v reflect.Value, depth int) any {
	k := v.Kind()
	if depth++; depth > deepest {
		return record{{"#unserializable", "a value that is too deep"}}
	}
	if (k >= reflect.Bool && k <= reflect.Complex128 || k == reflect.String) && v.CanInterface() {
		if named, ok := v.Interface().(fmt.Stringer); ok {
			return named.String()
		}
	}
	switch {
	case k == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return Int(v.Int())
	case v.CanUint() && v.Uint() > largest:
		return record{{"#bigint", strconv.FormatUint(v.Uint(), 10)}}
	case v.CanUint():
		return Int(int64(v.Uint()))
	case k == reflect.String:
		return v.String()
	case k == reflect.Slice || k == reflect.Array:
		list := []any{}
		for i := range v.Len() {
			list = append(list, value(v.Index(i), depth))
		}
		return list
	case k == reflect.Map:
		return mapped(v, depth)
	case v.Type() == reflect.TypeFor[big.Int]():
		n := v.Interface().(big.Int)
		return record{{"#bigint", n.String()}}
	case k == reflect.Struct && (v.NumField() == 0 || exported(v.Type()) != nil):
		of := record{}
		for _, i := range exported(v.Type()) {
			of = append(of, field{v.Type().Field(i).Name, value(v.Field(i), depth)})
		}
		return of
	case (k == reflect.Pointer || k == reflect.Interface) && !v.IsNil():
		return value(v.Elem(), depth)
	}
	return record{{"#unserializable", fmt.Sprintf("%+v", v)}}
}

// mapped is a map or a set, in the order of its keys as numbers or else as text.
func mapped(v reflect.Value, depth int) any {
	type pair struct {
		key   any
		text  []byte
		value any
	}
	var pairs []pair
	for at := v.MapRange(); at.Next(); {
		p := pair{key: value(at.Key(), depth), value: value(at.Value(), depth)}
		p.text, _ = json.Marshal(p.key)
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		x, xIs := a.key.(int64)
		y, yIs := b.key.(int64)
		if xIs && yIs {
			return cmp.Compare(x, y)
		}
		return bytes.Compare(a.text, b.text)
	})
	keys, both := []any{}, []any{}
	for _, p := range pairs {
		keys, both = append(keys, p.key), append(both, []any{p.key, p.value})
	}
	if e := v.Type().Elem(); e.Kind() == reflect.Struct && e.NumField() == 0 {
		return record{{"#set", keys}}
	}
	return record{{"#map", both}}
}
