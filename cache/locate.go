package cache

// Locate reports which rank has key in its memory, and in which bucket of that rank. It is a
// Get that leaves the value; by the time it returns another key may stand there.
func (c *Cache) Locate(key []byte) (rank int, bucket uint64, found bool, err error) {
	if len(key) != c.cfg.KeySize {
		return 0, 0, false, c.sizeError("key", len(key), c.cfg.KeySize)
	}
	words := make([]uint64, c.t.keyWords+c.t.valueWords)
	k, v := words[:c.t.keyWords], words[c.t.keyWords:]
	copy(bytesOf(k), key)
	hash := hashKey(k)
	if c.t.addressable(hash) {
		s := search{t: c.t, kind: kindGet, key: k, value: v}
		c.search(&s, hash)
		return s.rank, s.place(), s.matched, nil
	}
	var hit [1]bool
	var counts Counts
	b := batch{t: c.t, kind: kindGet, n: 1, keys: k, values: v, found: hit[:], counts: &counts,
		ended: func(s *search) { rank, bucket = s.rank, s.place() }}
	err = c.t.queued(&b, nil)
	c.tally.Add(hash, &counts)
	return rank, bucket, hit[0], err
}

// place is the bucket that a search stands at, in its rank.
func (s *search) place() uint64 {
	return s.number*uint64(s.t.groupBuckets) + uint64(s.bucket())
}
