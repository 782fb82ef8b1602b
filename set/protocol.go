package set

import "unsafe"

// verdict is what the content of a bucket means for a search.
type verdict uint8

const (
	other  verdict = iota // the bucket has another item: examine the next one
	same                  // it has the word, or an element of equal fingerprint
	vacant                // it is empty: claim it
	absent                // it is empty: the item is not in the set
	passed                // it is closed: the item is not in this table and never will be
)

// decide is the decision of find-or-put (OP Fig. 1). A search makes it for each bucket from home
// on, until one does not have another item, and for what won when a compare-and-swap lost.
// Where a bucket equals key in the bits of mask, it has what is searched for or, of elements, what
// has to be compared. Key has the occupied bit.
func decide(bucket, key, mask uint64, insert bool) verdict {
	switch {
	case bucket&mask == key:
		return same
	case bucket&occupied != 0:
		return other
	case bucket != 0: // closed, or damaged: no compare-and-swap gets it
		return passed
	case insert:
		return vacant
	}
	return absent
}

// end is how a search ends in a span: with a Result, or so that it goes on elsewhere. The assembly
// knows the numbers.
type end uint8

const (
	notFound end = iota + 1 // this and the next three are the Results of these names
	found
	inserted
	full

	// unfinished ends a search that leaves its span. The caller searches again through a queue,
	// from the home on. That is correct, because the occupied buckets of the span do not change.
	unfinished
	// beyond ends a search that has passed a table. The item is not there and never will be,
	// because no bucket that was examined changes any more. The search continues in the next table.
	beyond
	// lostFirst is unfinished after a compare-and-swap that another insertion won.
	lostFirst
)

// endsOf is the memory of results, for searches to write to.
func endsOf(results []Result) []end {
	return unsafe.Slice((*end)(unsafe.SliceData(results)), len(results))
}

// exhausted is the end when every bucket within the limit has another item.
func (v *span) exhausted(insert bool) end {
	if !v.last {
		return beyond
	}
	return nowhere(insert)
}

// nowhere is the end when nothing is found, and there is no bucket to claim.
func nowhere(insert bool) end {
	if insert {
		return full
	}
	return notFound
}
