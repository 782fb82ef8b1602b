package schemes

import "fmt"

// chained has a list of nodes for each bucket. Nodes follow the buckets in memory, two words each:
// what was inserted, and where the next node is. A place of 0 is the end, since a bucket is there.
type chained struct{ memory }

const nodeWords = 2

// search walks the list of a word.
func (c *chained) search(word uint64) (first uint64, found bool) {
	first = c.get(c.home(word, 0), 1)[0]
	c.wait()
	for at := first; at != 0; {
		node := c.get(at, nodeWords)
		c.wait()
		if node[0] == word {
			return first, true
		}
		at = node[1]
	}
	return first, false
}

// Find reports whether a word is there.
func (c *chained) Find(word uint64) (bool, Cost) {
	_, found := c.search(word)
	return found, c.took()
}

// FindOrPut inserts a word unless it is there. The put of the node and the swap of the bucket are
// requested together.
func (c *chained) FindOrPut(word uint64) (Answer, Cost) {
	first, found := c.search(word)
	if found {
		return Found, c.took()
	}
	node := uint64(len(c.words))
	c.words = append(c.words, word, first)
	c.swap(c.home(word, 0), first, node)
	c.wait()
	return Inserted, c.took()
}

// Check finds words that are there twice or in another list, and nodes that are in no list.
func (c *chained) Check() error {
	buckets := int(c.mask + 1)
	nodes, seen := (len(c.words)-buckets)/nodeWords, map[uint64]bool{}
	for home := range buckets {
		for at := c.words[home]; at != 0; at = c.words[at+1] {
			word := c.words[at]
			if seen[word] || c.home(word, 0) != uint64(home) {
				return fmt.Errorf("%#x is in list %d, and in another or in the wrong one", word,
					home)
			}
			seen[word] = true
		}
	}
	if len(seen) != nodes {
		return fmt.Errorf("lists have %d of %d nodes", len(seen), nodes)
	}
	return nil
}
