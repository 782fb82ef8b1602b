//go:build cgo

package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/set"
)

// configs have the fields that messages of Go name. In farhash.h they have the same names,
// written as in C: MaxMemoryBytes is max_memory_bytes.
var configs = []any{set.Config{}, set.BytesConfig{}, cache.Config{}, kv.Config{},
	index.Config{}, index.Lookups{}}

// otherNames are the names of which that does not hold, and remedies that C does not have.
var otherNames = map[string]string{
	"LockFree": "FARHASH_LOCK_FREE",
	"Fine":     "FARHASH_FINE",
	"Coarse":   "FARHASH_COARSE",
	"AnyOwner": "any_owner",
	"TTL":      "ttl_seconds",
	"Save":     "farhash_index_save",
	"Check":    "farhash_index_check",

	"Auto or OneSided, or an engine": "FARHASH_AUTO or FARHASH_ONE_SIDED, or an engine",

	"PeakBytes says what a build needs": "raise it, or use more ranks",
	"choose Heap, which needs none":     "set variable, which needs none",
	"Slots or MaxSlots":                 "slots",
	"between mpi.Start and its stop":    "by farhash_join_comm",
}

// namesInC are all of these by what Go's messages have in their place.
var namesInC = func() map[string]string {
	names := map[string]string{}
	for _, config := range configs {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(config)) {
			if field.IsExported() {
				names[field.Name] = snake(field.Name)
			}
		}
	}
	for from, to := range otherNames {
		names[from] = to
	}
	return names
}()

// snake is a name of Go, written as in C.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// namesInGo finds what namesInC has, the longest first.
var namesInGo = func() *regexp.Regexp {
	var names []string
	for name := range namesInC {
		names = append(names, regexp.QuoteMeta(name))
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	return regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b`)
}()

// inC is a message of Go in the names of farhash.h. What the program has given stays.
func inC(text string, given ...string) string {
	if len(given) > 0 && given[0] != "" {
		parts := strings.Split(text, given[0])
		for i := range parts {
			parts[i] = inC(parts[i], given[1:]...)
		}
		return strings.Join(parts, given[0])
	}
	return namesInGo.ReplaceAllStringFunc(text, func(name string) string {
		return namesInC[name]
	})
}
