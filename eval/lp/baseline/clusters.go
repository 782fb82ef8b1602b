package baseline

import "sort"

// clusters are the largest that a worker has found (LP 3.4, 4.4): slots [from, end) that are taken,
// as a search that began at from has shown, and an empty slot at end. Slots are numbered through
// all ranks. The list is in order, and clusters do not overlap.
type clusters struct {
	maxKnown int
	list     []cluster
	fresh    []cluster // seen since the last update
	least    int       // no shorter one comes in
}

type cluster struct{ from, end int }

func (c cluster) length() int { return c.end - c.from }

// maxFresh is how many clusters are kept for the next update.
const maxFresh = 64

func newClusters(maxKnown int) clusters { return clusters{maxKnown: maxKnown, least: 1} }

// note keeps what a search has shown on a rank whose slots begin with number base.
func (c *clusters) note(base, from, end int) {
	if c.maxKnown > 0 && end-from >= c.least && len(c.fresh) < maxFresh {
		c.fresh = append(c.fresh, cluster{base + from, base + end})
	}
}

// update enters what was noted.
func (c *clusters) update() {
	for _, f := range c.fresh {
		if f.length() >= c.least {
			c.enter(f)
		}
	}
	c.fresh = c.fresh[:0]
}

func (c *clusters) enter(f cluster) {
	i := c.after(f.from)
	switch {
	case i > 0 && c.list[i-1].end >= f.end:
		return // it is a part of that
	case i < len(c.list) && c.list[i].end == f.end:
		c.list[i].from = f.from
		return
	}
	c.list = append(c.list, cluster{})
	copy(c.list[i+1:], c.list[i:])
	c.list[i] = f
	if len(c.list) > c.maxKnown {
		c.drop()
	}
}

// drop removes the shortest.
func (c *clusters) drop() {
	at := 0
	for i, known := range c.list {
		if known.length() < c.list[at].length() {
			at = i
		}
	}
	c.least = c.list[at].length() + 1
	c.list = append(c.list[:at], c.list[at+1:]...)
}

// after is the index of the first cluster that begins after a slot.
func (c *clusters) after(slot int) int {
	return sort.Search(len(c.list), func(i int) bool { return c.list[i].from > slot })
}

// hint is the distance from a slot to the cluster around it or next after it, and its
// length; 0 if none is known.
func (c *clusters) hint(slot int) (distance, length int) {
	i := c.after(slot)
	if i > 0 && c.list[i-1].end >= slot {
		i--
	}
	if i == len(c.list) {
		return 0, 0
	}
	return c.list[i].from - slot, c.list[i].length()
}
