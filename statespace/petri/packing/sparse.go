package packing

import "math"

// term is one non-zero entry of a sparse vector.
type term struct {
	index int
	coef  int64
}

// vector is a sparse integer vector.
//
// Invariant: sorted by index, no index twice, no zero coefficient.
type vector []term

// at returns the entry at index, 0 if there is none.
func (v vector) at(index int) int64 {
	lo, hi := 0, len(v)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if v[mid].index < index {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(v) && v[lo].index == index {
		return v[lo].coef
	}
	return 0
}

// combine returns a*x + b*y, and false if a number leaves the range of int64.
func combine(a int64, x vector, b int64, y vector) (vector, bool) {
	sum := make(vector, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		s, t := x[0], y[0]
		var coef int64
		var ok bool
		switch {
		case s.index < t.index:
			coef, ok = mul(a, s.coef)
			x = x[1:]
		case s.index > t.index:
			s.index = t.index
			coef, ok = mul(b, t.coef)
			y = y[1:]
		default:
			coef, ok = mulAdd(a, s.coef, b, t.coef)
			x, y = x[1:], y[1:]
		}
		if !ok {
			return nil, false
		}
		if coef != 0 {
			sum = append(sum, term{s.index, coef})
		}
	}
	if len(x) == 0 {
		a, x = b, y
	}
	if a == 1 {
		return append(sum, x...), true
	}
	for _, s := range x {
		coef, ok := mul(a, s.coef)
		if !ok {
			return nil, false
		}
		if coef != 0 {
			sum = append(sum, term{s.index, coef})
		}
	}
	return sum, true
}

// mulAdd returns a*x + b*y, and false if it leaves the range of int64.
func mulAdd(a, x, b, y int64) (int64, bool) {
	p, okP := mul(a, x)
	q, okQ := mul(b, y)
	sum := p + q
	if !okP || !okQ || (p^sum)&(q^sum) < 0 {
		return 0, false
	}
	return sum, true
}

// mul returns a*b, and false if it leaves the range of int64. The smallest
// int64 counts as outside, so that a negation is always safe.
func mul(a, b int64) (int64, bool) {
	if a == int64(int32(a)) && b == int64(int32(b)) {
		return a * b, true
	}
	if a == 0 || b == 0 {
		return 0, true
	}
	if a == math.MinInt64 || b == math.MinInt64 {
		return 0, false
	}
	product := a * b
	if product == math.MinInt64 || product/b != a {
		return 0, false
	}
	return product, true
}

// gcd returns the greatest common divisor of |a| and |b|.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		return -a
	}
	return a
}

// shrink divides the entries of all vectors by their common divisor, in place.
func shrink(vectors ...vector) {
	var g int64
	for _, v := range vectors {
		for _, t := range v {
			g = gcd(g, t.coef)
			if g == 1 {
				return
			}
		}
	}
	if g == 0 {
		return
	}
	for _, v := range vectors {
		for i := range v {
			v[i].coef /= g
		}
	}
}

// dot returns the product of v with a dense vector, and false if it leaves the
// range of int64.
func (v vector) dot(dense []int64) (int64, bool) {
	var sum int64
	for _, t := range v {
		var ok bool
		sum, ok = mulAdd(1, sum, t.coef, dense[t.index])
		if !ok {
			return 0, false
		}
	}
	return sum, true
}
