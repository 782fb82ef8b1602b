package spread

import (
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/set"
)

// A node is a pair of words, as in package symbolic.
const (
	nodeBits = 36
	nodeMask = 1<<nodeBits - 1
	lowBits  = 64 - nodeBits
)

// lists are lists that are to become nodes, one after the other.
type lists struct {
	first   []int    // of the entries of each list
	rest    []uint64 // by list: the node that follows its last entry
	entries []entry

	pairs   []uint64
	of      []int // by pair: the list
	results []set.Result
	refs    []set.Ref
}

// entry is a value and the set below it.
type entry struct {
	value uint32
	below uint64
}

// reset forgets all lists.
func (l *lists) reset() { l.first, l.rest, l.entries = l.first[:0], l.rest[:0], l.entries[:0] }

// begin begins a list.
func (l *lists) begin() {
	l.first, l.rest = append(l.first, len(l.entries)), append(l.rest, empty)
}

// add adds an entry at the end of the last list, unless nothing follows it.
func (l *lists) add(value uint32, below uint64) {
	if below != empty {
		l.entries = append(l.entries, entry{value, below})
	}
}

// after has the last list continue as another one.
func (l *lists) after(rest uint64) { l.rest[len(l.rest)-1] = rest }

// makeBatch is how many nodes are found or inserted at a time.
const makeBatch = 1 << 14

// make finds or inserts the nodes of lists, from the ends of all of them on, and returns the first
// one of each. After an error it may be called again.
func (d *Diagram) make(l *lists) ([]uint64, error) {
	nodes, end := slices.Clone(l.rest), make([]int, len(l.first))
	active := make([]int, len(l.first))
	for i := range l.first {
		active[i], end[i] = i, len(l.entries)
		if i+1 < len(l.first) {
			end[i] = l.first[i+1]
		}
	}
	for len(active) > 0 {
		left := active[:0]
		for _, i := range active {
			if end[i] == l.first[i] {
				continue
			}
			end[i]--
			e := &l.entries[end[i]]
			l.pairs = append(l.pairs, e.below|uint64(e.value)<<nodeBits,
				nodes[i]|uint64(e.value>>lowBits)<<nodeBits)
			l.of, left = append(l.of, i), append(left, i)
			if len(l.of) == makeBatch {
				if err := d.insert(l, nodes); err != nil {
					return nil, err
				}
			}
		}
		if err := d.insert(l, nodes); err != nil {
			return nil, err
		}
		active = left
	}
	return nodes, nil
}

// insert inserts the pairs.
func (d *Diagram) insert(l *lists, nodes []uint64) error {
	n := len(l.of)
	if n == 0 {
		return nil
	}
	l.results, l.refs = slices.Grow(l.results[:0], n)[:n], slices.Grow(l.refs[:0], n)[:n]
	err := d.nodes.FindOrPutPacked(core.BytesOf(l.pairs), l.results, l.refs)
	for k, i := range l.of {
		nodes[i] = uint64(l.refs[k]) + firstNode
		if l.results[k] == set.Inserted {
			d.made++
			d.stats.Nodes++
		}
	}
	l.pairs, l.of = l.pairs[:0], l.of[:0]
	if err != nil {
		return fmt.Errorf("spread: %w", err)
	}
	return nil
}

// cell is a node that was read.
type cell struct {
	node        uint64
	down, right uint64
	value       uint32
}

// cells are nodes that this rank has read. Nodes do not change, so they stay until there are too
// many, or garbage is collected.
type cells struct {
	nodes *set.Bytes
	all   []cell
	table []uint32 // numbers plus 1, at the hash of the node
	want  []uint64 // the last of all, which are not read yet

	refs  []set.Ref
	pairs []uint64
}

// mostCells is how many nodes stay.
const mostCells = 1 << 18

func (c *cells) reset() {
	c.all = c.all[:0]
	clear(c.table)
}

// need asks for a list.
func (c *cells) need(node uint64) {
	if node <= unit {
		return
	}
	if 2*len(c.all) >= len(c.table) {
		c.table = make([]uint32, max(1024, 2*len(c.table)))
		for i := range c.all {
			at, _ := c.find(c.all[i].node)
			c.table[at] = uint32(i) + 1
		}
	}
	if at, known := c.find(node); !known {
		c.all = append(c.all, cell{node: node})
		c.table[at] = uint32(len(c.all))
		c.want = append(c.want, node)
	}
}

// find is where the table has a node, or a place for it.
func (c *cells) find(node uint64) (at uint64, known bool) {
	mask := uint64(len(c.table) - 1)
	for at = node * 0x9e3779b97f4a7c15 >> 24 & mask; ; at = (at + 1) & mask {
		i := c.table[at]
		if i == 0 || c.all[i-1].node == node {
			return at, i > 0
		}
	}
}

// read reads the lists that were asked for to their ends, a node of each at a time.
func (c *cells) read() error {
	for len(c.want) > 0 {
		next := len(c.all) - len(c.want)
		err := c.each(func(p cell) {
			p.node = c.all[next].node
			c.all[next] = p
			next++
			c.need(p.right)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls use for each node of want, which is empty then. It is given no name.
func (c *cells) each(use func(cell)) error {
	c.refs = c.refs[:0]
	for _, node := range c.want {
		c.refs = append(c.refs, set.Ref(node-firstNode))
	}
	c.pairs = slices.Grow(c.pairs[:0], 2*len(c.refs))[:2*len(c.refs)]
	c.want = c.want[:0]
	if err := c.nodes.GetPacked(c.refs, core.BytesOf(c.pairs)); err != nil {
		return fmt.Errorf("spread: %w", err)
	}
	for i := range c.refs {
		a, b := c.pairs[2*i], c.pairs[2*i+1]
		use(cell{value: uint32(a>>nodeBits) | uint32(b>>nodeBits)<<lowBits, down: a & nodeMask,
			right: b & nodeMask})
	}
	return nil
}

// list appends the nodes of a list that was read to dst. They are valid until the next need.
func (c *cells) list(dst []*cell, node uint64) []*cell {
	for node > unit {
		at, _ := c.find(node)
		p := &c.all[c.table[at]-1]
		dst, node = append(dst, p), p.right
	}
	return dst
}
