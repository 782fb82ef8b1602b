package rmatest

import (
	"fmt"

	"github.com/farhash/farhash/rma"
)

// transfers is how many each rank makes.
const transfers = 200

// transactions has all ranks move what is in one word to another: the sum stays, and each
// transfer takes place once. Engines without transactions have nothing to show.
func transactions(r *rank) error {
	q, ok := r.q.(rma.Transactor)
	if !ok {
		return nil
	}
	if err := r.barrier(); err != nil { // so that they meet
		return err
	}
	t := rma.Transaction{{Off: 0}, {Off: 2}}
	for done := 0; done < transfers; {
		h := q.Transact(r.w, 0, t)
		agreed, err := r.finish(h)
		if err != nil {
			return err
		}
		first, second := t[0].Seen, t[1].Seen
		if first+second != 0 {
			return fmt.Errorf("a transaction sees %d and %d", first, second)
		}
		if agreed == 1 {
			done++
		}
		t[0].Old, t[1].Old = first, second
		t[0].New, t[1].New = first+1, second-1
	}
	if err := r.barrier(); err != nil {
		return err
	}
	// The first transaction of a rank may have agreed that there is nothing, and changed nothing.
	words, err := r.get(r.w, 0, 0, 3)
	if err != nil {
		return err
	}
	least, most := uint64((transfers-1)*r.size), uint64(transfers*r.size)
	if words[0] < least || words[0] > most || words[1] != 0 || words[0]+words[2] != 0 {
		return fmt.Errorf("%d transfers leave %d", most, words)
	}
	return nil
}
