package chart

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// RoundTicks labels an axis at about six multiples of 1, 2 or 5 times a power of ten.
type RoundTicks struct{}

// Ticks returns the labelled marks between low and high.
func (RoundTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/6)))
	step := unit * 10
	for _, factor := range []float64{1, 2, 5} {
		if (high-low)/(unit*factor) <= 7 {
			step = unit * factor
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		v := i*step + 0                             // 0 in place of -0
		label := strconv.FormatFloat(v, 'g', 6, 64) // 6 digits: 0.30000000000000004
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
	return ticks
}

const (
	maxValueTicks = 8
	minTickShare  = 0.06 // of an axis, which a label needs
)

// ValueTicks labels an axis at the values themselves, such as 1, 2 and 4 ranks. It is nil where
// they are too many, or too close to each other for labels.
func ValueTicks(values []float64, logarithmic bool) plot.ConstantTicks {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) < 2 || len(values) > maxValueTicks {
		return nil
	}
	at := func(v float64) float64 {
		if logarithmic {
			return math.Log(v)
		}
		return v
	}
	whole := at(values[len(values)-1]) - at(values[0])
	var ticks plot.ConstantTicks
	for i, v := range values {
		if i > 0 && at(v)-at(values[i-1]) < minTickShare*whole {
			return nil
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return ticks
}

// LogTicks labels a logarithmic axis at 1, 2 and 5 times powers of ten, a long one at
// powers of ten.
type LogTicks struct{}

// longDecades is from how many powers of ten on an axis has no room for 2 and 5.
const longDecades = 3

// Ticks returns the labelled marks between low and high.
func (LogTicks) Ticks(low, high float64) []plot.Tick {
	const margin = 1.001 // of numbers that are no binary fractions
	long := high > low*math.Pow10(longDecades)
	var ticks []plot.Tick
	for v := stepDown(low * margin); v <= high*margin; v = stepUp(v * margin) {
		if v >= low/margin && (!long || leading(v) == 1) {
			label := strconv.FormatFloat(v, 'f', -1, 64)
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// LogRange widens a range to numbers that LogTicks labels.
func LogRange(low, high float64) (float64, float64) { return stepDown(low), stepUp(high) }

// stepDown is the largest of 1, 2, 5 times a power of ten that is not above v.
func stepDown(v float64) float64 {
	power := int(math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if step := scaled(m, power); step <= v {
			return step
		}
	}
	return scaled(1, power)
}

// stepUp is the least of 1, 2, 5 times a power of ten that is not below v.
func stepUp(v float64) float64 {
	power := int(math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if step := scaled(m, power); step >= v {
			return step
		}
	}
	return scaled(1, power+1)
}

// scaled is m times a power of ten, the number that is printed so.
func scaled(m float64, power int) float64 {
	if power < 0 {
		return m / math.Pow10(-power)
	}
	return m * math.Pow10(power)
}

// leading is the first digit of a number that LogTicks labels.
func leading(v float64) int {
	return int(math.Round(v / math.Pow10(int(math.Floor(math.Log10(v*1.001))))))
}
