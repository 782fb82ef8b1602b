package index

import "sort"

// clusters are the largest that a worker has found (LP 3.4, 4.4). Each is what follows from a
// search that began at slot from and ended at slot end:
//
//	Linear    the slots [from, end) are taken, and end is empty
//	Ordered   all records with homes up to from lie before end, and none at end or behind
//
// Slots are numbered through all ranks. In both layouts the list is in the order of from
// and of end at once; in Linear clusters do not overlap.
type clusters struct {
	maxKnown int
	linear   bool
	list     []cluster
	fresh    []cluster // seen since the last update
	least    int       // no shorter one comes in
}

type cluster struct{ from, end int }

func (c cluster) length() int { return c.end - c.from }

// maxFresh is how many clusters are kept for the next update.
const maxFresh = 64

func newClusters(maxKnown int, linear bool) clusters {
	return clusters{maxKnown: maxKnown, linear: linear, least: 1}
}

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
	case i > 0 && c.list[i-1].from == f.from:
		return
	case c.linear && i > 0 && c.list[i-1].end >= f.end:
		return // it is a part of that
	case c.linear && i < len(c.list) && c.list[i].end == f.end:
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

// after is the index of the first cluster that begins behind a slot.
func (c *clusters) after(slot int) int {
	return sort.Search(len(c.list), func(i int) bool { return c.list[i].from > slot })
}

// hint is the distance from a slot to the cluster around it or next behind it, and its
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

// between is what is known of a home in Ordered: its records lie in the slots [start, end),
// of which all may be needed if exact. Where nothing is known they are the home itself
// and most.
func (c *clusters) between(home, most int) (start, end int, exact bool) {
	i := c.after(home)
	start, end = home, most
	if i > 0 && c.list[i-1].from == home {
		i--
		end, exact = c.list[i].end, true
	} else if i < len(c.list) {
		end = min(end, c.list[i].end)
	}
	if i > 0 {
		start = max(start, c.list[i-1].end)
	}
	return start, end, exact
}
