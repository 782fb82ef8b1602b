package spread

import (
	"context"
	"fmt"
	"math/big"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"
)

// Counted is what Count finds of a set.
type Counted struct {
	Vectors *big.Int
	Nodes   []uint64 // by rank: how many of the nodes it has in its memory
}

// countedLevel is what this rank counts of a level: lists, which others name.
type countedLevel struct {
	first []int    // of what is below each list
	below []uint64 // by entry: the rank, then the number of the list there
	from  [][]int  // by rank: the lists that it needs
}

// counting is a call of Count.
type counting struct {
	*Diagram
	sent    []table // by rank: the lists of the next level that are asked for
	got     table
	out, in [][]uint64
	list    []*cell
}

// belowRank is the bit from which on the rank is in countedLevel.below.
const belowRank = 40

// Count counts the vectors and nodes of a set. It takes memory for each list beside that of New.
// Collective.
func (d *Diagram) Count(ctx context.Context, n Node) (*Counted, error) {
	ranks := d.job.Size()
	c := &counting{Diagram: d, sent: make([]table, ranks), out: make([][]uint64, ranks),
		in: make([][]uint64, ranks)}
	nodes := make([]uint64, ranks)
	if uint64(n) <= unit {
		return &Counted{new(big.Int).SetUint64(uint64(n)), nodes}, nil
	}
	root := d.rankOf(hashOf([]uint64{uint64(n)}))
	top := &countedLevel{from: make([][]int, ranks)}
	if root == d.job.Rank() {
		c.got.add([]uint64{uint64(n)}, hashOf([]uint64{uint64(n)}))
		for rank := range top.from {
			top.from[rank] = []int{0} // all want to know
		}
	}
	levels, own := []*countedLevel{top}, uint64(0)
	for level := range d.levels {
		next, here, err := c.down(ctx, levels[level], level+1 == d.levels)
		if err != nil {
			return nil, err
		}
		levels, own = append(levels, next), own+here
	}
	sum := make([]uint64, 1)
	sum[0] = own
	for rank := range c.out {
		c.out[rank] = sum
	}
	if _, err := d.x.run(c.out, c.in, notes{}); err != nil {
		return nil, err
	}
	for rank := range nodes {
		nodes[rank] = c.in[rank][0]
		c.out[rank] = nil
	}
	var below [][]*big.Int
	for level := d.levels - 1; level >= 0; level-- {
		var err error
		if below, err = c.up(levels[level], below); err != nil {
			return nil, err
		}
		levels[level] = nil
	}
	return &Counted{below[root][0], nodes}, nil
}

// down collects the lists below those of a level, and counts the nodes of the level that this rank
// has.
func (c *counting) down(ctx context.Context, l *countedLevel, bottom bool) (next *countedLevel,
	own uint64, err error) {
	c.cells.reset()
	for i := range c.got.len() {
		c.cells.need(c.got.at(i)[0])
	}
	if err := c.cells.read(); err != nil {
		return nil, 0, err
	}
	for i := range c.got.len() {
		l.first = append(l.first, len(l.below))
		c.list = c.cells.list(c.list[:0], c.got.at(i)[0])
		for _, p := range c.list {
			if bottom {
				l.below = append(l.below, 0)
			} else {
				l.below = append(l.below, c.want(p.down, c.rankOf(hashOf([]uint64{p.down}))))
			}
		}
	}
	l.first = append(l.first, len(l.below))
	if err := c.exchange(ctx); err != nil {
		return nil, 0, err
	}
	next = &countedLevel{from: make([][]int, len(c.in))}
	lists := c.receive(next.from)
	// Each rank tells the others which of their nodes it has read.
	for i := range c.cells.all {
		node := c.cells.all[i].node
		rank, _ := c.nodes.Place(set.Ref(node - firstNode))
		c.want(node, rank)
	}
	if err := c.exchange(ctx); err != nil {
		return nil, 0, err
	}
	nodes := c.receive(make([][]int, len(c.in)))
	c.got = lists
	return next, uint64(nodes.len()), nil
}

// want asks a rank for a node, and returns the rank with the number there.
func (c *counting) want(node uint64, rank int) uint64 {
	word := []uint64{node}
	number, _ := c.sent[rank].add(word, hashOf(word))
	return uint64(rank)<<belowRank | uint64(number)
}

// exchange sends what ranks are asked for. After the end of the context of a rank all fail.
func (c *counting) exchange(ctx context.Context) error {
	for rank := range c.sent {
		c.out[rank] = append(c.out[rank][:0], c.sent[rank].words...)
		c.sent[rank].reset()
	}
	failure, mine := error(nil), notes{}
	if ctx.Err() != nil {
		failure, mine[0] = fmt.Errorf("spread: %w", context.Cause(ctx)), 1
	}
	sum, err := c.x.run(c.out, c.in, mine)
	if err == nil && sum[0] > 0 {
		err = rma.AllSucceeded(context.WithoutCancel(ctx), c.job, "spread", failure)
	}
	return err
}

// receive is the nodes that this rank is asked for, with their numbers by rank in from.
func (c *counting) receive(from [][]int) (got table) {
	for rank, in := range c.in {
		for i := range in {
			number, _ := got.add(in[i:i+1], hashOf(in[i:i+1]))
			from[rank] = append(from[rank], number)
		}
	}
	return got
}

// up counts the vectors of the lists of a level, with those of the level below. It returns what
// this rank has asked each other for.
func (c *counting) up(l *countedLevel, below [][]*big.Int) ([][]*big.Int, error) {
	one := big.NewInt(1)
	counts := make([]*big.Int, len(l.first)-1)
	for i := range counts {
		sum := new(big.Int)
		for _, b := range l.below[l.first[i]:l.first[i+1]] {
			if below == nil {
				sum.Add(sum, one)
			} else {
				sum.Add(sum, below[b>>belowRank][b&(1<<belowRank-1)])
			}
		}
		counts[i] = sum
	}
	for rank, lists := range l.from {
		c.out[rank] = c.out[rank][:0]
		for _, i := range lists {
			words := counts[i].Bits()
			c.out[rank] = append(c.out[rank], uint64(len(words)))
			for _, w := range words {
				c.out[rank] = append(c.out[rank], uint64(w))
			}
		}
	}
	if _, err := c.x.run(c.out, c.in, notes{}); err != nil {
		return nil, err
	}
	answers := make([][]*big.Int, len(c.in))
	for rank, in := range c.in {
		for len(in) > 0 {
			words := make([]big.Word, in[0])
			for k := range words {
				words[k] = big.Word(in[1+k])
			}
			answers[rank] = append(answers[rank], new(big.Int).SetBits(words))
			in = in[1+len(words):]
		}
	}
	return answers, nil
}
