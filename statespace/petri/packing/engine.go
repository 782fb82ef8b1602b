package packing

import (
	"math"
	"math/bits"
	"slices"
)

// The sizes that decide how lanes are computed.
const (
	firstCache   = 256 << 10 // bytes of tables that are looked up in a few nanoseconds
	secondCache  = 1 << 20   // bytes of tables that are still worth a lookup
	maxChunkBits = 11
	minChunkBits = 4
	fewLanes     = 12 // words of a row that are summed up quad by quad
)

// dense computes the masks and lanes of a small net. It cuts the packed marking into
// chunks of a few bits, and combines one row of a table for each chunk: the bits of masks by and,
// lanes by addition.
type dense struct {
	chunks []chunk
	table  []uint64
	masks  int // words of a row
	stride int // words of a row: masks and lanes, filled up to a multiple of quad
}

// quad is the number of words that are combined together, in registers.
const quad = 4

// chunk is a bit range of a packed marking with the rows for its values.
//
// Invariant: no chunk cuts the field of a group, whose codes are not additive, nor a field that has
// rules.
type chunk struct {
	word, shift int
	mask        uint64 // of the value, shifted down
	base        int    // first row, as an index into the table
	width       int
	units       []unit
}

// unit is what a chunk is made of: one bit of a count, or a whole field.
type unit struct {
	field int
	bit   int // of the count
	width int
}

// sparse computes the lanes of a large net: it adds up the steps of the fields
// that are not zero.
type sparse struct {
	fieldAt []int32 // by bit of the packed marking
	fields  []sparseField
	spans   []int32 // the steps of span i start at spans[i], end at spans[i+1]
	steps   []wordStep
}

// sparseField is a field with its steps: one span for a count, which is added
// as often as there are tokens, or one for each code of a group.
type sparseField struct {
	shift int
	mask  uint64
	span  int
	group bool
}

// tables returns the chunks of a dense engine, and how many words it combines. Where its tables
// would be too large there are no chunks, and the cost is more than any.
func (g *program) tables() (chunks []chunk, cost int) {
	chunks = g.cut(minChunkBits)
	for width := minChunkBits + 1; width <= maxChunkBits; width++ {
		wider := g.cut(width)
		if g.tableBytes(wider) > firstCache {
			break
		}
		chunks = wider
	}
	if g.tableBytes(chunks) > secondCache {
		return nil, math.MaxInt
	}
	return chunks, len(chunks) * g.stride()
}

// sparseCost estimates the time of the sparse engine in additions of the dense
// one. About half of the counts are zero. A step takes the time of two additions,
// and finding a field with its loop of unforeseeable length the time of several.
func (g *program) sparseCost() int {
	const visit = 7
	cost := len(g.bias) + visit*len(g.p.fields)
	for i := range g.p.fields {
		f := &g.p.fields[i]
		steps := 0
		for _, place := range f.places {
			steps += len(g.columns[place])
		}
		if f.group {
			cost += 2 * steps / len(f.places) // one of its places is marked
		} else {
			cost += steps
		}
	}
	return cost
}

func (g *program) tableBytes(chunks []chunk) int {
	rows := 0
	for i := range chunks {
		rows += 1 << chunks[i].width
	}
	return rows * g.stride() * 8
}

// stride returns the number of lane words, filled up to a multiple of quad.
func (g *program) stride() int { return (len(g.bias) + quad - 1) / quad * quad }

// cut divides the packed marking into chunks of up to width bits.
func (g *program) cut(width int) []chunk {
	order := make([]int, len(g.p.fields))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		f, h := &g.p.fields[i], &g.p.fields[j]
		return (f.word-h.word)*wordBits + f.shift - h.shift
	})
	chunks := []chunk{{}} // one even if there is no field, to carry the bias
	for _, i := range order {
		f := &g.p.fields[i]
		size := 1
		if f.group || g.rules != nil && len(g.rules[i]) > 0 {
			size = f.width
		}
		for bit := 0; bit < f.width; bit += size {
			c := &chunks[len(chunks)-1]
			if c.width > 0 && (c.word != f.word || c.width+size > width) {
				chunks = append(chunks, chunk{})
				c = &chunks[len(chunks)-1]
			}
			if c.width == 0 {
				c.word, c.shift = f.word, f.shift+bit
			}
			c.units = append(c.units, unit{i, bit, size})
			c.width += size
			c.mask = 1<<c.width - 1
		}
	}
	return chunks
}

