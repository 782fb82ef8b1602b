package packing

import (
	"math/bits"
	"slices"
)

// The sizes that decide how lanes are computed.
const (
	firstCache   = 32 << 10 // bytes of tables that stay in the nearest cache
	secondCache  = 1 << 20  // bytes of tables that are still worth a lookup
	maxChunkBits = 11
	minChunkBits = 4
	fewLanes     = 12 // words of a row that are summed up quad by quad
)

// dense computes the lanes of a small net. It cuts the packed marking into
// chunks of a few bits and adds up one row of a table for each chunk.
type dense struct {
	chunks []chunk
	table  []uint64
	stride int // words of a row: the lanes, filled up to a multiple of quad
}

// quad is the number of lane words that are added up together, in registers.
const quad = 4

// chunk is a bit range of a packed marking with the rows for its values.
//
// Invariant: no chunk cuts the field of a group, whose codes are not additive.
type chunk struct {
	word, shift int
	mask        uint64 // of the value, shifted down
	base        int    // first row, as an index into the table
	width       int
	units       []unit
}

// unit is what a chunk is made of: one bit of a count, or a whole group.
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

// chooseEngine builds the engine that takes fewer additions.
func (g *program) chooseEngine() {
	chunks := g.cut(minChunkBits)
	for width := minChunkBits + 1; width <= maxChunkBits; width++ {
		wider := g.cut(width)
		if g.tableBytes(wider) > firstCache {
			break
		}
		chunks = wider
	}
	if g.tableBytes(chunks) <= secondCache && len(chunks)*g.stride() <= g.sparseCost() {
		g.dense = g.tabulate(chunks)
		return
	}
	g.sparse = g.list()
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
		if f.group {
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
	d := &dense{chunks: chunks, stride: lanes}
	for i := range d.chunks {
		c := &d.chunks[i]
		c.base = len(d.table)
		rows := make([]uint64, lanes<<c.width)
		if i == 0 {
			copy(rows, g.bias)
		}
		at := 0
		for _, u := range c.units {
			for value := 1; value < 1<<u.width; value++ {
				to := rows[value<<at*lanes:]
				copy(to, rows[:lanes<<at])
				steps, times := g.unitSteps(u, value)
				for _, s := range steps {
					for low := range 1 << at {
						to[low*lanes+s.word] += s.step * times
					}
				}
			}
			at += u.width
		}
		d.table = append(d.table, rows...)
	}
	return d
}

// unitSteps returns what a unit with a value adds to the lanes.
func (g *program) unitSteps(u unit, value int) (steps []wordStep, times uint64) {
	f := &g.p.fields[u.field]
	switch {
	case !f.group:
		return g.columns[f.places[0]], uint64(value) << u.bit
	case value <= len(f.places):
		return g.columns[f.places[value-1]], 1
	default:
		return nil, 0 // a code that no marking has
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

// evaluate stores the lane words of a packed marking. There is room for stride
// lane words.
func (d *dense) evaluate(state, lanes []uint64) {
	if d.stride > fewLanes {
		d.evaluateRows(state, lanes)
		return
	}
	for lane := 0; lane < d.stride; lane += quad {
		var w, x, y, z uint64
		for i := range d.chunks {
			c := &d.chunks[i]
			at := c.base + int(state[c.word]>>(c.shift&63)&c.mask)*d.stride + lane
			row := (*[quad]uint64)(d.table[at:])
			w += row[0]
			x += row[1]
			y += row[2]
			z += row[3]
		}
		to := (*[quad]uint64)(lanes[lane:])
		to[0], to[1], to[2], to[3] = w, x, y, z
	}
}

// evaluateRows is evaluate for long rows, which are better read in one go.
func (d *dense) evaluateRows(state, lanes []uint64) {
	lanes = lanes[:d.stride]
	for i := range d.chunks {
		c := &d.chunks[i]
		at := c.base + int(state[c.word]>>(c.shift&63)&c.mask)*d.stride
		row := d.table[at : at+d.stride]
		if i == 0 {
			copy(lanes, row)
			continue
		}
		for j, x := range row {
			lanes[j] += x
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
