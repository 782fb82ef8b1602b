package cache

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// drawFloat prefers what is special.
func drawFloat(t *rapid.T) float64 {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
	case 1: // few digits, and so often a tie
		n := rapid.Int64Range(-100_000, 100_000).Draw(t, "digits")
		return float64(n) * math.Pow(10, float64(rapid.IntRange(-12, 12).Draw(t, "power")))
	case 2: // near a power of ten
		x := math.Pow(10, float64(rapid.IntRange(-30, 30).Draw(t, "power")))
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			x = math.Nextafter(x, 0)
		}
		return x
	case 3:
		return math.Float64frombits(rapid.Uint64Range(0, 1<<53).Draw(t, "subnormal"))
	}
	return rapid.Float64().Draw(t, "float")
}

// decimal is the number with so many significant digits nearest to x, by exact fractions.
func decimal(x float64, digits int) float64 {
	exact := new(big.Rat).SetFloat64(math.Abs(x))
	ten := big.NewRat(10, 1)
	unit := big.NewRat(1, 1) // of the last digit
	low := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits-1)), nil))
	for new(big.Rat).Mul(unit, low).Cmp(exact) > 0 {
		unit.Quo(unit, ten)
	}
	for new(big.Rat).Mul(new(big.Rat).Mul(unit, low), ten).Cmp(exact) <= 0 {
		unit.Mul(unit, ten)
	}
	units := new(big.Rat).Quo(exact, unit)
	whole := new(big.Int).Quo(units.Num(), units.Denom())
	rest := new(big.Rat).Sub(units, new(big.Rat).SetInt(whole))
	switch half := rest.Cmp(big.NewRat(1, 2)); {
	case half > 0, half == 0 && whole.Bit(0) == 1:
		whole.Add(whole, big.NewInt(1))
	}
	y, _ := new(big.Rat).Mul(new(big.Rat).SetInt(whole), unit).Float64()
	if math.IsInf(y, 0) {
		y = math.MaxFloat64
	}
	return math.Copysign(y, x)
}

// TestRounding compares with exact fractions, and rounds again.
func TestRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, digits := drawFloat(t), rapid.IntRange(1, maxDigits).Draw(t, "n")
		key := []float64{x}
		must(t, Rounding{Digits: []int{digits}}.Round(key))
		if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		if want := decimal(x, digits); key[0] != want {
			t.Fatalf("%v to %d digits is %v, want %v", x, digits, key[0], want)
		}
		once := key[0]
		must(t, Rounding{Digits: []int{digits}}.Round(key))
		if key[0] != once {
			t.Fatalf("%v to %d digits is %v, and rounded again %v", x, digits, once, key[0])
		}
	})
	if _, ok := roundFast(273.15, 3); !ok {
		t.Error("a usual value does not take the short way")
	}
}

func TestRoundingOfSpecialValues(t *testing.T) {
	nan := math.Float64frombits(0xFFF8000000000123)
	const tiny = math.SmallestNonzeroFloat64
	negative := math.Copysign(0, -1)
	for _, c := range []struct {
		x      float64
		digits int
		floor  float64
		want   float64
	}{
		{negative, 3, 0, 0}, {negative, 0, 0, 0}, {nan, 3, 0, math.NaN()}, {nan, 0, 0, math.NaN()},
		{math.Inf(1), 2, 0, math.Inf(1)}, {math.Inf(-1), 2, 5, math.Inf(-1)},
		{1.25, 2, 0, 1.2}, {1.35, 2, 0, 1.4}, {-1.26, 2, 0, -1.3}, {999.9, 3, 0, 1000},
		{0.15, 1, 0, 0.1}, {123456, 2, 0, 120000}, {1.7e308, 1, 0, math.MaxFloat64},
		{-math.MaxFloat64, 2, 0, -math.MaxFloat64}, {tiny, 1, 0, tiny}, {3 * tiny, 1, 0, 2 * tiny},
		{1e-300, 3, 1e-12, 0}, {-1e-13, 3, 1e-12, 0}, {1e-12, 3, 1e-12, 1e-12},
		{math.Pi, 0, 0, math.Pi}, {math.Pi, 17, 0, math.Pi}, {math.Pi, 100, 0, math.Pi},
	} {
		key := []float64{c.x}
		must(t, Rounding{Digits: []int{c.digits}, Floors: []float64{c.floor}}.Round(key))
		if math.Float64bits(key[0]) != math.Float64bits(c.want) {
			t.Errorf("%v to %d digits with floor %v is %v, want %v", c.x, c.digits, c.floor,
				key[0], c.want)
		}
	}
}

func TestAppendKey(t *testing.T) {
	r := Rounding{Digits: []int{2, 0, 4}, Floors: []float64{0, 0, 1}}
	key, err := r.AppendKey([]byte("x"), []float64{1.26, 1.26, 0.5})
	must(t, err)
	want := append([]byte("x"), 0xcd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xf4, 0x3f,
		0x29, 0x5c, 0x8f, 0xc2, 0xf5, 0x28, 0xf4, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0)
	if !bytes.Equal(key, want) {
		t.Errorf("the key is %x, want %x", key, want)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values, dst := make([]float64, 3), make([]byte, 0, 24)
	allocations := testing.AllocsPerRun(1000, func() {
		for i := range values { // short ways and long ones
			values[i] = math.Float64frombits(rng.Uint64())
		}
		values[0] = rng.Float64()
		_, err = r.AppendKey(dst, values)
	})
	if allocations != 0 || err != nil {
		t.Errorf("a key takes %v allocations: %v", allocations, err)
	}
}

func TestBadRounding(t *testing.T) {
	for _, r := range []Rounding{
		{}, {Digits: []int{1, 2}}, {Digits: []int{1, 2, -1}},
		{Digits: []int{1}, Floors: []float64{1, 2}}, {Digits: []int{1}, Floors: []float64{-1}},
		{Digits: []int{1}, Floors: []float64{math.NaN()}},
	} {
		if _, err := r.AppendKey(nil, make([]float64, 3)); err == nil {
			t.Errorf("%+v is taken for three values", r)
		}
	}
}