// tabulate fills the tables. The bias is part of the rows of the first chunk.
func (g *program) tabulate(chunks []chunk) *dense {
	lanes := g.stride()
	d := &dense{chunks: chunks, masks: g.masks, stride: lanes}
	for i := range d.chunks {
		c := &d.chunks[i]
		c.base = len(d.table)
		rows := make([]uint64, lanes<<c.width)
		for j := range g.masks {
			rows[j] = ^uint64(0)
		}
		if i == 0 {
			copy(rows, g.bias)
		}
		at := 0
		for _, u := range c.units {
			for value := 1<<u.width - 1; value >= 0; value-- { // 0 is what the others copy
				to := rows[value<<at*lanes:][:lanes<<at]
				copy(to, rows)
				g.addUnit(to, lanes, u, value)
			}
			at += u.width
		}
		d.table = append(d.table, rows...)
	}
	return d
}

// addUnit adds what a unit with a value means to some rows.
func (g *program) addUnit(rows []uint64, lanes int, u unit, value int) {
	steps, times := g.unitSteps(u, value)
	var rules []rule
	if g.rules != nil {
		rules = g.rules[u.field]
	}
	for row := range slices.Chunk(rows, lanes) {
		for _, s := range steps {
			row[s.word] += s.step * times
		}
		for _, r := range rules {
			if tokens := g.p.fields[u.field].tokens(uint64(value), r.place); tokens < r.least ||
				tokens > r.most {
				row[r.word] &^= r.bit
			}
		}
	}
}

// unitSteps returns what a unit with a value adds to the lanes.
func (g *program) unitSteps(u unit, value int) (steps []wordStep, times uint64) {
	f := &g.p.fields[u.field]
	switch {
	case !f.group:
		return g.columns[f.places[0]], uint64(value) << u.bit
	case value > 0 && value <= len(f.places):
		return g.columns[f.places[value-1]], 1
	default:
		return nil, 0 // no place, or a code that no marking has
	}
}

// list builds the sparse engine.
func (g *program) list() *sparse {
	s := &sparse{
		fieldAt: make([]int32, g.p.words*wordBits),
		fields:  make([]sparseField, len(g.p.fields)),
		spans:   []int32{0},
	}
	for i := range g.p.fields {
		f := &g.p.fields[i]
		s.fields[i] = sparseField{f.shift, f.mask(), len(s.spans) - 1, f.group}
		for bit := range f.width {
			s.fieldAt[f.word*wordBits+f.shift+bit] = int32(i)
		}
		for _, place := range f.places {
			s.steps = append(s.steps, g.columns[place]...)
			s.spans = append(s.spans, int32(len(s.steps)))
		}
	}
	return s
}

// evaluate stores the masks and lanes of a packed marking. There is room for stride words.
func (d *dense) evaluate(state, lanes []uint64) {
	if d.stride > fewLanes {
		d.evaluateRows(state, lanes)
		return
	}
	for word := 0; word < d.masks; word += quad {
		w, x, y, z := ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)
		for i := range d.chunks {
			row := (*[quad]uint64)(d.table[d.chunks[i].row(state, d.stride)+word:])
			w &= row[0]
			x &= row[1]
			y &= row[2]
			z &= row[3]
		}
		to := (*[quad]uint64)(lanes[word:])
		to[0], to[1], to[2], to[3] = w, x, y, z
	}
	for word := d.masks; word < d.stride; word += quad {
		var w, x, y, z uint64
		for i := range d.chunks {
			row := (*[quad]uint64)(d.table[d.chunks[i].row(state, d.stride)+word:])
			w += row[0]
			x += row[1]
			y += row[2]
			z += row[3]
		}
		to := (*[quad]uint64)(lanes[word:])
		to[0], to[1], to[2], to[3] = w, x, y, z
	}
}

// row is where the row of a packed marking begins in the table.
func (c *chunk) row(state []uint64, stride int) int {
	return c.base + int(state[c.word]>>(c.shift&63)&c.mask)*stride
}

// evaluateRows is evaluate for long rows, which are better read in one go.
func (d *dense) evaluateRows(state, lanes []uint64) {
	lanes = lanes[:d.stride]
	for i := range d.chunks {
		at := d.chunks[i].row(state, d.stride)
		row := d.table[at : at+d.stride]
		if i == 0 {
			copy(lanes, row)
			continue
		}
		masks := lanes[:d.masks]
		for j, x := range row[:d.masks] {
			masks[j] &= x
		}
		sums := lanes[d.masks:]
		for j, x := range row[d.masks:] {
			sums[j] += x
		}
	}
}

// evaluate stores the lane words of a packed marking.
func (s *sparse) evaluate(bias, state, lanes []uint64) {
	copy(lanes, bias)
	for w, word := range state {
		for word != 0 {
			bit := bits.TrailingZeros64(word)
			f := &s.fields[s.fieldAt[w*wordBits+bit]]
			value := word >> f.shift & f.mask
			word &^= f.mask << f.shift
			span, times := f.span, value
			if f.group {
				span, times = f.span+int(value)-1, 1
			}
			for _, step := range s.steps[s.spans[span]:s.spans[span+1]] {
				lanes[step.word] += step.step * times
			}
		}
	}
}
