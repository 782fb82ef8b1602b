package cache

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Rounding makes keys of floating-point values, such that values that are nearly alike give
// the same key (MD 5.4). A value becomes
//
//   - +0 if it is +0 or -0, or if its magnitude is below its floor;
//   - one and the same NaN if it is any NaN;
//   - itself if it is an infinity, or if its Digits are 0 or more than 16;
//   - else the float64 nearest to the decimal number with so many significant digits that
//     is nearest to its exact value; of two equally near, the one whose last digit is even.
//     Subnormal values are no exception. What would be rounded beyond the largest
//     float64 becomes that, with its sign, so that only infinities are infinite.
//
// Rounding again changes nothing. Values on both sides of the middle between two decimal
// numbers become different ones, however near they are to each other.
type Rounding struct {
	// Digits is the number of significant decimal digits of each value, or one for all.
	Digits []int
	// Floors is the magnitude below which each value counts as zero, or one for all; none
	// means 0. It is not rounded itself.
	Floors []float64
}

// Round rounds values in place.
func (r Rounding) Round(values []float64) error {
	if err := r.check(len(values)); err != nil {
		return err
	}
	for i, x := range values {
		values[i] = r.round(i, x)
	}
	return nil
}

// AppendKey appends the rounded values to dst, 8 bytes each, little-endian on every
// machine, and returns it. The values stay as they are. It allocates only what dst lacks.
func (r Rounding) AppendKey(dst []byte, values []float64) ([]byte, error) {
	if err := r.check(len(values)); err != nil {
		return dst, err
	}
	for i, x := range values {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r.round(i, x)))
	}
	return dst, nil
}

// check refuses what does not fit n values.
func (r Rounding) check(n int) error {
	if len(r.Digits) != 1 && len(r.Digits) != n {
		return fmt.Errorf("cache: %d numbers of digits for %d values; give one for each or one "+
			"for all", len(r.Digits), n)
	}
	if len(r.Floors) > 1 && len(r.Floors) != n {
		return fmt.Errorf("cache: %d floors for %d values; give one for each, one for all or none",
			len(r.Floors), n)
	}
	for _, digits := range r.Digits {
		if digits < 0 {
			return fmt.Errorf("cache: %d significant digits; give 0 to leave a value as it is",
				digits)
		}
	}
	for _, floor := range r.Floors {
		if !(floor >= 0) {
			return fmt.Errorf("cache: a floor must not be negative: %v", floor)
		}
	}
	return nil
}

// round rounds value number i.
func (r Rounding) round(i int, x float64) float64 {
	digits, floor := r.Digits[min(i, len(r.Digits)-1)], 0.0
	if n := len(r.Floors); n > 0 {
		floor = r.Floors[min(i, n-1)]
	}
	switch {
	case x != x:
		return math.NaN()
	case x == 0 || math.Abs(x) < floor:
		return 0
	case digits == 0 || digits > maxDigits || math.IsInf(x, 0):
		return x
	}
	if y, ok := roundFast(x, digits); ok {
		return y
	}
	return roundExactly(x, digits)
}

// maxDigits is the most digits that change a float64: 17 distinguish all of them.
const maxDigits = 16

// roundExactly rounds by way of decimal digits.
func roundExactly(x float64, digits int) float64 {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], x, 'e', digits-1, 64)
	y, _ := strconv.ParseFloat(string(text), 64) // out of range is an infinity
	if math.IsInf(y, 0) {
		return math.Copysign(math.MaxFloat64, x)
	}
	return y
}

// powers are those powers of ten that are float64 exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// fastDigits is the most for which a scaled value is exact to a sixteenth.
const fastDigits = 15

// roundFast rounds by scaling the value to an integer of so many digits. The scaled value
// is wrong by at most half a unit of its last place, hence by less than 1/10: where it is
// that near to the middle of two integers, or to another number of digits, ok is false.
// The integer and the power of ten are exact, so the quotient or product of
// them is the float64 nearest to the decimal number.
func roundFast(x float64, digits int) (y float64, ok bool) {
	const log2 = 0.30102999566398120 // of ten
	exponent := int(math.Float64bits(x)>>52&0x7FF) - 1023
	decade := int(math.Floor(float64(exponent) * log2)) // or one less than it should be
	scale := digits - 1 - decade
	if digits > fastDigits || scale >= len(powers) || scale <= 1-len(powers) {
		return 0, false
	}
	q := scaled(x, scale)
	if math.Abs(q) >= powers[digits]-0.5 {
		scale--
		q = scaled(x, scale)
	}
	n := math.RoundToEven(q)
	distance := math.Abs(math.Abs(q-n) - 0.5)
	if distance < 0.1 || math.Abs(q) < powers[digits-1] || math.Abs(n) > powers[digits] {
		return 0, false
	}
	return scaled(n, -scale), true
}

// scaled is x * 10^scale.
func scaled(x float64, scale int) float64 {
	if scale < 0 {
		return x / powers[-scale]
	}
	return x * powers[scale]
}
