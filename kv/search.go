package kv

import (
	"bytes"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// startIn starts the search at the home in a table.
func (o *op) startIn(t table) {
	o.table, o.begin, o.next, o.n = t, 0, 0, 0
	o.sawMoved, o.checked, o.changed, o.removed = false, false, false, 0
}

// request requests the chunk of slots at begin, in parts where it crosses into another
// rank's memory.
func (o *op) request(q rma.Queue) rma.Handle {
	m := o.m
	n := uint64(m.chunk)
	if o.begin > 0 {
		n *= laterChunkFactor
	}
	o.n, o.next, o.phase = int(min(n, o.table.slots-o.begin)), 0, phaseChunk
	for done := 0; done < o.n; {
		rank, off, rest := m.place(o.table, m.slotAt(o.table, o.hash, o.begin+uint64(done)))
		n := min(o.n-done, rest)
		part := o.chunk[done*m.stride : (done+n)*m.stride]
		o.flights = append(o.flights, q.Get(part, m.slots, rank, off))
		done += n
	}
	return o.flights[len(o.flights)-1]
}

// reread requests the present slot again.
func (o *op) reread(q rma.Queue) rma.Handle {
	m := o.m
	o.phase, o.changed = phaseChunk, true
	rank, off, _ := m.place(o.table, o.slot())
	part := o.chunk[o.next*m.stride : (o.next+1)*m.stride]
	o.flights = append(o.flights, q.Get(part, m.slots, rank, off))
	return o.flights[0]
}

// slot is the number of the present slot.
func (o *op) slot() uint64 { return o.m.slotAt(o.table, o.hash, o.begin+uint64(o.next)) }

// requestState requests the state of the map; examine takes it.
func (o *op) requestState(q rma.Queue) rma.Handle {
	o.stateRequested, o.phase = true, phaseChunk
	o.flights = append(o.flights, q.Get(o.control, o.m.control, 0, 0))
	return o.flights[len(o.flights)-1]
}

// follow goes on in the table that slots of this one have moved to, and requests the state at the
// same time, to find out whether all have moved.
func (o *op) follow(q rma.Queue) rma.Handle {
	followedMove.Hit()
	o.startIn(o.into)
	o.incomplete, o.followed = true, true
	o.requestState(q)
	return o.request(q)
}

// outdated requests the state, as the table has moved, and its slots are those of a later one.
func (o *op) outdated(q rma.Queue) rma.Handle {
	o.n, o.next = 0, 0
	return o.requestState(q)
}

// takeState takes the state, and reports whether the search is in a table that is still used.
func (o *op) takeState() bool {
	o.stateRequested = false
	s := state(o.control[0])
	o.m.view.update(s)
	if s.gen() >= o.table.gen {
		o.incomplete = false
	}
	if s.gen() > o.table.gen {
		staleTable.Hit()
		o.startIn(o.m.table(s.gen(), s.size()))
		return false
	}
	return true
}

// examine searches for the key from slot next on.
func (o *op) examine(q rma.Queue) rma.Handle {
	if o.stateRequested && !o.takeState() {
		return o.request(q)
	}
	for ; o.next < o.n; o.next++ {
		slot := o.chunk[o.next*o.m.stride : (o.next+1)*o.m.stride]
		word := slot[0]
		if word&occupied == 0 {
			if h, over := o.examineEmpty(q, word); over {
				return h
			}
			continue
		}
		o.removed += word / removed & 1
		if !mayMatch(word, o.hash) {
			if o.restartIfChanged() {
				return o.request(q)
			}
			continue
		}
		if o.m.cfg.Copies {
			var room [copySize]byte
			if key, value, ok := readCopy(slot, o.hash, &room); ok {
				o.counts.copies++
				if bytes.Equal(key, o.call.Key) {
					return o.found(q, word, value)
				}
				if o.restartIfChanged() {
					return o.request(q)
				}
				continue
			}
			staleCopy.Hit()
		}
		return o.fetchItem(q, word)
	}
	return o.endOfChunk(q)
}

// restartIfChanged begins the search again if the slot has another key and was read before, when
// it may have had the key of the call. Then the table has moved, and the slots behind were read
// earlier than this one. It reports whether it begins again.
func (o *op) restartIfChanged() bool {
	if !o.changed || !o.m.grows() || ignoresChange.On() {
		return false
	}
	keyChanged.Hit()
	o.startIn(o.m.latestTable())
	o.incomplete = false
	return true
}

// examineEmpty examines a slot without a key. over is false if the search goes on behind it.
func (o *op) examineEmpty(q rma.Queue, word uint64) (h rma.Handle, over bool) {
	switch from := movedFrom(word); {
	case from < o.table.gen:
		return o.absent(q, true, word), true
	case from > o.table.gen && skipsTable.On():
		o.into = o.m.table(from+1, word&sizeMask)
		return o.follow(q), true
	case from > o.table.gen:
		return o.outdated(q), true
	}
	o.into = o.m.table(o.table.gen+1, word&sizeMask)
	o.sawMoved, o.changed, o.movingGen = true, false, o.table.gen
	if word&wasEmpty != 0 {
		return o.follow(q), true
	}
	return rma.NoHandle, false
}

// endOfChunk goes on where a chunk has neither the key nor an empty slot.
func (o *op) endOfChunk(q rma.Queue) rma.Handle {
	o.begin += uint64(o.n)
	o.n, o.next = 0, 0
	switch {
	case o.begin < o.table.slots:
		return o.request(q)
	case o.sawMoved:
		return o.follow(q)
	case o.m.grows() && !o.checked: // slots examined may have been those of a later table
		o.checked = true
		return o.requestState(q)
	}
	return o.absent(q, false, 0)
}

// fetchItem requests the item that a word refers to.
func (o *op) fetchItem(q rma.Queue, word uint64) rma.Handle {
	m := o.m
	rank, off := m.arena.locate(itemOf(word).number)
	if rank >= int(m.ranks) || classOf(word) > m.cfg.largest() {
		o.call.Err = fmt.Errorf("kv: a slot holds %#x, which refers to no item", word)
		return o.end(q)
	}
	o.phase = phaseItem
	o.flights = append(o.flights,
		q.Get(o.there[:classWords(classOf(word))], m.items, rank, off))
	return o.flights[0]
}

// compare examines the item that slot next refers to.
func (o *op) compare(q rma.Queue) rma.Handle {
	word := o.chunk[o.next*o.m.stride]
	it := o.there[:classWords(classOf(word))]
	_, keySize, valueSize, ok := verify(word, it)
	if !ok {
		recycled.Hit()
		o.counts.recycled++
		if o.rereads++; o.rereads > maxRereads {
			o.call.Err = fmt.Errorf("kv: slot %#x refers to an item that is broken", word)
			return o.end(q)
		}
		return o.reread(q)
	}
	if !hasKey(it, keySize, o.call.Key) && !unkeyed.On() {
		fingerprintCollision.Hit()
		if o.restartIfChanged() {
			return o.request(q)
		}
		o.next++
		o.phase = phaseChunk
		return rma.NoHandle
	}
	if o.call.Kind == Get && word&removed == 0 {
		o.call.Value = unpack(o.call.Value, it[headWords+wordsOf(keySize):], valueSize)
	}
	return o.found(q, word, nil)
}

// found goes on where the key has its slot. The value is used by a Get alone.
func (o *op) found(q rma.Queue, word uint64, value []byte) rma.Handle {
	c := o.call
	there := word&removed == 0
	version := Version(0)
	if there {
		version = Version(identity(thaw(word, o.hash)))
	}
	if !c.decide(version) {
		if c.Done {
			c.Value = append(c.Value, value...)
		}
		return o.end(q)
	}
	return o.change(q, word)
}

// change swaps the word of the key for the new one of the call, unless the slot is moving.
func (o *op) change(q rma.Queue, word uint64) rma.Handle {
	if word&frozen != 0 {
		switch frozenRelation(word, o.table.gen) {
		case fromThis:
			foundFrozen.Hit()
			return o.suspend(q, need{what: needPart, table: o.table, slot: o.slot()})
		case fromLater:
			return o.outdated(q)
		}
		changesArrived.Hit()
	}
	switch {
	case o.call.Kind != Delete:
		return o.exchange(q, word, o.word)
	case emptiesDeleted.On():
		return o.exchange(q, word, 0)
	}
	return o.exchange(q, word, thaw(word, o.hash)|removed)
}

// absent goes on where the key is in no slot of the table: at an empty slot, whose word is
// given, or when all slots have been examined.
func (o *op) absent(q rma.Queue, empty bool, word uint64) rma.Handle {
	c := o.call
	switch {
	case o.sawMoved && (c.Kind == Get || unclosed.On()) && !endsAtEmpty.On():
		return o.follow(q)
	case o.sawMoved && c.Kind != Get:
		// No call may put the key here while it is changed in the next table.
		return o.exchange(q, word, movedWord(o.table.gen, o.into.size)|wasEmpty)
	case !c.decide(0):
		return o.end(q)
	case o.incomplete: // what moves comes first, so that there is room for it
		return o.suspend(q, need{what: needMove})
	case !empty && o.m.grows():
		return o.suspend(q, need{what: needRoom, table: o.table, removed: o.removed})
	case !empty:
		h := o.end(q) // the item goes back: there is no error of the engine
		c.Err = &FullError{Slots: o.table.slots}
		return h
	}
	return o.exchange(q, word, o.word)
}

// exchange swaps the word of slot next, and writes the copy at the same time. If the swap
// loses, the copy's seal is not that of the word that won.
func (o *op) exchange(q rma.Queue, old, word uint64) rma.Handle {
	m := o.m
	rank, off, _ := m.place(o.table, o.slot())
	o.old, o.new, o.phase, o.sent = old, word, phaseSwap, o.taken && word == o.word
	o.swap = q.CompareAndSwap(m.slots, rank, off, old, word)
	if o.sent && o.copies() {
		if h := o.collect(q, &o.unawaited, false); h == rma.NoHandle {
			o.unawaited, o.copySent = append(o.unawaited, q.Put(o.copy, m.slots, rank, off+1)), true
		}
	}
	return o.swap
}

// swapped takes the result of the compare-and-swap.
func (o *op) swapped(q rma.Queue) rma.Handle {
	if !q.Done(o.swap) {
		return o.swap
	}
	c := o.call
	seen, err := q.Value(o.swap)
	if err != nil {
		c.Err = fmt.Errorf("kv: %w", err)
		return o.end(q)
	}
	if seen != o.old {
		lostSwap.Hit()
		o.counts.lost++
		q.Stats().Retries++
		o.sent, o.changed = false, o.old&occupied != 0
		o.chunk[o.next*o.m.stride] = seen
		o.phase = phaseChunk
		return rma.NoHandle
	}
	if o.new != 0 && o.new&occupied == 0 {
		closesOldTable.Hit()
		return o.follow(q)
	}
	c.Done, c.Version = true, 0
	if o.sent {
		c.Version = Version(identity(o.word))
		o.giveBack(q, o.old)
	} else if freesDeleted.On() || emptiesDeleted.On() {
		o.giveBack(q, o.old)
	}
	return o.end(q)
}
