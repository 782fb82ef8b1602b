package experiment

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"
)

// Count is a number of buckets, records or operations as a flag: 128Mi, 2^27 or 1000000.
type Count uint64

// CountVar defines a flag for a count.
func CountVar(flags *pflag.FlagSet, to *Count, name string, value Count, help string) {
	*to = value
	flags.Var(to, name, help)
}

// Set reads a number.
func (c *Count) Set(text string) error {
	bad := fmt.Errorf("%q is no number such as 16Mi, 2^24 or 1000000", text)
	if power, found := strings.CutPrefix(text, "2^"); found {
		n, err := strconv.Atoi(power)
		if err != nil || n < 0 || n >= bits.UintSize-1 {
			return bad
		}
		*c = 1 << n
		return nil
	}
	if strings.HasSuffix(strings.ToLower(text), "b") {
		return bad // bytes are not counted here
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return bad
	}
	*c = Count(n)
	return nil
}

// Type is how help calls the value.
func (c *Count) Type() string { return "count" }

// String prints a count as people write it: 128Mi, 1000.
func (c *Count) String() string {
	n := uint64(*c)
	for i, unit := range []string{"Gi", "Mi", "Ki"} {
		if size := uint64(1) << (30 - 10*i); n >= size && n%size == 0 {
			return fmt.Sprintf("%d%s", n/size, unit)
		}
	}
	return fmt.Sprint(n)
}

// choice is a flag for some of several names.
type choice[T ~string] struct {
	to  *[]T
	all []T
	set bool
}

// ChoiceVar defines a flag for a list of names, each of which must be one of all.
func ChoiceVar[T ~string](flags *pflag.FlagSet, to *[]T, name string, all, value []T,
	help string) {
	*to = value
	flags.Var(&choice[T]{to: to, all: all}, name, help+": "+join(all))
}

// Set reads names with commas between.
func (c *choice[T]) Set(text string) error {
	if !c.set {
		*c.to, c.set = nil, true
	}
	for name := range strings.SplitSeq(text, ",") {
		v := T(strings.TrimSpace(name))
		if !slices.Contains(c.all, v) {
			return fmt.Errorf("there is no %q, only %s", v, join(c.all))
		}
		if slices.Contains(*c.to, v) {
			return fmt.Errorf("%q is named twice; once will do", v)
		}
		*c.to = append(*c.to, v)
	}
	return nil
}

// Type is how help calls the value.
func (c *choice[T]) Type() string { return "list" }

// String prints the names.
func (c *choice[T]) String() string {
	if c.to == nil {
		return ""
	}
	return join(*c.to)
}

func join[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ",")
}

// InRange refuses a number outside low to high.
func InRange[T int | uint64 | float64 | Count](flag string, v, low, high T) error {
	if !(v >= low && v <= high) {
		return fmt.Errorf("--%s must be %v to %v, not %v", flag, low, high, v)
	}
	return nil
}
