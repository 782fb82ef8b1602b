package tree

// maxChildren is how many ranks a rank sends to.
const maxChildren = 8

// span is consecutive ranks, from first up to end: the first one, and those below it.
type span struct{ first, end int }

// children divides the ranks below the first one into at most fan spans.
func (s span) children(fan int) []span {
	var all []span
	below := s.end - s.first - 1
	for at, left := s.first+1, min(fan, below); left > 0; left-- {
		next := at + (s.end-at+left-1)/left
		all = append(all, span{at, next})
		at = next
	}
	return all
}

// place finds the parent of a rank, -1 for rank 0, and the span that the rank is the first of.
func place(rank, size, fan int) (parent int, s span) {
	parent, s = -1, span{0, size}
	for s.first != rank {
		parent = s.first
		for _, child := range s.children(fan) {
			if child.first <= rank && rank < child.end {
				s = child
			}
		}
	}
	return parent, s
}
