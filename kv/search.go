package kv

import (
	"bytes"

	"github.com/farhash/farhash/rma"
)

// startIn starts the search at the home in a table.
func (o *op) startIn(t table) {
	o.table, o.into, o.begin, o.next, o.n = t, table{}, 0, 0, 0
	o.checked, o.changed, o.removed = false, false, 0
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
	var last rma.Handle
	for done := 0; done < o.n; {
		rank, off, rest := o.table.place(o.table.slotAt(o.hash, o.begin+uint64(done)))
		n := min(o.n-done, rest)
		last = o.get(q, o.chunk[done*m.stride:(done+n)*m.stride], m.slots, rank, off)
		done += n
	}
	return last
}

// sawMoved reports whether a slot examined has moved.
func (o *op) sawMoved() bool { return o.into.gen > 0 }

// reread requests the present slot again.
func (o *op) reread(q rma.Queue) rma.Handle {
	m := o.m
	o.phase, o.changed = phaseChunk, true
	rank, off, _ := o.table.place(o.slot())
	return o.get(q, o.chunk[o.next*m.stride:(o.next+1)*m.stride], m.slots, rank, off)
}

// slot is the number of the present slot.
func (o *op) slot() uint64 { return o.table.slotAt(o.hash, o.begin+uint64(o.next)) }

// requestState requests the state of the map; examine takes it.
func (o *op) requestState(q rma.Queue) rma.Handle {
	o.stateRequested, o.phase = true, phaseChunk
	return o.get(q, o.control, o.m.control, 0, 0)
}

// follow goes on in the table that slots of this one have moved to, and requests the state at the
// same time, to find out whether all have moved.
func (o *op) follow(q rma.Queue) rma.Handle {
	// mark: a key is searched for in the next table
	o.startIn(o.into)
	o.incomplete = true
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
	o.m.learn(s)
	if s.gen() >= o.table.gen {
		o.incomplete = false
	}
	if s.gen() > o.table.gen {
		// mark: a table has moved on by the time it is read
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
		if mayMatch(word, o.hash) {
			var room [copySize]byte
			key, value, ok := readCopy(slot, o.hash, &room)
			if !ok {
				o.phase = phaseItem
				return o.getItem(q, word, o.there)
			}
			if bytes.Equal(key, o.call.Key) {
				return o.found(q, word, value)
			}
		}
		if o.restartIfChanged() {
			return o.request(q)
		}
	}
	return o.endOfChunk(q)
}

// restartIfChanged begins the search again if the slot has another key and was read before, when
// it may have had the key of the call. Then the table has moved, and the slots behind were read
// earlier than this one. It reports whether it begins again.
func (o *op) restartIfChanged() bool {
	if !o.changed {
		return false
	}
	// mark: a slot has another key when it is read again
	o.startIn(o.m.latestTable())
	o.incomplete = false
	return true
}

// examineEmpty examines a slot without a key. over is false if the search goes on behind it.
func (o *op) examineEmpty(q rma.Queue, word uint64) (h rma.Handle, over bool) {
	switch from := movedFrom(word); {
	case from < o.table.gen:
		return o.absent(q, true, word), true
	case from > o.table.gen:
		return o.outdated(q), true
	}
	o.into = o.m.table(o.table.gen+1, word&sizeMask)
	o.changed, o.movingGen = false, o.table.gen
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
	case o.sawMoved():
		return o.follow(q)
	case !o.checked: // slots examined may have been those of a later table
		o.checked = true
		return o.requestState(q)
	}
	return o.absent(q, false, 0)
}

// compare examines the item that slot next refers to.
func (o *op) compare(q rma.Queue) rma.Handle {
	word := o.chunk[o.next*o.m.stride]
	_, keySize, valueSize, ok := o.checkItem(word, o.there)
	if !ok {
		// mark: an item has been used again by the time it is read
		return o.reread(q)
	}
	if !hasKey(o.there, keySize, o.call.Key) {
		// mark: another key with the same fingerprint
		if o.restartIfChanged() {
			return o.request(q)
		}
		o.next++
		o.phase = phaseChunk
		return rma.NoHandle
	}
	if o.call.Kind == Get && word&removed == 0 {
		o.call.Value = unpack(o.call.Value, o.there[headWords+wordsOf(keySize):], valueSize)
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
		return o.end()
	}
	return o.change(q, word)
}

// change swaps the word of the key for the new one of the call, unless the slot is moving.
func (o *op) change(q rma.Queue, word uint64) rma.Handle {
	if word&frozen != 0 {
		switch compareFrozen(word, o.table.gen) {
		case 0:
			// mark: a write finds its key frozen
			return o.suspend(need{what: needPart, table: o.table, slot: o.slot()})
		case 1:
			return o.outdated(q)
		}
		// mark: a write changes a key that has just arrived
	}
	if o.call.Kind != Delete {
		return o.exchange(q, word, o.word)
	}
	return o.exchange(q, word, thaw(word, o.hash)|removed)
}

// absent goes on where the key is in no slot of the table: at an empty slot, whose word is
// given, or when all slots have been examined.
func (o *op) absent(q rma.Queue, empty bool, word uint64) rma.Handle {
	c := o.call
	switch {
	case o.sawMoved() && c.Kind == Get:
		return o.follow(q)
	case o.sawMoved():
		// No call may put the key here while it is changed in the next table.
		return o.exchange(q, word, movedWord(o.table.gen, o.into.size)|wasEmpty)
	case !c.decide(0):
		return o.end()
	case o.incomplete: // what moves comes first, so that there is room for it
		return o.suspend(need{what: needMove})
	case !empty:
		return o.suspend(need{what: needRoom, table: o.table, removed: o.removed})
	}
	return o.exchange(q, word, o.word)
}

// exchange swaps the word of slot next, and writes the copy at the same time. If the swap
// loses, the copy's seal is not that of the word that won.
func (o *op) exchange(q rma.Queue, old, word uint64) rma.Handle {
	o.phase, o.sent = phaseSwap, o.taken && word == o.word
	h := o.swap(q, o.table, o.slot(), old, word)
	if o.sent && o.putCopy(q, o.table, o.slot(), word, o.call.Key, o.call.Value) {
		o.copySent = true
	}
	return h
}

// swapped takes the result of the compare-and-swap.
func (o *op) swapped(q rma.Queue) rma.Handle {
	c := o.call
	if seen := o.result; seen != o.old {
		// mark: a compare-and-swap loses
		o.lost++
		q.Stats().Retries++
		o.sent, o.changed = false, o.old&occupied != 0
		o.chunk[o.next*o.m.stride] = seen
		o.phase = phaseChunk
		return rma.NoHandle
	}
	if o.new != 0 && o.new&occupied == 0 {
		// mark: a write closes the old table behind a slot that has moved
		return o.follow(q)
	}
	c.Done, c.Version = true, 0
	if o.sent {
		c.Version = Version(identity(o.word))
		o.giveBack(q, o.old)
	}
	return o.end()
}
