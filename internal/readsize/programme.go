package readsize

import "sort"

// rare is the probability below which the programme gives a search no read sizes of its
// own: the last one is repeated.
const rare = 1e-6

// programme is the list of read sizes, first read first, that make a search by this law
// cheapest; after them the last is repeated. It decides again after each read that was
// not enough: with k slots read, the best is
//
//	F[k] = min over R of U_k * (c + beta*R) + F[k+R]
//
// where beta is what a slot costs. LP's one size for all reads is a special case.
func (c Config) programme(l *Law) []int {
	next := c.nextReads(l)
	var sizes []int
	for k := 0; k < len(next) && (k == 0 || l.unfinished[k] >= rare); k = next[k] {
		sizes = append(sizes, next[k]-k)
	}
	for n := len(sizes); n > 1 && sizes[n-1] == sizes[n-2]; n-- {
		sizes = sizes[:n-1]
	}
	return sizes
}

// nextReads returns for each k how many slots have been read after the next read.
//
// For each k the costs of reading up to m are lines in U_k with slope beta*m. U_k rises
// as k falls, so the best m only falls: a queue has the m that are best for some k yet to
// come, the best for the present k in front, and each pair of neighbours knows from which
// k on the second is better, also because the first is out of reach.
func (c Config) nextReads(l *Law) []int {
	n, most := len(l.unfinished), c.limit(noLimit)
	next := make([]int, n)
	cost := make([]float64, n+1) // F
	queue := make([]int, 0, n)
	turns := make([]int, 0, n) // from which k down an entry beats the one before
	// turn is the greatest k below j at which reading up to j costs no more than up to i > j.
	turn := func(i, j int) int {
		slope, more := c.slotNs()*float64(i-j), cost[j]-cost[i]
		cheaper := sort.Search(j, func(k int) bool { return l.unfinished[k]*slope < more }) - 1
		return max(cheaper, min(i-most, j)-1)
	}
	front := 0
	for k := n - 1; k >= 0; k-- {
		m, since := k+1, k
		for len(queue) > 0 { // that in front stays: its turn has come before
			back := len(queue) - 1
			since = turn(queue[back], m)
			if since < turns[back] {
				break
			}
			queue, turns = queue[:back], turns[:back]
		}
		queue, turns = append(queue, m), append(turns, since)
		for front+1 < len(queue) && turns[front+1] >= k {
			front++
		}
		m = queue[front]
		next[k] = m
		cost[k] = l.unfinished[k]*c.ReadNs(m-k) + cost[m]
	}
	return next
}
